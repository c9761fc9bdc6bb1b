// SPDX-License-Identifier: BSD-3-Clause
//
// Which message of its sender a signature belongs to: the fields uid and sequence of signature::Record, which the UCP side writes and
// reads without knowing the rest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "util/words.h"

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

// Precondition: read_stamp() would succeed, but for the uid.
inline void write_stamp(uint8_t* signature, const Stamp& stamp) noexcept {
  std::memcpy(signature + kUidOffset, &stamp.uid, sizeof(stamp.uid));
  std::memcpy(signature + kSequenceOffset, &stamp.sequence, sizeof(stamp.sequence));
}

// Copies a signature and writes the stamp into the copy. Precondition as above.
inline void copy_stamped(uint8_t* out, const uint8_t* signature, size_t length, const Stamp& stamp) noexcept {
  static_assert(kUidOffset % util::kWord == 0 && kStampEnd == kUidOffset + 2 * util::kWord);
  util::copy_words<kUidOffset>(out, signature);
  util::write_word(out, kUidOffset, stamp.uid);
  const uint64_t before = util::read_word(signature, kUidOffset + util::kWord) & UINT32_MAX;
  util::write_word(out, kUidOffset + util::kWord, uint64_t{stamp.sequence} << 32 | before);
  if (length < kStampEnd + util::kWord) [[unlikely]] {
    std::memcpy(out + kStampEnd, signature + kStampEnd, length - kStampEnd);
    return;
  }
  util::write_word(out, kStampEnd, util::read_word(signature, kStampEnd));
  if (length != kStampEnd + util::kWord) util::copy_words(out + kStampEnd, signature + kStampEnd, length - kStampEnd);
}

}  // namespace verity::mpi
