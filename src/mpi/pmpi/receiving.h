// SPDX-License-Identifier: BSD-3-Clause
// What an MPI call receives, attached while the call lasts.
#ifndef VERITY_MPI_PMPI_RECEIVING_H
#define VERITY_MPI_PMPI_RECEIVING_H

#include "mpi/check/posted_receive.h"
#include "mpi/pmpi/sending.h"

namespace verity::mpi {

// Attaches a receive for the time of the call that posts it; nothing where its messages are not
// checked. This is for one that is not like the last one from there.
[[gnu::noinline]] void attach_receive_slow_path(KnownSite* known, const void* address,
                                                MPI_Count count, MPI_Datatype datatype,
                                                Envelope envelope, MPI_Comm comm);

// (In the wrapper itself, whose arguments so stay in their registers.)
[[gnu::always_inline]] inline void attach_receive(KnownSite* known, const void* address,
                                                  MPI_Count count, MPI_Datatype datatype,
                                                  int source, int tag, MPI_Comm comm) {
  PostedReceive* receive = thread.free_receives.first;
  if (known == nullptr || differs(known->received, comm, datatype) != 0 || receive == nullptr ||
      source == MPI_PROC_NULL || count < 0) [[unlikely]] {
    return attach_receive_slow_path(known, address, count, datatype, {source, tag}, comm);
  }
  const About about = about_of(known->received);
  PostedReceive::take_first();
  receive->begin(about.type, count, about.comm, {source, tag}, thread.site, thread.name);
  attachments.receive.filter = &about.comm->filter;
  attachments.receive.receive = receive;
}

class Receiving {
 public:
  [[gnu::always_inline]] Receiving(const Call& call, const void* address, MPI_Count count,
                                   MPI_Datatype datatype, int source, int tag, MPI_Comm comm) {
    attach_receive(call.known(), address, count, datatype, source, tag, comm);
  }
  // Of a request made earlier.
  Receiving(TypeInfo* type, Data data, CommInfo* comm, Envelope envelope, uint64_t site,
            const char* call) noexcept;
  // It was not consumed: the call failed, or had nothing to receive from.
  ~Receiving() {
    if (attachments.receive.receive != nullptr) [[unlikely]]
      give_up();
  }
  Receiving(const Receiving&) = delete;
  Receiving& operator=(const Receiving&) = delete;

 private:
  [[gnu::cold]] static void give_up() noexcept;
};

}  // namespace verity::mpi

#endif
