// SPDX-License-Identifier: BSD-3-Clause
// How MPI begins and ends in this process.
#ifndef VERITY_MPI_PROCESS_LIFETIME_H
#define VERITY_MPI_PROCESS_LIFETIME_H

#include "mpi/process/mpi_api.h"
#include "mpi/process/this_process.h"

namespace verity::mpi {

// Before MPI is initialised. `required`: the level of threads that the program asks for.
void mpi_begins(int required) noexcept;
void mpi_ended() noexcept;

// MPI_COMM_WORLD; MPI_COMM_NULL in a process that has sessions alone.
[[nodiscard]] MPI_Comm world() noexcept;
// A session begins, or ends: while there is one MPI's functions may be called without MPI_Init.
#if MPI_VERSION >= 4
void session_begins(MPI_Session session) noexcept;
// True: MPI ends with it, and may begin again.
[[nodiscard]] bool session_ends() noexcept;
#endif

}  // namespace verity::mpi

#endif
