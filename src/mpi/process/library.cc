// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/process/library.h"

#include "mpi/interpose/next.h"

namespace verity::mpi {

namespace {
constinit Library loaded{};
}

bool load_library() noexcept {
  bool complete = true;
#define VERITY_LOAD(name) loaded.name = reinterpret_cast<decltype(loaded.name)>(find_next("PMPI_" #name));
#define VERITY_LOAD_ALL(name) \
  VERITY_LOAD(name)           \
  complete = complete && loaded.name != nullptr;
  VERITY_MPI_USED(VERITY_LOAD_ALL)
  VERITY_MPI_USED_4(VERITY_LOAD)
#undef VERITY_LOAD_ALL
#undef VERITY_LOAD
  return complete;
}

const Library& library() noexcept { return loaded; }

}  // namespace verity::mpi
