// SPDX-License-Identifier: BSD-3-Clause
// Communicators: which tags of UCP belong to one, and what it is called.
#ifndef VERITY_MPI_HANDLES_COMMS_H
#define VERITY_MPI_HANDLES_COMMS_H

#include <array>
#include <atomic>
#include <set>
#include <string>

#include "mpi/handles/handle_table.h"
#include "mpi/process/mpi_api.h"
#include "mpi/ucp/attach.h"

namespace verity::mpi {

struct CommInfo : HandleInfo<MPI_Comm> {
  TagFilter filter;          // of what is received
  TagFilter sent;            // of what is sent
  TagFilter of_collectives;  // of what its collective operations send
  bool two_groups = false;   // an intercommunicator
  // No other communicator has it, be it kept in the same place later.
  std::atomic<uint32_t> serial{0};
  CommInfo* next_free = nullptr;

  void clear() noexcept { filter = sent = of_collectives = {}; }

 private:
  friend struct CommNames;
  std::array<char, MPI_MAX_OBJECT_NAME + 1>
      name_{};  // as it was when first seen, or when it was named
};
using CommTable = HandleTable<MPI_Comm, CommInfo>;
using CommRef = CommTable::Ref;

// Of a communicator that is in use; nullptr for what is none, while it is ending, or when there is
// no memory. At first sight it is probed once (MPI_Iprobe), to learn its tags. Valid until
// forget_comm(). Throws what the program's error handler does where it is none.
[[nodiscard]] CommInfo* first_sight_of_comm(MPI_Comm comm);
[[nodiscard]] inline CommInfo* find_comm(MPI_Comm comm) {
  CommInfo* known = CommTable::recall(comm);
  return known != nullptr ? known : first_sight_of_comm(comm);
}
// Whether it is one, not MPI_COMM_NULL. Calls MPI, which calls the program's error handler if not.
[[nodiscard]] bool is_comm(MPI_Comm comm);
// The tags of a communicator that is in use, of which nothing may be kept. Calls MPI, and throws as
// above.
[[nodiscard]] TagFilter probe_tags(MPI_Comm comm);
// There was no memory for one: what this process counts of it is not what others count, nor does
// what ended with it. For good.
[[nodiscard]] bool lost_a_comm() noexcept;
// Before MPI_Comm_free or MPI_Comm_disconnect. Waits while another thread is in an error handler of
// the communicator, a second at most: the handler may wait for this thread.
void forget_comm(MPI_Comm comm) noexcept;
// It gets another name; other threads may be using it.
void rename_comm(MPI_Comm comm, const char* name) noexcept;
[[nodiscard]] std::string name_of(const CommInfo& comm);

// The handle while the communicator is the same one as when `info` was made; else MPI_COMM_NULL.
[[nodiscard]] MPI_Comm live_handle(const CommInfo& info) noexcept;
// Calls the communicator's error handler, or that of MPI_COMM_WORLD where the program has freed it.
// Throws what the handler throws.
void call_errhandler(const CommInfo& info, int error);
// The thread has left its error handlers without returning from them.
void leave_errhandlers() noexcept;
// The process (process/this_process.h) of a rank of the communicator with that serial, which `info`
// was made for (of the other group, when that has two); -1: not known, as of another world or of a
// communicator that the program has freed since, as it may while sends are under way. Calls MPI.
[[nodiscard]] int to_world_rank(const CommInfo& info, uint32_t serial, int rank) noexcept;
// The ranks that send to `rank`, this process's, in neighbourhood collectives. Calls MPI. May throw
// std::bad_alloc.
[[nodiscard]] std::set<uint32_t> sources_of(MPI_Comm comm, int rank);
// to_world_rank() for a rank of a window.
[[nodiscard]] int window_rank_to_world(MPI_Win window, int rank) noexcept;

}  // namespace verity::mpi

#endif
