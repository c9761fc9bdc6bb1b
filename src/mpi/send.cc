// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/send.h"

#include <cstring>

#include "mpi/digest.h"
#include "mpi/state.h"

namespace verity::mpi {

thread_local constinit Thread thread __attribute__((tls_model("initial-exec")));

void abandon_calls() noexcept {
  Receive* receive = armed.receive.receive;  // not taken; what the others point to went with its frame
  armed = {};
  if (receive != nullptr) receive->dropped();
  thread.depth = 0;
}

const char* family_name(uint8_t family) noexcept {
  static const char* const kNames[] = {"a send",    "MPI_Send",   "MPI_Isend",    "MPI_Ssend",            "MPI_Issend",
                                       "MPI_Rsend", "MPI_Irsend", "MPI_Bsend",    "MPI_Ibsend",           "MPI_Sendrecv",
                                       "MPI_Sendrecv_replace",    "MPI_Isendrecv", "MPI_Start (a persistent send)"};
  return family < sizeof(kNames) / sizeof(kNames[0]) ? kNames[family] : kNames[0];
}

size_t write_signature(TypeInfo& type, MPI_Count count, uint64_t site, uint8_t family, uint8_t* out, size_t room) noexcept {
  if (!type.checkable || count < 0) return 0;
  signature::Record own;
  signature::Record record = type.record(static_cast<uint64_t>(count), &own);
  record.site = site;
  record.epoch = static_cast<uint32_t>(world_rank());
  signature::set_family(&record, family);
  if (type.description_length == 0) [[likely]] {
    std::memcpy(out, &record, sizeof(record));
    return sizeof(record);
  }
  return signature::write_record(record, {type.description, type.description_length}, out, room);
}

Sending::Sending(SendFamily family, Buffer buffer, int dest, MPI_Comm comm) noexcept {
  if (dest == MPI_PROC_NULL || buffer.count < 0 || !mpi_runs()) return;
  const CommInfo* known = find_comm(comm);
  TypeInfo* type = known != nullptr ? find_type(buffer.datatype) : nullptr;
  if (type != nullptr) arm(family, *type, {buffer.address, buffer.count}, *known, dest, thread.site);
}

namespace {

// A signature with the digest of the data, if there is one of them.
size_t write_digested(TypeInfo& type, Data data, uint64_t site, SendFamily family, uint8_t* out) noexcept {
  const size_t length = write_signature(type, data.count, site, family, out, kMaxSignature - kDigestSize);
  const auto bytes = type.digestible(static_cast<uint64_t>(data.count));
  if (length == 0 || bytes == 0) return length;
  return append_digest(out, length, digest_of(type.layout, data.address, bytes), bytes);
}

}  // namespace

void Sending::arm(SendFamily family, TypeInfo& type, Data data, const CommInfo& comm, int dest, uint64_t site) noexcept {
  if (comm.filter.mask == 0) return;
  armed.send.filter = comm.filter;
  armed.send.signature = bytes_;
  armed.send.length = settings().digest ? write_digested(type, data, site, family, bytes_)
                                        : write_signature(type, data.count, site, family, bytes_);
  armed.send.caller = {.call = family_name(family), .site = site, .comm = &comm, .peer = dest};
}

}  // namespace verity::mpi
