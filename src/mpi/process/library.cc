// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/process/library.h"

#include "mpi/interpose/next.h"

namespace verity::mpi {

namespace {
constinit Library loaded{};
constinit Handles predefined{};

Handles find_handles() noexcept {
#if defined(OPEN_MPI)
  return {.comm_null = static_cast<MPI_Comm>(find_data("ompi_mpi_comm_null")),
          .comm_world = static_cast<MPI_Comm>(find_data("ompi_mpi_comm_world")),
          .type_null = static_cast<MPI_Datatype>(find_data("ompi_mpi_datatype_null")),
          .request_null = static_cast<MPI_Request>(find_data("ompi_request_null")),
          .no_op = static_cast<MPI_Op>(find_data("ompi_mpi_op_no_op")),
          .errors_return = static_cast<MPI_Errhandler>(find_data("ompi_mpi_errors_return"))};
#else
  return {.comm_null = MPI_COMM_NULL,
          .comm_world = MPI_COMM_WORLD,
          .type_null = MPI_DATATYPE_NULL,
          .request_null = MPI_REQUEST_NULL,
          .no_op = MPI_NO_OP,
          .errors_return = MPI_ERRORS_RETURN};
#endif
}

}  // namespace

bool load_library() noexcept {
  bool complete = true;
#define VERITY_LOAD(name) \
  loaded.name = reinterpret_cast<decltype(loaded.name)>(find_next("PMPI_" #name));
#define VERITY_LOAD_ALL(name) \
  VERITY_LOAD(name)           \
  complete = complete && loaded.name != nullptr;
  VERITY_MPI_USED(VERITY_LOAD_ALL)
  VERITY_MPI_USED_4(VERITY_LOAD)
#undef VERITY_LOAD_ALL
#undef VERITY_LOAD
  if (complete) predefined = find_handles();
  return complete;
}

const Library& library() noexcept { return loaded; }
const Handles& handles() noexcept { return predefined; }

}  // namespace verity::mpi
