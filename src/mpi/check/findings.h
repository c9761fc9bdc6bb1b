// SPDX-License-Identifier: BSD-3-Clause
// What the comparisons found: counters, and mismatches until they are raised as errors. They are
// reported at once, before MPI sees the message: it may end the job over it. May be called inside
// of UCP's progress; nothing here calls MPI but report_findings() and raise_remote().
#ifndef VERITY_MPI_CHECK_FINDINGS_H
#define VERITY_MPI_CHECK_FINDINGS_H

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "mpi/check/posted_receive.h"
#include "mpi/process/counting.h"
#include "mpi/ucp/type_counters.h"
#include "signature/rules.h"

namespace verity::mpi {

// Why a message was not checked, besides signature::Reason.
enum class Unchecked : uint8_t {
  kUnsigned,    // it came without a signature
  kUndecoded,   // the receive's datatype could not be decoded
  kUnreadable,  // its signature is malformed
  kEarly,       // of a collective operation: too many wait for this process's own calls
  kPastUcx,     // the MPI library delivers it without UCP
};

inline void count_checked() noexcept { add(type_counters().checked, uint64_t{1}); }
void count_unchecked(Unchecked why) noexcept;
void count_unchecked(signature::Reason why) noexcept;

// Where a one-sided operation went whose two datatypes do not match each other.
struct Remote {
  MPI_Win window;
  int target;    // rank in the window's group
  bool fetches;  // the data come from there
};

// A mismatch, with all that its report needs.
struct Finding {
  signature::Verdict verdict;
  signature::Record sender;
  std::vector<uint8_t> description;
  uint64_t received_bytes = signature::kWhole;
  PostedReceive::Facts receive;
  std::optional<Remote> remote;  // of a one-sided operation: `sender` is this process too
  bool data = false;             // the types agree, the data do not
};

// Counts it, reports it when it is the first one of its pair of call sites, and keeps it for the
// next exit of an MPI call when each is an error.
void add_finding(const signature::Verdict& verdict, const signature::Record& sender,
                 std::span<const uint8_t> description, const signature::Received& received,
                 PostedReceive::Facts&& receive) noexcept;

// The same for a comparison of a one-sided operation's two datatypes. An error is raised at once,
// since the call's own thread has to know of it, and another one might free the window. Returns
// MPI_ERR_TYPE then. Calls MPI, and throws what the program's error handler throws.
[[nodiscard]] int raise_remote(const Finding& finding);

// Counts a comparison of the data's digests; and one that found a difference, with all that its
// report needs.
void count_data(bool equal) noexcept;
void add_data_finding(const signature::Record& sender, std::span<const uint8_t> description,
                      size_t bytes, PostedReceive::Facts&& receive) noexcept;

// Counts a mismatch between collective operations of this communicator, which has been reported.
// Where mismatches are errors the next exit of an MPI call raises one on the communicator.
void add_collective_mismatch(CommInfo& communicator) noexcept;

// Raises the errors that wait and reports the changed buffers. Returns `rc`, or the error. To be
// called when no MPI call of the program is under way in this thread. Throws what the program's
// error handler throws; the errors behind that one are lost then.
[[nodiscard, gnu::cold]] int report_findings(int rc);

// At the end: a line with the sums when there is something to say. Only the first call does it.
void print_summary() noexcept;
// Errors that were found too late for any error handler: none is kept afterwards.
[[nodiscard]] bool take_unraised() noexcept;

}  // namespace verity::mpi

#endif
