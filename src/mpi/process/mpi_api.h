// SPDX-License-Identifier: BSD-3-Clause
// The header of the MPI library that this interposer is compiled for. Only declarations and
// constants are used: it is not linked against MPI, so nothing here may name one of the library's
// functions or data.
#ifndef VERITY_MPI_PROCESS_MPI_API_H
#define VERITY_MPI_PROCESS_MPI_API_H

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
// Declared as hidden, what is called mpi_* here would be taken for our own.
#pragma GCC visibility push(default)
#include <mpi.h>
#if defined(OPEN_MPI) && __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif
#pragma GCC visibility pop

#if defined(OPEN_MPI)
#define VERITY_MPI_NAME "Open MPI"
#elif defined(MPICH_VERSION) || defined(MPICH_NUMVERSION)
#define VERITY_MPI_NAME "MPICH"
#else
#error "libverity_mpi knows Open MPI and MPICH (and what shares MPICH's binary interface)"
#endif

// The calls of MPI 4 that came before the rest of it in Open MPI 5.
#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
#define VERITY_MPI4_CALLS 1
#endif
#if MPI_VERSION >= 4
#define VERITY_MPI4_COUNTS 1
#endif

#endif
