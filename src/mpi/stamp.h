// SPDX-License-Identifier: BSD-3-Clause
//
// Which message of its sender a signature belongs to: the fields uid and sequence of signature::Record, which the UCP side writes and
// reads without knowing the rest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace verity::mpi {

inline constexpr size_t kUidOffset = 24;  // in the record
inline constexpr size_t kSequenceOffset = 36;
inline constexpr size_t kStampEnd = kSequenceOffset + sizeof(uint32_t);

struct Stamp {
  uint64_t uid;       // of the sending process (high half) and of its numbering of this tag to this endpoint; 0: has no number
  uint32_t sequence;  // from 0 on
};

// False: it holds none.
[[nodiscard]] inline bool read_stamp(const uint8_t* signature, size_t length, Stamp* out) noexcept {
  if (length < kStampEnd) return false;
  std::memcpy(&out->uid, signature + kUidOffset, sizeof(out->uid));
  std::memcpy(&out->sequence, signature + kSequenceOffset, sizeof(out->sequence));
  return out->uid != 0;
}

// Precondition: read_stamp() would succeed.
inline void write_stamp(uint8_t* signature, const Stamp& stamp) noexcept {
  std::memcpy(signature + kUidOffset, &stamp.uid, sizeof(stamp.uid));
  std::memcpy(signature + kSequenceOffset, &stamp.sequence, sizeof(stamp.sequence));
}

}  // namespace verity::mpi
