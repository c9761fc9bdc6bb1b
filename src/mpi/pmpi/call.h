// SPDX-License-Identifier: BSD-3-Clause
// An MPI call of the program, from its entry to its exit. Of calls within calls the outermost
// counts, for an MPI library makes its own through the same functions; but a tool between the
// program and the library (PMPI) makes calls in its own name.
#ifndef VERITY_MPI_PMPI_CALL_H
#define VERITY_MPI_PMPI_CALL_H

#include <atomic>
#include <cstdint>

#include "mpi/check/findings.h"
#include "mpi/process/mpi_api.h"
#include "mpi/process/thread.h"
#include "mpi/sites/sites.h"
#include "mpi/ucp/attach.h"

namespace verity::mpi {

// Calls that a program has left without returning from them (longjmp out of an error handler):
// dropped at its next one, whose frame is not within theirs, or lies where theirs was.
[[gnu::cold]] void abandon_calls() noexcept;

// The communicator was about to be freed, and is still in use: this process's calls in it are not
// counted from the first on.
void stop_comparing(MPI_Comm comm) noexcept;
// The same of a communicator that is not known which.
void stop_comparing_any() noexcept;

// What is kept of a call that is not a plain one, of the program's own code and within no other.
struct Unusual {
  int around;     // calls around it
  uint64_t site;  // the thread's before it, as its name
  const char* name;
  bool internal;  // made by the MPI library for its own ends
  bool saved;
  Attachments attachments;  // of the call around it, if saved
  OtherSend send;           // the same
};
// Nullptr: it is a plain one after all; else made in `room`.
[[nodiscard, gnu::cold]] const Unusual* enter_unusual(const char* name, const void* return_address,
                                                      const void* frame_end, void* room) noexcept;
[[gnu::cold]] void leave_unusual(const Unusual& call) noexcept;

class Call {
 public:
  // Apart from the call, which then may be in registers.
  struct Room {
    alignas(Unusual) unsigned char bytes[sizeof(Unusual)];
  };
  Call(const char* name, const void* return_address, const void* frame_end, Room* room) noexcept {
    KnownSite* known = &known_site(return_address);
    if (thread.depth != 0 || known->plain != return_address) [[unlikely]] {
      unusual_ = enter_unusual(name, return_address, frame_end, room);
      return;
    }
    thread.depth = 1;
    thread.outer = frame_end;
    thread.returns = return_address;
    thread.site = known->site.id;
    thread.name = name;
    known_ = known;
  }
  [[gnu::always_inline]] ~Call() {
    if (unusual_ == nullptr) [[likely]] {
      thread.depth = 0;
    } else {
      leave_unusual(*unusual_);
    }
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  // Made by the MPI library for its own ends: goes through as it is, and what the call around it
  // has attached stays.
  [[nodiscard]] bool internal() const noexcept { return unusual_ != nullptr && unusual_->internal; }

  [[nodiscard]] int leave() const {
    if (!this_process.findings_wait.load(std::memory_order_relaxed)) [[likely]]
      return rc;
    return unusual_ == nullptr ? report_findings(rc) : rc;  // of those none is an outermost one
  }

  // The cache of what calls from here are about; nullptr: none.
  [[nodiscard]] KnownSite* known() const noexcept { return known_; }

  // What the function returned. Not MPI_SUCCESS when an error handler ends it with an exception.
  int rc = MPI_ERR_OTHER;

 private:
  const Unusual* unusual_ = nullptr;
  KnownSite* known_ = nullptr;
};

// Whether the outermost call is still under way, as far as its frame shows: what came over it has
// another value where that returns to, or the stack was the program's own and is unmapped (on other
// processors no place is known for it), or this call's callers lie on both sides of it. For calls
// within calls alone.
[[nodiscard, gnu::cold]] bool outer_is_there(const void* return_address,
                                             const void* frame_end) noexcept;

// Enters one. The number of calls around it.
inline int enter_call(const void* return_address, const void* frame_end) noexcept {
  if (thread.depth != 0 &&
      (frame_end >= thread.outer || !outer_is_there(return_address, frame_end))) [[unlikely]]
    abandon_calls();
  if (thread.depth == 0) [[likely]] {
    thread.outer = frame_end;
    thread.returns = return_address;
  }
  return thread.depth++;
}

// The outermost call ends while findings wait: they are the program's, not the MPI library's where
// that makes it for its own ends.
[[nodiscard, gnu::cold]] int leave_plain(int rc);

// A call that sends and receives nothing itself: of where it comes from nothing is kept.
class PlainCall {
 public:
  PlainCall(const void* return_address, const void* frame_end) noexcept
      : around_(enter_call(return_address, frame_end)) {
    if (around_ != 0) [[unlikely]]
      return;
    thread.site = 0;
  }
  ~PlainCall() { thread.depth = around_; }
  PlainCall(const PlainCall&) = delete;
  PlainCall& operator=(const PlainCall&) = delete;

  [[nodiscard]] int leave(int rc) const {
    if (this_process.findings_wait.load(std::memory_order_relaxed)) [[unlikely]]
      return around_ == 0 ? leave_plain(rc) : rc;
    return rc;
  }

 private:
  int around_;
};

}  // namespace verity::mpi

#endif
