// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/send.h"

#include <cstring>

#include "mpi/digest.h"
#include "mpi/state.h"
#include "util/words.h"

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
                                       "MPI_Sendrecv_replace",    "MPI_Isendrecv", "MPI_Start (a persistent send)",
                                       "MPI_Psend_init"};
  return family < sizeof(kNames) / sizeof(kNames[0]) ? kNames[family] : kNames[0];
}

namespace {

inline size_t write(TypeInfo& type, MPI_Count count, uint64_t site, uint8_t family, uint8_t* out, size_t room) noexcept {
  if (!type.checkable || count < 0) return 0;
  signature::Record own;
  const signature::Record& record = type.record(static_cast<uint64_t>(count), &own);
  const size_t description = type.description_length <= room - sizeof(record) ? type.description_length : 0;
  signature::write_words(record, site, static_cast<uint32_t>(world_rank()), family, static_cast<uint8_t>(description), out);
  // In whole words: there is room for these in both places.
  static_assert(kMaxTypeDescription % util::kWord == 0);
  for (size_t at = 0; at < description; at += util::kWord) {
    util::write_word(out, sizeof(record) + at, util::read_word(type.description, at));
  }
  return sizeof(record) + description;
}

}  // namespace

size_t write_signature(TypeInfo& type, MPI_Count count, uint64_t site, uint8_t family, uint8_t* out, size_t room) noexcept {
  return write(type, count, site, family, out, room);
}

Sending::Sending(SendFamily family, const void* address, MPI_Count count, MPI_Datatype datatype, int dest, MPI_Comm comm) noexcept {
  if (dest == MPI_PROC_NULL || count < 0 || !mpi_runs()) return;
  const CommInfo* known = find_comm(comm);
  TypeInfo* type = known != nullptr ? find_type(datatype) : nullptr;
  if (type != nullptr) arm(family, *type, address, count, *known, dest, thread.site);
}

Sending::Sending(SendFamily family, TypeInfo& type, Data data, const CommInfo& comm, int dest, uint64_t site) noexcept {
  arm(family, type, data.address, data.count, comm, dest, site);
}

namespace {

// A signature with the digest of the data, if there is one of them.
size_t write_digested(TypeInfo& type, const void* address, MPI_Count count, uint64_t site, SendFamily family, uint8_t* out) noexcept {
  const size_t length = write_signature(type, count, site, family, out, kMaxSignature - kDigestSize);
  const auto bytes = type.digestible(static_cast<uint64_t>(count));
  if (length == 0 || bytes == 0) return length;
  return append_digest(out, length, digest_of(type.layout, address, bytes), bytes);
}

}  // namespace

inline void Sending::arm(SendFamily family, TypeInfo& type, const void* address, MPI_Count count, const CommInfo& comm, int dest,
                         uint64_t site) noexcept {
  if (comm.filter.mask == 0) return;
  SendArm& send = armed.send;
  send.filter = comm.filter;
  send.signature = bytes_;
  send.length = settings().digest ? write_digested(type, address, count, site, family, bytes_)
                                  : write(type, count, site, family, bytes_, kMaxSignature);
  send.caller.call = family_name(family);
  send.caller.site = site;
  send.caller.comm = &comm;
  send.caller.peer = dest;
}

}  // namespace verity::mpi
