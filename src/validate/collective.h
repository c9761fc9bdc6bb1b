// SPDX-License-Identifier: BSD-3-Clause
//
// Validation of blocks that every rank of a communicator holds: one of them owns the right bytes of
// each.
#ifndef VERITY_VALIDATE_COLLECTIVE_H
#define VERITY_VALIDATE_COLLECTIVE_H

#include "validate/session.h"
#include "validate/typed.h"

namespace verity::validate {

struct CollectiveResult {
  Outcome outcome = Outcome::kEqual;  // the worst of all ranks
  Result own;                         // what this rank held, repaired and sent
};

// One block, owned by `root`. Collective; throws MpiError (on all ranks, when the lengths differ
// too much to go on), std::bad_alloc.
[[nodiscard]] CollectiveResult validate_bcast(const Typed& block, int root, MPI_Comm comm,
                                              uint32_t segment_size, const Limits& limits);
// As many blocks as ranks, each owned by the rank of its number.
[[nodiscard]] CollectiveResult validate_allgather(const std::vector<std::unique_ptr<Typed>>& blocks,
                                                  MPI_Comm comm, uint32_t segment_size,
                                                  const Limits& limits);

}  // namespace verity::validate

#endif
