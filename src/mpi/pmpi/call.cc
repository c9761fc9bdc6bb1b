// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/pmpi/call.h"

#include <sys/uio.h>
#include <unistd.h>
#include <unwind.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#include "mpi/collectives/collecting.h"
#include "mpi/handles/comms.h"
#include "mpi/handles/types.h"
#include "mpi/pmpi/partitioned.h"

namespace verity::mpi {

namespace {

// What lies there; nullptr: nothing does. Where the kernel does not say, it is read all the same.
[[maybe_unused]] const void* read_pointer(const void* const* place) noexcept {
  const int before = errno;
  const void* found = nullptr;
  const iovec to{&found, sizeof(found)};
  const iovec from{const_cast<const void**>(place), sizeof(found)};
  if (process_vm_readv(getpid(), &to, 1, &from, 1, 0) < 0 && errno != EFAULT) found = *place;
  errno = before;
  return found;
}

// A call that was found to be within the outermost one, by the places that they return to and how
// far their frames are from each other. A left call is not mistaken for this one: a place in a
// callback, or in a tool behind this library, is come to within another call alone.
struct Within {
  const void* returns = nullptr;  // the outermost one
  const void* address = nullptr;
  ptrdiff_t distance = 0;
  friend bool operator==(const Within&, const Within&) noexcept = default;
};
struct KnownWithin {
  std::array<Within, 32> calls = {};
  size_t next = 0;  // to be replaced
};
thread_local constinit KnownWithin known_within __attribute__((tls_model("initial-exec")));

// From call to caller: of each frame, the end of the one that it called.
_Unwind_Reason_Code look_for_outer(_Unwind_Context* context, void* passed) noexcept {
  const auto end = static_cast<uintptr_t>(_Unwind_GetCFA(context));
  const auto outer = reinterpret_cast<uintptr_t>(thread.outer);
  if (end < outer) return _URC_NO_REASON;
  *static_cast<bool*>(passed) = end != outer;
  return _URC_END_OF_STACK;
}

}  // namespace

bool outer_is_there(const void* return_address, const void* frame_end) noexcept {
#ifdef __x86_64__
  if (read_pointer(static_cast<const void* const*>(thread.outer) - 1) != thread.returns)
    return false;
#endif
  // An array that was never filled may lie there now, with what was there before.
  const Within within{thread.returns, return_address,
                      static_cast<const char*>(thread.outer) - static_cast<const char*>(frame_end)};
  auto& [calls, next] = known_within;
  if (std::find(calls.begin(), calls.end(), within) != calls.end()) return true;
  bool passed = false;
  _Unwind_Backtrace(look_for_outer, &passed);
  if (!passed) calls[next++ % calls.size()] = within;
  return !passed;
}

void abandon_calls() noexcept {
  Receive* receive =
      attachments.receive.receive;  // not consumed; what the others point to went with its frame
  // What they counted, MPI may have refused.
  if (attachments.collective.length != 0) abandon_collective(attachments.collective);
  if (attachments.active.pending) abandon_partitioned();
  CommTable::Ending::abandon(stop_comparing, stop_comparing_any);
  TypeTable::Ending::forget_all();
  attachments = {};
  if (receive != nullptr) receive->dropped();
  leave_errhandlers();
  thread.depth = 0;
}

void stop_comparing(MPI_Comm comm) noexcept {
  never_compare(comm);
  abandon_partitioned();
}

void stop_comparing_any() noexcept {
  never_compare_any();
  abandon_partitioned();
}

const Unusual* enter_unusual(const char* name, const void* return_address, const void* frame_end,
                             void* room) noexcept {
  // What the call around it has attached lies with its site.
  const Site from =
      site_of(return_address, frame_end, thread.depth != 0 ? thread.returns : nullptr);
  const uint64_t outer_site = thread.site;
  const char* const outer_name = thread.name;
  const int around = enter_call(return_address, frame_end);
  if (around == 0 || thread.site == 0) {
    thread.site = from.id;
    thread.name = name;
  }
  if (around == 0 && !from.library) return nullptr;
  const bool saved = around != 0 && !from.library;
  auto* const call =
      new (room) Unusual{around, outer_site, outer_name, from.library, saved, {}, {}};
  if (saved) {
    call->attachments = std::exchange(attachments, {});
    attachments.around = &call->attachments;
    call->send = thread.other_send;
  }
  return call;
}

int leave_plain(int rc) {
  return site_of(thread.returns, thread.outer).library ? rc : report_findings(rc);
}

void leave_unusual(const Unusual& call) noexcept {
  thread.depth = call.around;
  thread.site = call.site;
  thread.name = call.name;
  if (!call.saved) return;
  attachments = call.attachments;
  thread.other_send = call.send;
}

}  // namespace verity::mpi
