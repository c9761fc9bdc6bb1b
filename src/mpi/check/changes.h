// SPDX-License-Identifier: BSD-3-Clause
// Sends whose buffer the program wrote to before they were complete: kept until the next exit of an
// MPI call, reported once for each call site. No failure: what arrives is what was there last, and
// the job goes on.
#ifndef VERITY_MPI_CHECK_CHANGES_H
#define VERITY_MPI_CHECK_CHANGES_H

#include "mpi/matching/open_sends.h"

namespace verity::mpi {

// May be called inside of UCP's progress.
void add_change(const ChangedSend& send) noexcept;
// Tells of those that wait. May call MPI.
void report_changes();
// At the end: reports the rest, and how many there were where only the first was reported.
void summarize_changes();

}  // namespace verity::mpi

#endif
