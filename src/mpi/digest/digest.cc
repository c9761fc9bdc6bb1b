// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/digest/digest.h"

#include <algorithm>
#include <cstring>

#include "signature/record.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace verity::mpi {

namespace {

using signature::Record;

// The packed bytes are hashed in parts of this length, and their hashes one into the other: parts
// in several pieces are gathered first.
constexpr size_t kPart = 8192;

uint64_t join(uint64_t a, uint64_t b) noexcept {
  const uint64_t both[] = {a, b};
  return XXH3_64bits(both, sizeof(both));
}

// `next(done, length)`: where the next part of that length lies.
template <typename Next>
uint64_t digest_in_parts(uint64_t bytes, Next next) noexcept {
  uint64_t digest = 0;
  for (uint64_t done = 0; done < bytes; done += kPart) {
    const auto part = static_cast<size_t>(std::min<uint64_t>(kPart, bytes - done));
    digest = join(digest, XXH3_64bits(next(done, part), part));
  }
  return digest;
}

// Runs of memory, in order, one copy after the other.
class Walk {
 public:
  Walk(const Layout& layout, const void* address) noexcept
      : layout_(layout), base_(reinterpret_cast<uintptr_t>(address)) {}

  // The next `length` bytes: where they lie, or gathered in `space`.
  const void* take(size_t length, uint8_t* space) noexcept {
    if (layout_.dense()) {  // one run, however many copies
      const uintptr_t at = base_ + static_cast<uintptr_t>(layout_.runs[0].offset) + done_;
      done_ += length;
      return reinterpret_cast<const void*>(at);
    }
    if (length <= left()) return next(length);
    for (size_t have = 0, piece; have < length; have += piece) {
      piece = std::min(length - have, left());
      std::memcpy(space + have, next(piece), piece);
    }
    return space;
  }

 private:
  [[nodiscard]] size_t left() const noexcept { return layout_.runs[run_].length - done_; }
  const void* next(size_t length) noexcept {
    const uintptr_t at = base_ + static_cast<uintptr_t>(layout_.runs[run_].offset) + done_;
    done_ += length;
    if (left() == 0) {
      done_ = 0;
      if (++run_ == layout_.runs.size()) {
        run_ = 0;
        base_ += static_cast<uintptr_t>(layout_.extent);
      }
    }
    return reinterpret_cast<const void*>(at);
  }

  const Layout& layout_;
  uintptr_t base_;  // of the copy
  size_t run_ = 0;
  size_t done_ = 0;  // of the run
};

}  // namespace

uint64_t digest_of(const Layout& layout, const void* address, uint64_t bytes) noexcept {
  alignas(64) uint8_t space[kPart];
  Walk walk(layout, address);
  return digest_in_parts(bytes, [&](uint64_t, size_t part) { return walk.take(part, space); });
}

uint64_t digest_of_packed(const void* packed, uint64_t bytes) noexcept {
  return digest_in_parts(
      bytes, [&](uint64_t done, size_t) { return static_cast<const uint8_t*>(packed) + done; });
}

size_t append_digest(uint8_t* bytes, size_t length, uint64_t digest,
                     uint64_t message_bytes) noexcept {
  uint8_t& description = bytes[offsetof(Record, description_length)];
  if (length < sizeof(Record) || description + kDigestSize > signature::kMaxDescription)
    return length;
  const uint64_t tail[] = {digest, join(digest, message_bytes)};
  static_assert(sizeof(tail) == kDigestSize);
  std::memcpy(bytes + length, tail, sizeof(tail));
  description = static_cast<uint8_t>(description + kDigestSize);
  return length + kDigestSize;
}

std::optional<uint64_t> find_digest(const uint8_t* bytes, size_t length,
                                    uint64_t message_bytes) noexcept {
  if (length < sizeof(Record) + kDigestSize) return std::nullopt;
  uint64_t tail[2];
  std::memcpy(tail, bytes + length - kDigestSize, sizeof(tail));
  return tail[1] == join(tail[0], message_bytes) ? std::optional(tail[0]) : std::nullopt;
}

}  // namespace verity::mpi
