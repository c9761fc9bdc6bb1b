// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/digest/digest.h"

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
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

// The data of any number of copies, in order.
class Walk {
 public:
  Walk(const Layout& layout, const void* address) noexcept
      : cursor_(*layout.runs, address, layout.extent),
        dense_(layout.dense()),
        next_(cursor_.here()) {}

  // The next `length` bytes: where they lie, or gathered in `space`.
  const void* take(size_t length, uint8_t* space) noexcept {
    if (dense_) {  // one run, however many copies
      next_ += length;
      return next_ - length;
    }
    if (length > cursor_.left()) {
      cursor_.gather(space, length);
      return space;
    }
    const uint8_t* here = cursor_.here();
    cursor_.advance(length);
    return here;
  }

 private:
  normalize::RunsCursor cursor_;
  const bool dense_;
  const uint8_t* next_;  // if dense
};

// Where the kernel does not say, it is.
bool is_readable(uintptr_t place) noexcept {
  const int before = errno;
  uint8_t found = 0;
  const iovec to{&found, 1};
  const iovec from{reinterpret_cast<void*>(place), 1};
  const bool faults = process_vm_readv(getpid(), &to, 1, &from, 1, 0) < 0 && errno == EFAULT;
  errno = before;
  return !faults;
}

}  // namespace

bool may_be_memory(const Layout& layout, const void* address, uint64_t copies) noexcept {
  constexpr intptr_t kFirstPage = 4096;  // nothing is there, nor at negative addresses
  if (layout.runs == nullptr || copies == 0) return true;
  const auto first = reinterpret_cast<uintptr_t>(address) + static_cast<uintptr_t>(layout.low);
  const auto last = first + static_cast<uintptr_t>(layout.extent) * (copies - 1);
  return std::min(static_cast<intptr_t>(first), static_cast<intptr_t>(last)) >= kFirstPage;
}

bool can_be_read(const Layout& layout, const void* address, uint64_t copies) noexcept {
  if (layout.runs == nullptr || copies == 0) return true;
  const auto first = reinterpret_cast<uintptr_t>(address);
  const auto last = first + static_cast<uintptr_t>(layout.extent) * (copies - 1);
  return is_readable(first + static_cast<uintptr_t>(layout.low)) &&
         is_readable(last + static_cast<uintptr_t>(layout.high) - 1);
}

uint64_t digest_of(const Layout& layout, const void* address, uint64_t bytes) noexcept {
  alignas(64) uint8_t space[kPart];
  if (bytes == 0) return 0;
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
