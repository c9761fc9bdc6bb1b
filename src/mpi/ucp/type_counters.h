// SPDX-License-Identifier: BSD-3-Clause
// How many messages had their datatypes compared: in the health file, once the plugin has set
// where.
#ifndef VERITY_MPI_UCP_TYPE_COUNTERS_H
#define VERITY_MPI_UCP_TYPE_COUNTERS_H

#include <atomic>
#include <cstdint>

namespace verity::mpi {

struct TypeCounters {
  std::atomic<uint64_t> checked{0}, mismatched{0}, unchecked{0};
};
static_assert(sizeof(TypeCounters) == 3 * sizeof(uint64_t) &&
              std::atomic<uint64_t>::is_always_lock_free);

extern constinit std::atomic<TypeCounters*> current_type_counters;
[[nodiscard]] inline TypeCounters& type_counters() noexcept {
  return *current_type_counters.load(std::memory_order_relaxed);
}

// verity_interposer::count_into: with the first interface, before any message.
void count_into(uint64_t* counts) noexcept;

}  // namespace verity::mpi

#endif
