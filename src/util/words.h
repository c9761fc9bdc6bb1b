// SPDX-License-Identifier: BSD-3-Clause
//
// Small structs, copied and compared word by word on the way of each message: what has just been
// written in words cannot be read in wider pieces before it has reached the cache, which holds the
// reader up. The compiler must not make wider ones of these either (-fno-tree-slp-vectorize).
#ifndef VERITY_UTIL_WORDS_H
#define VERITY_UTIL_WORDS_H

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace verity::util {

inline constexpr size_t kWord = sizeof(uint64_t);

[[nodiscard]] inline uint64_t read_word(const void* from, size_t offset) noexcept {
  uint64_t word;
  std::memcpy(&word, static_cast<const char*>(from) + offset, sizeof(word));
  return word;
}

inline void write_word(void* to, size_t offset, uint64_t word) noexcept {
  std::memcpy(static_cast<char*>(to) + offset, &word, sizeof(word));
}

// Copies `length` bytes, a word at least; they must not overlap.
inline void copy_words(void* to, const void* from, size_t length) noexcept {
  for (size_t at = 0; at + kWord < length; at += kWord) write_word(to, at, read_word(from, at));
  write_word(to, length - kWord, read_word(from, length - kWord));
}

// A number of words that is known.
template <size_t kLength>
inline void copy_words(void* to, const void* from) noexcept {
  static_assert(kLength % kWord == 0);
  if constexpr (kLength != 0) {
    write_word(to, 0, read_word(from, 0));
    copy_words<kLength - kWord>(static_cast<char*>(to) + kWord,
                                static_cast<const char*>(from) + kWord);
  }
}

}  // namespace verity::util

#endif
