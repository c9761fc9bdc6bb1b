// SPDX-License-Identifier: BSD-3-Clause
//
// Collective operations: what one rank calls, carried by the messages that its call sends, compared
// where they arrive with what that rank calls as its collective of the same number on the
// communicator. So a mismatch is reported even when the job then hangs.
//
//   | signature::Record, description | CollectiveTail |
#ifndef VERITY_MPI_COLLECTIVES_COLLECTIVE_H
#define VERITY_MPI_COLLECTIVES_COLLECTIVE_H

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "mpi/check/send_family.h"

namespace verity::mpi {

// X(enumerator, name of the blocking call without MPI_)
#define VERITY_COLLECTIVES(X)                  \
  X(kBarrier, Barrier)                         \
  X(kBcast, Bcast)                             \
  X(kReduce, Reduce)                           \
  X(kAllreduce, Allreduce)                     \
  X(kGather, Gather)                           \
  X(kGatherv, Gatherv)                         \
  X(kScatter, Scatter)                         \
  X(kScatterv, Scatterv)                       \
  X(kAllgather, Allgather)                     \
  X(kAllgatherv, Allgatherv)                   \
  X(kAlltoall, Alltoall)                       \
  X(kAlltoallv, Alltoallv)                     \
  X(kAlltoallw, Alltoallw)                     \
  X(kReduceScatter, Reduce_scatter)            \
  X(kReduceScatterBlock, Reduce_scatter_block) \
  X(kScan, Scan)                               \
  X(kExscan, Exscan)                           \
  X(kNeighborAllgather, Neighbor_allgather)    \
  X(kNeighborAllgatherv, Neighbor_allgatherv)  \
  X(kNeighborAlltoall, Neighbor_alltoall)      \
  X(kNeighborAlltoallv, Neighbor_alltoallv)    \
  X(kNeighborAlltoallw, Neighbor_alltoallw)

// On the wire: the numbers stay.
enum class Collective : uint8_t {
  kNone = 0,
#define VERITY_ENUMERATOR(enumerator, name) enumerator,
  VERITY_COLLECTIVES(VERITY_ENUMERATOR)
#undef VERITY_ENUMERATOR
      kLast
};

// MPI_Bcast, MPI_Ibcast, MPI_Bcast_init.
enum class Form : uint8_t { kBlocking, kNonblocking, kPersistent };

// "MPI_Bcast", or "MPI_Ibcast", or "MPI_Bcast_init". Static storage.
[[nodiscard]] const char* collective_name(Collective operation, Form form) noexcept;

// The family of the record of a collective's message.
inline constexpr uint8_t kCollectiveFamily = 15;
static_assert(kOtherSendInit < kCollectiveFamily, "the record's field has four bits");

enum CollectiveFlags : uint8_t {
  kNonblocking = 1u << 0,
  kByElement = 1u << 1,  // the record says what blocks are made of, not how long they are
  kPersistent = 1u << 2,
  kSameBothWays = 1u << 3,  // the sender expects what the record says that it gives
  kKnownCollectiveFlags = kNonblocking | kByElement | kPersistent | kSameBothWays,
};

// Little endian:
//    0       1       2       3       4       5       6       7
//   +-------+-------+-------+-------+-------+-------+-------+-------+
// 0 |            number             |             root              |
//   +-------+-------+-------+-------+-------+-------+-------+-------+
// 8 |             rank              |  op   |  red  | flags |report |
//   +-------+-------+-------+-------+-------+-------+-------+-------+
// 16|                         communicator                          |
//   +-------+-------+-------+-------+-------+-------+-------+-------+
// number  of the call, among the collectives of its communicator, from 1 on
// root    -1: the operation has none
// rank    of the sender in the communicator
// red     reduction (reduction.h); 0: the operation has none
// report  known_rank() of a rank whose call the sender has found to differ from its own, and
// reported; 0: none
// communicator  TagFilter::value: not the tag of the message that carries this,
// which may lie beside another communicator's
struct CollectiveTail {
  uint32_t number;
  int32_t root;
  uint32_t rank;
  Collective operation;
  uint8_t reduction;
  uint8_t flags;
  uint8_t reported;
  uint64_t communicator;
};
static_assert(sizeof(CollectiveTail) == 24);

// Of a rank in the communicator, in a byte: several ranks of large ones have the same.
[[nodiscard]] constexpr uint8_t known_rank(uint32_t rank) noexcept {
  return static_cast<uint8_t>(rank % 255 + 1);
}

[[nodiscard]] inline Form form_of(const CollectiveTail& tail) noexcept {
  if ((tail.flags & kPersistent) != 0) return Form::kPersistent;
  return (tail.flags & kNonblocking) != 0 ? Form::kNonblocking : Form::kBlocking;
}

// False: these bytes end with no such thing. `record_length`: of what is in front of it.
[[nodiscard]] inline bool read_tail(const uint8_t* bytes, size_t length, CollectiveTail* out,
                                    size_t* record_length) noexcept {
  if (length < sizeof(*out)) return false;
  *record_length = length - sizeof(*out);
  std::memcpy(out, bytes + *record_length, sizeof(*out));
  return out->operation > Collective::kNone && out->operation < Collective::kLast &&
         out->number != 0 && (out->flags & ~kKnownCollectiveFlags) == 0;
}

}  // namespace verity::mpi

#endif
