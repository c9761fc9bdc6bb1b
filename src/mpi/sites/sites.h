// SPDX-License-Identifier: BSD-3-Clause
// Call sites: a return address as 8 bytes that another process of the same program understands, and
// back, into words.
//
//   63          48 47                                    0
//   +-------------+--------------------------------------+
//   |  module id  |  offset of the address in the module  |
//   +-------------+--------------------------------------+
//
// The module id is a hash of its build id, or of its file name where it has none. 0: not known.
#ifndef VERITY_MPI_SITES_SITES_H
#define VERITY_MPI_SITES_SITES_H

#include <cstddef>
#include <cstdint>
#include <string>

#include "mpi/process/thread.h"

namespace verity::mpi {

[[nodiscard]] inline KnownSite& known_site(const void* address) noexcept {
  const auto at = reinterpret_cast<uintptr_t>(address);
  return thread.known_sites[(at ^ at >> 7) % kKnownSites];
}

// Of the call that returns to `address`, made by the frame whose end (canonical frame address of
// the called function) is `frame_end`. Cached by the thread, but not in place of what it keeps for
// `in_use`, where a call under way returns to (nullptr: there is none): not by the site, as code in
// no module has none. A call out of another language's binding stands for the call into that.
[[nodiscard]] Site site_of(const void* address, const void* frame_end,
                           const void* in_use = nullptr) noexcept;

// "exchange (solver.c:214)" where there is debug information, else what is known: a function's
// name, a module and an offset. Reads files and allocates: only for reports.
[[nodiscard]] std::string site_in_words(uint64_t id);

}  // namespace verity::mpi

#endif
