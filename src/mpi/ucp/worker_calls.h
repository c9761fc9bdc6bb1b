// SPDX-License-Identifier: BSD-3-Clause
#ifndef VERITY_MPI_UCP_WORKER_CALLS_H
#define VERITY_MPI_UCP_WORKER_CALLS_H

#include "mpi/ucp/worker.h"

namespace verity::mpi {

// The worker whose ucp_worker_create() this thread is in; nullptr: none.
[[nodiscard]] Worker* worker_in_creation() noexcept;

// From now on the plugin calls the hooks for tagged messages.
void enable_messages() noexcept;

}  // namespace verity::mpi

#endif
