// SPDX-License-Identifier: BSD-3-Clause
// Call sites: a return address as 8 bytes that another process of the same program understands, and back, into words.
//
//   63          48 47                                    0
//   +-------------+--------------------------------------+
//   |  module id  |  offset of the address in the module  |
//   +-------------+--------------------------------------+
//
// The module id is a hash of its build id, or of its file name where it has none. 0: not known.
#pragma once

#include <cstdint>
#include <string>

namespace verity::mpi {

struct Site {
  uint64_t id = 0;
  bool library = false;  // in the MPI library or one of its components
};

// Of the call that returns to `address`, made by the frame whose end (canonical frame address of the called function) is `frame_end`.
// Cheap when asked before by the same thread. A call out of another language's binding stands for the call into that.
[[nodiscard]] Site site_of(const void* address, const void* frame_end) noexcept;

// "exchange (solver.c:214)" where there is debug information, else what is known: a function's name, a module and an offset. Reads
// files and allocates: only for reports.
[[nodiscard]] std::string site_in_words(uint64_t id);

}  // namespace verity::mpi
