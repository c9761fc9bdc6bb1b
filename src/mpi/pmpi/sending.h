// SPDX-License-Identifier: BSD-3-Clause
// What an MPI call sends, attached while the call lasts.
#ifndef VERITY_MPI_PMPI_SENDING_H
#define VERITY_MPI_PMPI_SENDING_H

#include "mpi/check/send_family.h"
#include "mpi/handles/buffer.h"
#include "mpi/handles/comms.h"
#include "mpi/handles/types.h"
#include "mpi/pmpi/call.h"

namespace verity::mpi {

// A communicator and a datatype; nullptr: nothing is known of one.
struct About {
  CommInfo* comm = nullptr;
  TypeInfo* type = nullptr;  // not looked up where the communicator's messages are not checked
};
// 0: as the last call from there had it. (Differences, so that several of them are one branch.)
[[nodiscard, gnu::always_inline]] inline uint64_t differs(const CachedHandles& last, MPI_Comm comm,
                                                          MPI_Datatype datatype) noexcept {
  return (last.comm_handle ^ (uintptr_t)comm) | (last.type_handle ^ (uintptr_t)datatype) |
         (last.generation ^ this_process.handle_generation.load(std::memory_order_acquire));
}
[[nodiscard, gnu::always_inline]] inline About about_of(const CachedHandles& last) noexcept {
  return {static_cast<CommInfo*>(last.comm), static_cast<TypeInfo*>(last.type)};
}
// Looks both handles up, and caches the result. `count`, `peer`: a call with a bad one, or with
// MPI_PROC_NULL, is about nothing. A datatype that is ending is not known, see ending_type().
// Throws what find_comm() does.
[[nodiscard]] About resolve_handles(CachedHandles* last, MPI_Count count, MPI_Datatype datatype,
                                    int peer, MPI_Comm comm);

// Attaches a send for the time of the call that makes it; nothing where its messages are not
// checked. This is for one that is not like the last one from there.
[[gnu::noinline]] void attach_send_slow_path(KnownSite* known, Data data, MPI_Datatype datatype,
                                             int dest, SendFamily family, MPI_Comm comm);

// (In the wrapper itself, whose arguments so stay in their registers.) A place in the program calls
// one function, but a pointer may be what it calls.
[[gnu::always_inline]] inline void attach_send(KnownSite* known, const void* address,
                                               MPI_Count count, MPI_Datatype datatype, int dest,
                                               SendFamily family, MPI_Comm comm) {
  if (known == nullptr || dest == MPI_PROC_NULL ||
      (differs(known->sent.about, comm, datatype) |
       (known->sent.copies ^ static_cast<uint64_t>(count)) |
       ((uintptr_t)known->sent.attachment.caller.call ^ (uintptr_t)kFamilies[family])) != 0)
      [[unlikely]] {
    return attach_send_slow_path(known, {address, count}, datatype, dest, family, comm);
  }
  known->sent.attachment.caller.peer = dest;
  attachments.send = &known->sent.attachment;
}

class Sending {
 public:
  // (No structs: the call comes a few instructions after they would be made.)
  [[gnu::always_inline]] Sending(const Call& call, SendFamily family, const void* address,
                                 MPI_Count count, MPI_Datatype datatype, int dest, MPI_Comm comm) {
    attach_send(call.known(), address, count, datatype, dest, family, comm);
  }
  // Of a request made earlier: the type and the communicator may be freed by now.
  Sending(SendFamily family, TypeInfo& type, Data data, const CommInfo& comm, int dest,
          uint64_t site) noexcept;
  ~Sending() { attachments.send = nullptr; }
  Sending(const Sending&) = delete;
  Sending& operator=(const Sending&) = delete;
};

}  // namespace verity::mpi

#endif
