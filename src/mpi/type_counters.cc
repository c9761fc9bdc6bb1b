// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/type_counters.h"

#include <new>

namespace verity::mpi {

namespace {
constinit TypeCounters own;
constinit std::atomic<TypeCounters*> current{&own};
}  // namespace

TypeCounters& type_counters() noexcept { return *current.load(std::memory_order_relaxed); }

void count_into(uint64_t* counts) noexcept {
  auto* shared = new (counts) TypeCounters;
  shared->checked = own.checked.load();
  shared->mismatched = own.mismatched.load();
  shared->unchecked = own.unchecked.load();
  current.store(shared, std::memory_order_release);
}

}  // namespace verity::mpi
