// SPDX-License-Identifier: BSD-3-Clause
#include "merkle/hash.h"

#include <algorithm>

namespace verity::merkle {

namespace detail {
// Constant-initialized, so that a constructor of another unit that hashes earlier is safe too.
constinit const Kernel* active_kernel = &kKernelBaseline;
}  // namespace detail

[[gnu::hot]] Digest hash_short(const void* data, size_t length) noexcept {
  return XXH3_64bits(data, length);
}

namespace {

// A scattered range up to this size is gathered on the stack: cheaper than hashing across seams.
constexpr size_t kGather = 1024;

struct Supported {
  const Kernel* list[3];
  size_t count;
};

Supported detect() noexcept {
  Supported found{{&kKernelBaseline}, 1};
#if defined(__x86_64__)
  __builtin_cpu_init();  // this may run before the compiler runtime's own constructor
  if (__builtin_cpu_supports("avx2")) { found.list[found.count++] = &kKernelAvx2; }
  if (__builtin_cpu_supports("avx512f")) { found.list[found.count++] = &kKernelAvx512; }
#endif
  return found;
}

const Kernel& choose() noexcept {
  const Kernel* best = &kKernelBaseline;
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2")) { best = &kKernelAvx2; }
  // The first AVX-512 CPUs lower their clock for 512-bit multiplies, which costs the application
  // more than the hash gains. VBMI2 came with the CPUs that do not (Ice Lake, Zen 4).
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vbmi2")) {
    best = &kKernelAvx512;
  }
#endif
  return *best;
}

[[gnu::constructor]] void install() noexcept { detail::active_kernel = &choose(); }

// Bytes from `offset` of `first` on, counted until there are `wanted` or more.
size_t available(const util::Piece* first, const util::Piece* end, size_t offset,
                 size_t wanted) noexcept {
  size_t found = first->length - offset;
  while (found < wanted && ++first != end) { found += first->length; }
  return found;
}

}  // namespace

const char* dispatch_name() noexcept { return detail::active_kernel->name; }

std::span<const Kernel* const> supported_kernels() noexcept {
  static const Supported supported = detect();
  return {supported.list, supported.count};
}

Digest hash_range(const Kernel& kernel, util::Pieces pieces, size_t offset,
                  size_t length) noexcept {
  const util::Piece* first = pieces.data();
  const util::Piece* const end = first + pieces.size();
  for (; first != end && offset >= first->length; ++first) { offset -= first->length; }
  if (first == end) { return hash(kernel, nullptr, 0); }
  if (length <= first->length - offset) {
    return hash(kernel, static_cast<const std::byte*>(first->data) + offset, length);
  }
  length = std::min(length, available(first, end, offset, length));
  if (length > kGather) { return kernel.hash_scattered(first, offset, length); }
  std::byte gathered[kGather];
  util::copy_out({first, end}, offset, gathered, length);
  return hash(kernel, gathered, length);
}

}  // namespace verity::merkle
