// SPDX-License-Identifier: BSD-3-Clause
// The MPI library's own functions that are called from here, past every wrapper, and its predefined
// handles.
#ifndef VERITY_MPI_PROCESS_LIBRARY_H
#define VERITY_MPI_PROCESS_LIBRARY_H

#include "mpi/process/mpi_api.h"

namespace verity::mpi {

// X(name without MPI_)
#define VERITY_MPI_USED(X)      \
  X(Initialized)                \
  X(Finalized)                  \
  X(Comm_rank)                  \
  X(Comm_size)                  \
  X(Comm_group)                 \
  X(Comm_remote_group)          \
  X(Comm_test_inter)            \
  X(Comm_get_name)              \
  X(Comm_call_errhandler)       \
  X(Comm_get_errhandler)        \
  X(Topo_test)                  \
  X(Cartdim_get)                \
  X(Cart_shift)                 \
  X(Graph_neighbors_count)      \
  X(Graph_neighbors)            \
  X(Dist_graph_neighbors_count) \
  X(Dist_graph_neighbors)       \
  X(Group_translate_ranks)      \
  X(Group_free)                 \
  X(Iprobe)                     \
  X(Start)                      \
  X(Type_get_name)              \
  X(Type_size_x)                \
  X(Type_get_extent)            \
  X(Type_get_envelope)          \
  X(Type_get_contents)          \
  X(Type_free)                  \
  X(Win_call_errhandler)        \
  X(Win_get_group)              \
  X(Win_get_name)

// Of MPI 4: may be missing where the header has them.
#ifdef VERITY_MPI4_COUNTS
#define VERITY_MPI_USED_4(X) \
  X(Type_get_envelope_c)     \
  X(Type_get_contents_c)
#else
#define VERITY_MPI_USED_4(X)
#endif

// MPI 4.1 deprecates Type_size_x; libraries of MPI 3 lack what replaces it.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
struct Library {
#define VERITY_MEMBER(name) decltype(&PMPI_##name) name;
  VERITY_MPI_USED(VERITY_MEMBER)
  VERITY_MPI_USED_4(VERITY_MEMBER)
#undef VERITY_MEMBER
};
#pragma GCC diagnostic pop

// Before any use of library() and handles(). False when a function is missing.
[[nodiscard]] bool load_library() noexcept;
[[nodiscard]] const Library& library() noexcept;

// Predefined handles: in Open MPI they are addresses of data in a library that we are not linked
// against.
struct Handles {
  MPI_Comm comm_null;
  MPI_Comm comm_world;
  MPI_Datatype type_null;
  MPI_Request request_null;
  MPI_Op no_op;
  MPI_Errhandler errors_return;
};
[[nodiscard]] const Handles& handles() noexcept;

}  // namespace verity::mpi

#endif
