// SPDX-License-Identifier: BSD-3-Clause
//
// The signature of a committed MPI datatype by its envelope and contents, as the preloaded library decodes it, for a C program.
#include "mpi/process/library.h"
#include "mpi/handles/types.h"

namespace verity::mpi {

const Library& library() noexcept {
  static const Library table = [] {
    Library all{};
#define VERITY_FILL(name) all.name = &PMPI_##name;
    VERITY_MPI_USED(VERITY_FILL)
    VERITY_MPI_USED_4(VERITY_FILL)
#undef VERITY_FILL
    return all;
  }();
  return table;
}

}  // namespace verity::mpi

// Sets {elements, hash by class and size, hash by name}; returns 0 when it cannot be decoded.
extern "C" __attribute__((visibility("default"))) int automap_decode(MPI_Datatype datatype, uint64_t signature[3]) {
  using namespace verity;
  signature::Type type;
  if (!mpi::decode_type(datatype, &type)) return 0;
  signature[0] = type.count();
  signature[1] = type.signature(1, signature::Level::kLayout).hash;
  signature[2] = type.signature(1, signature::Level::kNames).hash;
  return 1;
}
