// SPDX-License-Identifier: BSD-3-Clause
// A mismatch in words, for people on stderr and for programs in a file of JSON lines.
#ifndef VERITY_MPI_CHECK_REPORT_H
#define VERITY_MPI_CHECK_REPORT_H

#include <string>

namespace verity::mpi {

struct Finding;

// Reads debug information; calls MPI for the names of a one-sided operation alone. May throw
// std::bad_alloc.
void report(const Finding& finding);

// "rank 3", "rank 0 of spawned world 2", "an unknown rank" (process/this_process.h).
[[nodiscard]] std::string process_in_words(int process);
// The rank, and behind it as a further member the number of a spawned world: 0,"world":2.
[[nodiscard]] std::string process_in_json(int process);

// To stderr, in one piece.
void print(const std::string& text) noexcept;
// To the file of JSON lines, which is set.
void append_to_log(const std::string& line) noexcept;

}  // namespace verity::mpi

#endif
