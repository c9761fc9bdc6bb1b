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
#include "mpi/collectives/requests.h"

namespace verity::mpi {

// One's own call, until it is old.
struct Own {
  uint32_t number;
  CollectiveCall call;
  TypeRef type;                // of what is expected
  std::vector<TypeRef> types;  // of each rank, where they differ
  uint64_t site;
  bool begun = false;  // MPI has accepted it, and no other call takes its place any more
};

// Which collective operations were called on a communicator.
struct Ledger {
  TagFilter filter;
  CommRef comm;
  uint32_t calls = 0;
  int rank = -1, ranks = 0;
  bool diverged = false;       // the ranks' calls differ: their numbers mean nothing any more
  bool two_groups = false;     // only the operations are compared: ranks, roots, reductions and
                               // blocks mean something else on each side
  std::set<uint32_t> sources;  // in neighbourhood collectives
  std::string name;
  std::deque<Own> own;
  std::deque<Own> persistent;  // may be started at any time
  Incomplete incomplete = std::make_shared<IncompleteCalls>();
};

// A call of this process, which has the next number. May throw std::bad_alloc.
void keep_call(Ledger& ledger, Own&& own);

// What this process gives is what it expects.
[[nodiscard]] bool is_same_both_ways(const CollectiveCall& call) noexcept;

// Compares what arrived (a record and its tail) with one's own call of the same number, and
// reports. False: this process has not come to that call yet, or has not begun it. Under the
// caller's lock; calls no MPI. May throw std::bad_alloc.
[[nodiscard]] bool compare_arrived(Ledger& ledger, const uint8_t* bytes, size_t length);

// The call of this attachment, where it was counted just now, has begun or has succeeded.
void note_begun(Ledger& ledger, const CollectiveAttachment& attachment) noexcept;
// The call of this attachment is none: MPI has not begun it, and will not.
void uncount(Ledger& ledger, const CollectiveAttachment& attachment) noexcept;
// The same of the call around the one that this thread makes, which takes its place: a tool hands
// it on, which other ranks may be without, or the error handler of a refused call makes the right
// one. The start of a persistent operation is no such call: that was counted when it was made.
void uncount_around(Ledger& ledger) noexcept;

}  // namespace verity::mpi

#endif
