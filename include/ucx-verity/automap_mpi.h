/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How the headers that `verity-types automap` generates build their MPI datatypes. C11 and C++17;
 * any MPI from version 2 on.
 */
#ifndef UCX_VERITY_AUTOMAP_MPI_H
#define UCX_VERITY_AUTOMAP_MPI_H

#include <mpi.h>
#include <ucx-verity/automap.h>

/* A committed structure whose extent is `size` bytes. Returns MPI_SUCCESS or the error of an MPI
 * call; *newtype is then MPI_DATATYPE_NULL. */
VERITY_AUTOMAP_FUNCTION int verity_automap_struct(int count, const int lengths[],
                                                  const MPI_Aint displacements[],
                                                  const MPI_Datatype types[], MPI_Aint size,
                                                  MPI_Datatype* newtype) {
  MPI_Datatype packed = MPI_DATATYPE_NULL;
  int status = MPI_Type_create_struct(count, lengths, displacements, types, &packed);
  *newtype = MPI_DATATYPE_NULL;
  if (status != MPI_SUCCESS) return status;
  status = MPI_Type_create_resized(packed, 0, size, newtype);
  MPI_Type_free(&packed);
  if (status != MPI_SUCCESS) return status;
  status = MPI_Type_commit(newtype);
  if (status != MPI_SUCCESS) MPI_Type_free(newtype);
  return status;
}

VERITY_AUTOMAP_FUNCTION void verity_automap_free(MPI_Datatype* datatype) {
  if (*datatype != MPI_DATATYPE_NULL) MPI_Type_free(datatype);
}

#endif
