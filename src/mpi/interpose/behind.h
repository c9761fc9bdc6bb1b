// SPDX-License-Identifier: BSD-3-Clause
// Interposers for several MPI libraries may be preloaded. Those behind this one, which are never in
// use in a process of another MPI, are bypassed, so that a call does not pay for them.
#ifndef VERITY_MPI_INTERPOSE_BEHIND_H
#define VERITY_MPI_INTERPOSE_BEHIND_H

namespace verity::mpi {

// The definition of `name` after this library, and after the interposers behind it that step aside.
// nullptr: there is none in the search order.
[[nodiscard]] void* find_behind(const char* name) noexcept;
// Of addresses of functions. False also where that is not known.
[[nodiscard]] bool in_one_library(const void* a, const void* b) noexcept;

}  // namespace verity::mpi

// By the interposer in front: 1, and what find_behind() would return here, when this one does
// nothing in this process, for ever; else 0.
extern "C" __attribute__((visibility("default"))) int verity_step_aside(const char* name,
                                                                        void** next_p);

#endif
