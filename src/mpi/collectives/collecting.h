// SPDX-License-Identifier: BSD-3-Clause
// A collective operation of this process: attached while its call lasts, compared with the others'.
#ifndef VERITY_MPI_COLLECTIVES_COLLECTING_H
#define VERITY_MPI_COLLECTIVES_COLLECTING_H

#include <optional>
#include <vector>

#include "mpi/collectives/collective.h"
#include "mpi/handles/buffer.h"
#include "mpi/handles/comms.h"
#include "mpi/handles/types.h"

namespace verity::mpi {

// What a rank says of its call. For each operation the blocks of data that go between two ranks
// have the same signature on both sides; what a rank says is the signature of the block that it
// gives, what it expects that of the block that it gets.
struct CollectiveCall {
  Collective operation = Collective::kNone;
  Form form = Form::kBlocking;
  int root = -1;
  uint8_t reduction = 0;
  std::optional<Buffer> gives;  // nullopt: not known for all, or there is none
  std::optional<Buffer> expects;
  // Blocks of unlike lengths: what is expected of each rank, in elements of `expects`. Empty: all
  // the same.
  std::vector<MPI_Count> lengths;
  // Blocks of types of their own: what is expected of each rank; no type: nothing.
  std::vector<MPI_Datatype> types;
  // `gives` and `expects` say what blocks are made of, not how long they are.
  bool by_element = false;
};

class Collecting {
 public:
  // `rc`: what the call has returned when this is destroyed. `request`: of a nonblocking operation,
  // or of a persistent one, of which what it says is kept for its starts.
  Collecting(CollectiveCall&& call, MPI_Comm comm, const int& rc,
             const MPI_Request* request = nullptr);
  ~Collecting();
  Collecting(const Collecting&) = delete;
  Collecting& operator=(const Collecting&) = delete;

 private:
  void attach(CollectiveCall&& call, MPI_Comm comm);
  void take_back(const CollectiveAttachment& attachment) noexcept;
  void keep_request(const CollectiveAttachment& attachment) const;

  const int& rc_;
  const MPI_Request* request_;
  Form form_;
  uint8_t bytes_[kMaxSignature];
};

// A call that attached this was left without returning from it: whether it counts is not known.
void abandon_collective(const CollectiveAttachment& attachment) noexcept;

// What a rank says of its call arrived, a record with kCollectiveFamily and its tail. Inside of
// UCP's progress.
void collective_arrived(const uint8_t* bytes, size_t length) noexcept;
// For on_collective(): the call that this thread has attached makes its first message or progress.
void collective_begins() noexcept;

// A communicator that was just made, and that other ranks may know by other tags, so that a number
// of theirs is another communicator's here; or one that goes on though it was forgotten.
void never_compare(MPI_Comm comm) noexcept;
// The same of a communicator that is not known which.
void never_compare_any() noexcept;
// The communicator ends, and may come again as another one.
void forget_collectives(MPI_Comm comm);
// MPI has ended, and with it all communicators; it may begin again, with the same tags.
void forget_all_collectives() noexcept;

}  // namespace verity::mpi

#endif
