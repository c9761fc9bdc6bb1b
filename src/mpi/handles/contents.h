// SPDX-License-Identifier: BSD-3-Clause
// How a datatype was made: MPI_Type_get_envelope and MPI_Type_get_contents, in the forms for large
// counts where there are such.
#ifndef VERITY_MPI_HANDLES_CONTENTS_H
#define VERITY_MPI_HANDLES_CONTENTS_H

#include <cstddef>
#include <vector>

#include "mpi/process/mpi_api.h"

namespace verity::mpi {

struct TypeEnvelope {
  int combiner = MPI_COMBINER_NAMED;
  MPI_Count integers = 0, addresses = 0, counts = 0, types = 0;
};

[[nodiscard]] bool get_envelope(MPI_Datatype datatype, TypeEnvelope* envelope_p);

struct Contents {
  std::vector<int> integers;
  std::vector<MPI_Aint> addresses;
  std::vector<MPI_Count> counts;
  std::vector<MPI_Datatype> types;

  // Block lengths of a structure: behind its number of blocks.
  [[nodiscard]] MPI_Count block(size_t i) const {
    return counts.empty() ? integers[i + 1] : counts[i + 1];
  }
  [[nodiscard]] bool has_blocks() const {
    return (counts.empty() ? integers.size() : counts.size()) > types.size();
  }
};

// The caller frees those of the types that must be.
[[nodiscard]] bool get_contents(MPI_Datatype datatype, const TypeEnvelope& envelope,
                                Contents* contents_p);
// Of a type that get_contents() returned: it is a derived one.
[[nodiscard]] bool must_be_freed(MPI_Datatype datatype);

}  // namespace verity::mpi

#endif
