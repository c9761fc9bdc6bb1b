// SPDX-License-Identifier: BSD-3-Clause
// A collective operation of this process: armed while its call lasts, compared with the others'.
#pragma once

#include <optional>
#include <vector>

#include "mpi/collective.h"
#include "mpi/comms.h"
#include "mpi/send.h"

namespace verity::mpi {

// What a rank says of its call. For each operation the blocks of data that go between two ranks have the same signature on both sides;
// what a rank says is the signature of the block that it gives, what it expects that of the block that it gets.
struct CollectiveCall {
  Collective operation = Collective::kNone;
  bool nonblocking = false;
  int root = -1;
  uint8_t reduction = 0;
  std::optional<Buffer> gives;    // nullopt: not known for all, or there is none
  std::optional<Buffer> expects;
  // Blocks of unlike lengths: what is expected of each rank, in elements of `expects`. Empty: all the same.
  std::vector<MPI_Count> lengths;
  // `gives` and `expects` say what blocks are made of, not how long they are.
  bool by_element = false;
};

class Collecting {
 public:
  Collecting(CollectiveCall&& call, MPI_Comm comm) noexcept;
  ~Collecting() { armed.collective = {}; }
  Collecting(const Collecting&) = delete;
  Collecting& operator=(const Collecting&) = delete;

 private:
  uint8_t bytes_[kMaxSignature];
};

// Before MPI is initialised: others may be ahead of this process.
void listen_to_collectives() noexcept;

// The communicator ends, and may come again as another one.
void forget_collectives(MPI_Comm comm) noexcept;

}  // namespace verity::mpi
