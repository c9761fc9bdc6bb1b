// SPDX-License-Identifier: BSD-3-Clause
//
// Which message of its sender a signature belongs to: the fields uid and sequence of
// signature::Record, which the UCP side writes and reads without knowing the rest.
#ifndef VERITY_MPI_MATCHING_STAMP_H
#define VERITY_MPI_MATCHING_STAMP_H

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "util/words.h"

namespace verity::mpi {

inline constexpr size_t kUidOffset = 24;  // in the record
inline constexpr size_t kSequenceOffset = 36;
inline constexpr size_t kStampEnd = kSequenceOffset + sizeof(uint32_t);

struct Stamp {
  uint64_t uid;       // of the sending process (high half) and of its numbering of this tag to this
                      // endpoint; 0: has no number
  uint32_t sequence;  // from 0 on
};

// Of a signature of kStampEnd bytes or more.
[[nodiscard]] inline Stamp stamp_in(const uint8_t* signature) noexcept {
  Stamp stamp;
  std::memcpy(&stamp.uid, signature + kUidOffset, sizeof(stamp.uid));
  std::memcpy(&stamp.sequence, signature + kSequenceOffset, sizeof(stamp.sequence));
  return stamp;
}
// False: it holds none.
[[nodiscard]] inline bool read_stamp(const uint8_t* signature, size_t length, Stamp* out) noexcept {
  if (length < kStampEnd) return false;
  *out = stamp_in(signature);
  return out->uid != 0;
}

// Precondition: read_stamp() would succeed, but for the uid.
inline void write_stamp(uint8_t* signature, const Stamp& stamp) noexcept {
  std::memcpy(signature + kUidOffset, &stamp.uid, sizeof(stamp.uid));
  std::memcpy(signature + kSequenceOffset, &stamp.sequence, sizeof(stamp.sequence));
}

// What a signature begins with; the rest may lie elsewhere. It is handled in words: behind its end
// there is room up to the next one's.
inline constexpr size_t kHead = kStampEnd + util::kWord;
[[nodiscard]] constexpr size_t in_words(size_t length) noexcept {
  return (length + util::kWord - 1) & ~(util::kWord - 1);
}

// Copies a signature of `length` bytes, kHead at least, and writes the stamp into the copy, which
// ends with zeros; `tail`: what follows the head.
inline void copy_stamped(uint8_t* out, const void* head, const uint8_t* tail, size_t length,
                         const Stamp& stamp) noexcept {
  static_assert(kUidOffset % util::kWord == 0 && kStampEnd == kUidOffset + 2 * util::kWord);
  util::copy_words<kUidOffset>(out, head);
  util::write_word(out, kUidOffset, stamp.uid);
  const uint64_t before = util::read_word(head, kUidOffset + util::kWord) & UINT32_MAX;
  util::write_word(out, kUidOffset + util::kWord, uint64_t{stamp.sequence} << 32 | before);
  util::write_word(out, kStampEnd, util::read_word(head, kStampEnd));
  size_t at = 0;
  for (; at + util::kWord <= length - kHead; at += util::kWord)
    util::write_word(out + kHead, at, util::read_word(tail, at));
  const size_t bits = (length - kHead - at) * 8;
  if (bits != 0)
    util::write_word(out + kHead, at, util::read_word(tail, at) & ((uint64_t{1} << bits) - 1));
}

}  // namespace verity::mpi

#endif
