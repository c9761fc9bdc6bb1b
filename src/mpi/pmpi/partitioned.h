// SPDX-License-Identifier: BSD-3-Clause
// Partitioned communication: what MPI_Psend_init says of all partitions, compared with what the
// MPI_Precv_init that it meets says.
//
//   | signature::Record, description | PartitionedTail |
#ifndef VERITY_MPI_PMPI_PARTITIONED_H
#define VERITY_MPI_PMPI_PARTITIONED_H

#include <cstddef>
#include <cstdint>

#include "mpi/process/mpi_api.h"

// MPICH's are known to send a message in the call itself.
#if MPI_VERSION >= 4 && !defined(OPEN_MPI)
#define VERITY_PARTITIONED
#endif

namespace verity::mpi {

// Little endian:
//    0       1       2       3       4       5       6       7
//   +-------+-------+-------+-------+-------+-------+-------+-------+
// 0 |            number             |              tag              |
//   +-------+-------+-------+-------+-------+-------+-------+-------+
// 8 |             rank              |               0               |
//   +-------+-------+-------+-------+-------+-------+-------+-------+
// 16|                         communicator                          |
//   +-------+-------+-------+-------+-------+-------+-------+-------+
// number  of the call, among those of this sender with this receiver, tag and communicator, from 1
// on rank    of the sender in the communicator communicator  TagFilter::value
struct PartitionedTail {
  uint32_t number;
  int32_t tag;
  uint32_t rank;
  uint32_t reserved;
  uint64_t communicator;
};
static_assert(sizeof(PartitionedTail) == 24);

#ifdef VERITY_PARTITIONED
// Such a signature arrived, before or after this process's MPI_Precv_init. Inside of UCP's
// progress.
void partition_arrived(const uint8_t* bytes, size_t length) noexcept;

// This process's calls are not counted any more: an MPI_Psend_init was left without returning from
// it, or a communicator that was to be freed is not.
void abandon_partitioned() noexcept;

// The communicator ends, and may come again as another one.
void forget_partitioned(MPI_Comm comm);
// MPI has ended, and with it all communicators; it may begin again, with the same tags.
void forget_all_partitioned() noexcept;
#else
inline void partition_arrived(const uint8_t*, size_t) noexcept {}
inline void abandon_partitioned() noexcept {}
inline void forget_partitioned(MPI_Comm) noexcept {}
inline void forget_all_partitioned() noexcept {}
#endif

}  // namespace verity::mpi

#endif
