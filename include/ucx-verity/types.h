/* SPDX-License-Identifier: BSD-3-Clause
 *
 * libverity_types: MPI datatypes rewritten into equivalent ones that describe the same layout at
 * less cost. There is one library for each MPI library's binary interface: libverity_types_openmpi,
 * libverity_types_mpich (pkg-config: verity-types-openmpi, verity-types-mpich). It needs neither
 * UCX nor the rest of this project.
 */
#ifndef UCX_VERITY_TYPES_H
#define UCX_VERITY_TYPES_H

#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Makes a datatype with the type map, lower bound, extent and signature of `oldtype`, described
 * with the least storage by contiguous, hvector, hindexed_block and hindexed types (Traeff, Optimal
 * MPI Datatype Normalization for Vector and Index-block Types, EuroMPI 2014). Members of structures
 * of several types are normalized each. What is not looked into stays as it is: distributed arrays,
 * types made with large counts, nestings deeper than 200, structures of more than 1,000,000
 * elements of one type.
 *
 * `oldtype` may be any datatype, committed or not, and stays as it is. *newtype is another one in
 * every case, not committed, and the caller's to free. Takes time linear in the arguments with
 * which `oldtype` was made, times the square root of the longest list of displacements at most;
 * allocates memory for a few copies of them.
 *
 * Thread-safe after MPI_Init_thread with MPI_THREAD_MULTIPLE, as MPI's own constructors. Collective
 * over nothing.
 *
 * Returns MPI_SUCCESS; MPI_ERR_ARG for a null pointer, MPI_ERR_TYPE for MPI_DATATYPE_NULL,
 * MPI_ERR_NO_MEM, or the error of an MPI call, for which the error handler of MPI_COMM_WORLD
 * (MPI_COMM_SELF from MPI 4 on) has been called. *newtype is then MPI_DATATYPE_NULL.
 */
int verity_type_normalize(MPI_Datatype oldtype, MPI_Datatype* newtype);

/* The same for Fortran's handles: what the module verity_types (verity_types.f90) calls. */
void verity_type_normalize_f(const MPI_Fint* oldtype, MPI_Fint* newtype, MPI_Fint* ierror);

#ifdef __cplusplus
}
#endif

#endif
