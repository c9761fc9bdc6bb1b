// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/process/this_process.h"

#include "mpi/process/thread.h"

namespace verity::mpi {

constinit ThisProcess this_process;

KnownSite none_known[kKnownSites];
thread_local constinit Thread thread __attribute__((tls_model("initial-exec")));

}  // namespace verity::mpi
