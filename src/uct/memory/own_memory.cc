// SPDX-License-Identifier: BSD-3-Clause
// Short ranges are copied by the kernel, which reports what cannot be read. For long ones that
// would cost twice the hashing: the kernel maps them for reading, which fails where reading would.
#include "uct/memory/own_memory.h"

#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include "util/memory_calls.h"

namespace verity::uct {

namespace {

constexpr size_t kCopyUpTo = 16 * 1024;

#ifdef MADV_POPULATE_READ
constexpr int kPopulateRead = MADV_POPULATE_READ;
#else
constexpr int kPopulateRead = 22;  // the same on every architecture
#endif

// Found missing on the first use: before Linux 5.14, or forbidden by a container.
constinit std::atomic<bool> has_populate = true;
constinit std::atomic<bool> has_copy = true;

enum class Answer { kYes, kNo, kCannotTell };

Answer populate(uint64_t address, size_t length) noexcept {
  if (!has_populate.load(std::memory_order_relaxed)) return Answer::kCannotTell;
  static const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const uint64_t begin = address & ~(page - 1);
  const uint64_t end = (address + length + page - 1) & ~(page - 1);
  if (util::advise_memory(reinterpret_cast<void*>(begin), end - begin, kPopulateRead) == 0)
    return Answer::kYes;
  if (errno != EINVAL && errno != ENOSYS && errno != EPERM) return Answer::kNo;
  // Device memory that is mapped into the process is refused too: only that of this call may be
  // meant.
  if (errno != EINVAL) has_populate.store(false, std::memory_order_relaxed);
  return Answer::kCannotTell;
}

Answer copy(uint64_t address, size_t length, uint8_t* out) noexcept {
  if (!has_copy.load(std::memory_order_relaxed)) return Answer::kCannotTell;
  const iovec to{out, length};
  const iovec from{reinterpret_cast<void*>(address), length};
  const ssize_t n = process_vm_readv(getpid(), &to, 1, &from, 1, 0);
  if (n >= 0 || errno == EFAULT)
    return n == static_cast<ssize_t>(length) ? Answer::kYes : Answer::kNo;
  has_copy.store(false, std::memory_order_relaxed);
  return Answer::kCannotTell;
}

}  // namespace

const uint8_t* readable_memory(uint64_t address, size_t length, uint8_t* scratch) noexcept {
  const auto* there = reinterpret_cast<const uint8_t*>(address);
  if (length == 0) return scratch;
  Answer answer = length > kCopyUpTo ? populate(address, length) : Answer::kCannotTell;
  if (answer == Answer::kYes) return there;
  if (answer == Answer::kCannotTell) {
    answer = copy(address, length, scratch);
    if (answer == Answer::kYes) return scratch;
  }
  return answer == Answer::kNo ? nullptr : there;
}

}  // namespace verity::uct
