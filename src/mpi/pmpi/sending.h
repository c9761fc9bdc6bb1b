// SPDX-License-Identifier: BSD-3-Clause
// What an MPI call sends, armed while the call lasts.
#pragma once

#include "mpi/pmpi/call.h"
#include "mpi/handles/comms.h"
#include "mpi/process/state.h"
#include "mpi/handles/types.h"

namespace verity::mpi {

// Which call sent, in the record's family: tells it at the receiver. On the wire: the numbers stay.
enum SendFamily : uint8_t {
  kUnknownFamily = 0,
  kSend = 1,
  kIsend = 2,
  kSsend = 3,
  kIssend = 4,
  kRsend = 5,
  kIrsend = 6,
  kBsend = 7,
  kIbsend = 8,
  kSendrecv = 9,
  kSendrecvReplace = 10,
  kIsendrecv = 11,
  kSendInit = 12,
  kPsendInit = 13,
  kOtherSendInit = 14,
};
inline constexpr const char* kFamilies[] = {"a send",    "MPI_Send",   "MPI_Isend",    "MPI_Ssend",            "MPI_Issend",
                                            "MPI_Rsend", "MPI_Irsend", "MPI_Bsend",    "MPI_Ibsend",           "MPI_Sendrecv",
                                            "MPI_Sendrecv_replace",    "MPI_Isendrecv", "MPI_Send_init",
                                            "MPI_Psend_init",          "MPI_Bsend_init, MPI_Ssend_init or MPI_Rsend_init"};
[[nodiscard]] const char* family_name(uint8_t family) noexcept;

// A message's datatype, as an MPI call names it.
struct Buffer {
  MPI_Count count;
  MPI_Datatype datatype;
  const void* address = nullptr;  // where it is looked at
};

// Writes the signature of `count` copies to `out`, which holds kMaxSignature bytes, of at most `room` bytes; returns its length, 0 when
// the type is not checkable.
[[nodiscard]] size_t write_signature(TypeInfo& type, MPI_Count count, uint64_t site, uint8_t family, uint8_t* out,
                                     size_t room = kMaxSignature) noexcept;

// A buffer of a type that is known.
struct Data {
  const void* address;
  MPI_Count count;
  bool digested = true;  // where digests are wanted
};

// A communicator whose messages are looked at, and a datatype.
struct About {
  CommInfo* comm = nullptr;  // nullptr: it is not, or nothing is known of one
  TypeInfo* type = nullptr;
};
// 0: as the last call from there had it. (Differences, so that several of them are one branch.)
[[nodiscard, gnu::always_inline]] inline uint64_t differs(const Remembered& last, MPI_Comm comm, MPI_Datatype datatype) noexcept {
  return (last.comm_handle ^ (uintptr_t)comm) | (last.type_handle ^ (uintptr_t)datatype) |
         (last.generation ^ handle_generation.load(std::memory_order_acquire));
}
[[nodiscard, gnu::always_inline]] inline About about_of(const Remembered& last) noexcept {
  return {static_cast<CommInfo*>(last.comm), static_cast<TypeInfo*>(last.type)};
}
// Finds out, and has it remembered. `count`, `peer`: a call with a bad one, or to nobody, is about nothing.
[[nodiscard]] About find_out(Remembered* last, MPI_Count count, MPI_Datatype datatype, int peer, MPI_Comm comm) noexcept;

// Arms a send for the time of the call that makes it; nothing where its messages are not looked at. This is for one that is not like the
// last one from there.
[[gnu::noinline]] void arm_other_send(KnownSite* known, Data data, MPI_Datatype datatype, int dest, SendFamily family,
                                      MPI_Comm comm) noexcept;

// (In the wrapper itself, whose arguments so stay in their registers.) A place in the program calls one function, but a pointer may be
// what it calls.
[[gnu::always_inline]] inline void arm_send(KnownSite* known, const void* address, MPI_Count count, MPI_Datatype datatype, int dest,
                                            SendFamily family, MPI_Comm comm) noexcept {
  if (known == nullptr || dest == MPI_PROC_NULL ||
      (differs(known->sent.about, comm, datatype) | (known->sent.copies ^ static_cast<uint64_t>(count)) |
       ((uintptr_t)known->sent.arm.caller.call ^ (uintptr_t)kFamilies[family])) != 0) [[unlikely]] {
    return arm_other_send(known, {address, count}, datatype, dest, family, comm);
  }
  known->sent.arm.caller.peer = dest;
  armed.send = &known->sent.arm;
}

class Sending {
 public:
  // (No structs: the call comes a few instructions after they would be made.)
  [[gnu::always_inline]] Sending(const Call& call, SendFamily family, const void* address, MPI_Count count, MPI_Datatype datatype,
                                 int dest, MPI_Comm comm) noexcept {
    arm_send(call.known(), address, count, datatype, dest, family, comm);
  }
  // Of a request made earlier: the type and the communicator may be freed by now.
  Sending(SendFamily family, TypeInfo& type, Data data, const CommInfo& comm, int dest, uint64_t site) noexcept;
  ~Sending() { armed.send = nullptr; }
  Sending(const Sending&) = delete;
  Sending& operator=(const Sending&) = delete;
};

}  // namespace verity::mpi
