// SPDX-License-Identifier: BSD-3-Clause
// How MPI begins and ends in this process.
#ifndef VERITY_MPI_PROCESS_LIFETIME_H
#define VERITY_MPI_PROCESS_LIFETIME_H

#include "mpi/process/mpi_api.h"
#include "mpi/process/this_process.h"

namespace verity::mpi {

// Before MPI is initialised. `required`: the level of threads that the program asks for.
void mpi_begins(int required) noexcept;
// MPI_Finalize has returned. True: MPI has ended; false: sessions go on.
[[nodiscard]] bool world_ends() noexcept;

// MPI_COMM_WORLD; MPI_COMM_NULL in a process that has sessions alone, or no longer has it.
[[nodiscard]] MPI_Comm world() noexcept;
// A session begins, or ends: while there is one MPI's functions may be called without MPI_Init.
#if MPI_VERSION >= 4
void session_begins(MPI_Session session) noexcept;
// Before MPI_Session_finalize. True: MPI ends with it, and may begin again. `forget` is called
// then: it calls no MPI.
[[nodiscard]] bool session_ends(void (*forget)() noexcept) noexcept;
// MPI has refused to end it.
void session_goes_on() noexcept;
#endif

}  // namespace verity::mpi

#endif
