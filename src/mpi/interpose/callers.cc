// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/interpose/callers.h"

#include <atomic>
#include <cstddef>
#include <mutex>

#include "mpi/interpose/behind.h"
#include "mpi/interpose/modules.h"

namespace verity::mpi {

namespace {

struct Known {
  uintptr_t begin, end;
  std::atomic<Origin> origin;
};

// Never removed: a library that comes in place of an unloaded one is taken for that.
constexpr size_t kMostKnown = 64;
constinit Known known[kMostKnown] = {};
constinit std::atomic<size_t> known_count{0};
constinit std::mutex mutex;

Known* find(uintptr_t address) noexcept {
  const size_t count = known_count.load(std::memory_order_acquire);
  for (size_t i = 0; i < count; ++i) {
    if (address - known[i].begin < known[i].end - known[i].begin) return &known[i];
  }
  return nullptr;
}

bool holds(const Module& module, const void* address) noexcept {
  const auto at = reinterpret_cast<uintptr_t>(address);
  return module.begin <= at && at < module.end;
}

Origin classify(const Module& module) noexcept {
  if (module.end == 0 || module.binding || holds(module, reinterpret_cast<void*>(&origin_of)))
    return Origin::kUnknown;
  if (module.ucp) return Origin::kUcp;
  // Some vendors' MPI has another name.
  const bool is_mpi = module.mpi_library || holds(module, find_behind("PMPI_Init"));
  return is_mpi ? Origin::kMpi : Origin::kOther;
}

Origin look_up(uintptr_t address) noexcept {
  const Module module = module_at(address);
  const Origin origin = classify(module);
  if (module.end == 0) return origin;
  const std::lock_guard lock(mutex);
  if (const Known* already = find(address)) return already->origin.load(std::memory_order_relaxed);
  const size_t count = known_count.load(std::memory_order_relaxed);
  if (count == kMostKnown) return origin;
  known[count].begin = module.begin;
  known[count].end = module.end;
  known[count].origin.store(origin, std::memory_order_relaxed);
  known_count.store(count + 1, std::memory_order_release);
  return origin;
}

}  // namespace

Origin origin_of(const void* return_address) noexcept {
  const auto address = reinterpret_cast<uintptr_t>(return_address);
  const Known* found = find(address);
  return found != nullptr ? found->origin.load(std::memory_order_relaxed) : look_up(address);
}

void regard_as_mpi(const void* return_address) noexcept {
  const auto address = reinterpret_cast<uintptr_t>(return_address);
  static_cast<void>(origin_of(return_address));
  if (Known* found = find(address)) found->origin.store(Origin::kMpi, std::memory_order_relaxed);
}

}  // namespace verity::mpi
