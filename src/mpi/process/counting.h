// SPDX-License-Identifier: BSD-3-Clause
// Adding to counters that several threads may share: without a locked instruction in processes
// whose MPI calls come one at a time.
#ifndef VERITY_MPI_PROCESS_COUNTING_H
#define VERITY_MPI_PROCESS_COUNTING_H

#include <atomic>

#include "mpi/process/this_process.h"

namespace verity::mpi {

// Returns what it was before.
template <typename T>
inline T add(std::atomic<T>& counter, T difference) noexcept {
  if (this_process.several_threads) [[unlikely]]
    return counter.fetch_add(difference, std::memory_order_acq_rel);
  const T before = counter.load(std::memory_order_relaxed);
  counter.store(before + difference, std::memory_order_relaxed);
  return before;
}

}  // namespace verity::mpi

#endif
