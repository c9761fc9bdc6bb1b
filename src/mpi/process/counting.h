// SPDX-License-Identifier: BSD-3-Clause
// Adding to counters that several threads may share: without a locked instruction in processes whose MPI calls come one at a time.
#pragma once

#include <atomic>

namespace verity::mpi {

// MPI_THREAD_MULTIPLE may be in use. Set before MPI is initialised.
extern constinit bool several_threads __attribute__((visibility("hidden")));

// Returns what it was before.
template <typename T>
inline T add(std::atomic<T>& counter, T difference) noexcept {
  if (several_threads) [[unlikely]] return counter.fetch_add(difference, std::memory_order_acq_rel);
  const T before = counter.load(std::memory_order_relaxed);
  counter.store(before + difference, std::memory_order_relaxed);
  return before;
}

}  // namespace verity::mpi
