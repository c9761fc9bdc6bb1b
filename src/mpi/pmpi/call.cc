// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/pmpi/call.h"

#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
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

}  // namespace

bool outer_is_there() noexcept {
#ifdef __x86_64__
  return read_pointer(static_cast<const void* const*>(thread.outer) - 1) == thread.returns;
#else
  return true;
#endif
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
