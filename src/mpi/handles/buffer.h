// SPDX-License-Identifier: BSD-3-Clause
#ifndef VERITY_MPI_HANDLES_BUFFER_H
#define VERITY_MPI_HANDLES_BUFFER_H

#include "mpi/process/mpi_api.h"

namespace verity::mpi {

// A message's datatype, as an MPI call names it.
struct Buffer {
  MPI_Count count;
  MPI_Datatype datatype;
  const void* address = nullptr;  // of the data, where it is read
};

// A buffer of a type that is known.
struct Data {
  const void* address;
  MPI_Count count;
  bool digested = true;  // where digests are wanted
};

}  // namespace verity::mpi

#endif
