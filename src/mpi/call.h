// SPDX-License-Identifier: BSD-3-Clause
// An MPI call of the program, from its entry to its exit. Of calls within calls the outermost counts, for an MPI library makes its own
// through the same functions; but a tool between the program and the library (PMPI) makes calls in its own name.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "mpi/arm.h"
#include "mpi/mpi_api.h"
#include "mpi/sites.h"

namespace verity::mpi {

// Of this thread.
struct Thread {
  int depth = 0;             // calls entered
  const void* outer = nullptr;  // end of the outermost one's frame
  uint64_t site = 0;         // of the outermost
  const char* name = "";     // of the outermost
};
extern thread_local constinit Thread thread __attribute__((tls_model("initial-exec")));

// Mismatches wait for a report, which the next exit makes.
extern constinit std::atomic<bool> findings_wait;
// Reports them. Returns `rc`, or MPI_ERR_TYPE where mismatches are errors. No MPI call of the program may be under way in this thread.
[[nodiscard]] int report_findings(int rc) noexcept;

// Calls that a program has left without returning from them (longjmp out of an error handler): forgotten at its next one, whose frame is
// not within theirs.
void abandon_calls() noexcept;

// Enters one. The number of calls around it.
inline int enter_call(const void* frame_end) noexcept {
  if (thread.depth != 0 && frame_end >= thread.outer) [[unlikely]] abandon_calls();
  if (thread.depth == 0) thread.outer = frame_end;
  return thread.depth++;
}

class Call {
 public:
  Call(const char* name, const void* return_address, const void* frame_end) noexcept
      : around_(enter_call(frame_end)) {
    const Site from = site_of(return_address, frame_end);
    internal_ = from.library;
    if (around_ == 0 || thread.site == 0) {
      thread.site = from.id;
      thread.name = name;
    }
    if (around_ != 0 && !internal_) [[unlikely]] {
      saved_.emplace(armed);
      armed = {};
    }
  }
  ~Call() {
    thread.depth = around_;
    if (saved_) [[unlikely]] armed = *saved_;
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  // Made by the MPI library for its own ends: goes through as it is, and what the call around it armed stays.
  [[nodiscard]] bool internal() const noexcept { return internal_; }

  [[nodiscard]] int leave() const noexcept {
    if (findings_wait.load(std::memory_order_relaxed) && around_ == 0) [[unlikely]] return report_findings(rc);
    return rc;
  }

  int rc = MPI_SUCCESS;  // what the function returned

 private:
  int around_;
  bool internal_;
  std::optional<Armed> saved_;  // what the call around this one armed
};

// A call that sends and receives nothing itself: of where it comes from nothing is kept.
class PlainCall {
 public:
  explicit PlainCall(const void* frame_end) noexcept : around_(enter_call(frame_end)) {
    if (around_ == 0) thread.site = 0;
  }
  ~PlainCall() { thread.depth = around_; }
  PlainCall(const PlainCall&) = delete;
  PlainCall& operator=(const PlainCall&) = delete;

  [[nodiscard]] int leave(int rc) const noexcept {
    if (findings_wait.load(std::memory_order_relaxed) && around_ == 0) [[unlikely]] return report_findings(rc);
    return rc;
  }

 private:
  int around_;
};

}  // namespace verity::mpi
