// SPDX-License-Identifier: BSD-3-Clause
// Where a datatype's bytes lie in memory, in the order in which MPI packs them. From how the type
// was made, not from what the MPI library would copy: the digests check its packing, too.
#ifndef VERITY_MPI_HANDLES_LAYOUT_H
#define VERITY_MPI_HANDLES_LAYOUT_H

#include <cstddef>
#include <memory>

#include "mpi/process/mpi_api.h"
#include "normalize/runs.h"

namespace verity::mpi {

struct Layout {
  bool known = false;
  // Of one copy, from the buffer's address; nullptr: no bytes. Datatypes of one layout share
  // theirs.
  std::shared_ptr<const normalize::Runs> runs;
  MPI_Aint extent = 0;         // from one copy to the next
  size_t bytes = 0;            // of one copy
  MPI_Aint low = 0, high = 0;  // of one copy: the first byte, and behind the last one

  // All copies are one run.
  [[nodiscard]] bool dense() const noexcept {
    return runs != nullptr && runs->is_one_run() &&
           static_cast<MPI_Aint>(runs->body[0].length) == extent;
  }
};

// Not known: distributed arrays, types made with large counts, deeply nested ones, structures and
// blocks of different lengths in very many pieces; Open MPI's structures with a member without
// data. Calls MPI. May throw std::bad_alloc.
[[nodiscard]] Layout lay_out(MPI_Datatype datatype);

}  // namespace verity::mpi

#endif
