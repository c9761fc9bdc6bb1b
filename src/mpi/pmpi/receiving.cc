// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/pmpi/receiving.h"

#include <utility>

namespace verity::mpi {

namespace {

void attach(TypeInfo* type, const void* address, MPI_Count count, bool digested, CommInfo* comm,
            Envelope envelope, uint64_t site, const char* call) noexcept {
  if (comm->filter.mask == 0) return;
  PostedReceive* receive = PostedReceive::make(type, count, comm, envelope, site, call);
  if (receive == nullptr) return;
  if (digested) receive->want_data(address);
  attachments.receive.filter = &comm->filter;
  attachments.receive.receive = receive;
}

}  // namespace

void attach_receive_slow_path(KnownSite* known, const void* address, MPI_Count count,
                              MPI_Datatype datatype, Envelope envelope, MPI_Comm comm) {
  const About about = resolve_handles(known != nullptr ? &known->received : nullptr, count,
                                      datatype, envelope.source, comm);
  if (about.comm == nullptr || about.comm->filter.mask == 0) return;
  // Where the handle is one that another thread is freeing, too, the message counts all the same.
  const TypeRef ending = about.type != nullptr ? TypeRef() : ending_type(datatype);
  TypeInfo* const type = ending ? &*ending : about.type;
  if (type != nullptr)
    attach(type, address, count, settings().digest, about.comm, envelope, thread.site, thread.name);
}

Receiving::Receiving(TypeInfo* type, Data data, CommInfo* comm, Envelope envelope, uint64_t site,
                     const char* call) noexcept {
  attach(type, data.address, data.count, settings().digest && data.digested, comm, envelope, site,
         call);
}

void Receiving::give_up() noexcept {
  std::exchange(attachments.receive.receive, nullptr)->dropped();
}

}  // namespace verity::mpi
