// SPDX-License-Identifier: BSD-3-Clause
// The collective operations that this process called on a communicator, and the comparison with
// what others say of theirs.
#ifndef VERITY_MPI_COLLECTIVES_LEDGER_H
#define VERITY_MPI_COLLECTIVES_LEDGER_H

#include <deque>
#include <set>
#include <string>
#include <vector>

#include "mpi/collectives/collecting.h"

namespace verity::mpi {

// One's own call, until it is old.
struct Own {
  uint32_t number;
  CollectiveCall call;
  TypeRef type;                // of what is expected
  std::vector<TypeRef> types;  // of each rank, where they differ
  uint64_t site;
};

// Which collective operations were called on a communicator.
struct Ledger {
  TagFilter filter;
  CommRef comm;
  uint32_t calls = 0;
  int rank = -1, ranks = 0;
  bool diverged = false;       // the ranks' calls differ: their numbers mean nothing any more
  bool unfinished = false;     // some of the calls may be under way when the communicator is freed
  bool two_groups = false;     // only the operations are compared: ranks, roots, reductions and
                               // blocks mean something else on each side
  std::set<uint32_t> sources;  // in neighbourhood collectives
  std::string name;
  std::deque<Own> own;
  std::deque<Own> persistent;  // may be started at any time
};

// Compares what arrived (a record and its tail) with one's own call of the same number, and
// reports. False: this process has not come to that call yet. Under the caller's lock; calls no
// MPI. May throw std::bad_alloc.
[[nodiscard]] bool compare_arrived(Ledger& ledger, const uint8_t* bytes, size_t length);

}  // namespace verity::mpi

#endif
