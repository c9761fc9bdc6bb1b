// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/pmpi/receiving.h"

#include <utility>

namespace verity::mpi {

namespace {

void arm_otherwise(TypeInfo* type, const void* address, MPI_Count count, bool digested,
                   CommInfo* comm, Envelope envelope, uint64_t site, const char* call) noexcept {
  if (comm->filter.mask == 0) return;
  PostedReceive* receive = PostedReceive::make(type, count, comm, envelope, site, call);
  if (receive == nullptr) return;
  if (digested) receive->want_data(address);
  armed.receive.filter = &comm->filter;
  armed.receive.receive = receive;
}

}  // namespace

void arm_other_receive(KnownSite* known, const void* address, MPI_Count count,
                       MPI_Datatype datatype, Envelope envelope, MPI_Comm comm) noexcept {
  const About about = find_out(known != nullptr ? &known->received : nullptr, count, datatype,
                               envelope.source, comm);
  if (about.comm != nullptr)
    arm_otherwise(about.type, address, count, settings().digest, about.comm, envelope, thread.site,
                  thread.name);
}

Receiving::Receiving(TypeInfo* type, Data data, CommInfo* comm, Envelope envelope, uint64_t site,
                     const char* call) noexcept {
  arm_otherwise(type, data.address, data.count, settings().digest && data.digested, comm, envelope,
                site, call);
}

void Receiving::give_up() noexcept { std::exchange(armed.receive.receive, nullptr)->dropped(); }

}  // namespace verity::mpi
