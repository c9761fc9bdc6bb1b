// SPDX-License-Identifier: BSD-3-Clause
// What an MPI call sends, armed while the call lasts.
#pragma once

#include "mpi/call.h"
#include "mpi/comms.h"
#include "mpi/state.h"
#include "mpi/types.h"

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
  kStart = 12,
  kPsendInit = 13,
};
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

// Arms a send for the time of the call that makes it; nothing where its messages are not looked at. (In the order of the arguments of
// MPI's own functions, in whose registers they are.)
void arm_send(const void* address, MPI_Count count, MPI_Datatype datatype, int dest, SendFamily family, MPI_Comm comm) noexcept;

class Sending {
 public:
  // (No structs: the call comes a few instructions after they would be made.)
  Sending(SendFamily family, const void* address, MPI_Count count, MPI_Datatype datatype, int dest, MPI_Comm comm) noexcept {
    arm_send(address, count, datatype, dest, family, comm);
    if (armed.send.length != 0 && settings().digest) [[unlikely]] add_digest(*find_type(datatype), address, count, family, thread.site);
  }
  // Of a request made earlier: the type and the communicator may be freed by now.
  Sending(SendFamily family, TypeInfo& type, Data data, const CommInfo& comm, int dest, uint64_t site) noexcept;
  ~Sending() {
    armed.send.length = 0;
    armed.send.caller.call = nullptr;
  }
  Sending(const Sending&) = delete;
  Sending& operator=(const Sending&) = delete;

 private:
  void add_digest(TypeInfo& type, const void* address, MPI_Count count, SendFamily family, uint64_t site) noexcept;

  uint8_t bytes_[kMaxSignature];  // where there is a digest; a call within this call has its own
};

}  // namespace verity::mpi
