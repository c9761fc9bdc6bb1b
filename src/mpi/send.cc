// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/send.h"

#include <cstring>
#include <new>
#include <utility>

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

const Unusual* enter_unusual(const char* name, const void* return_address, const void* frame_end, void* room) noexcept {
  const Site from = site_of(return_address, frame_end);
  const int around = enter_call(frame_end);
  if (around == 0 || thread.site == 0) {
    thread.site = from.id;
    thread.name = name;
  }
  if (around == 0 && !from.library) return nullptr;
  const bool saved = around != 0 && !from.library;
  return new (room) Unusual{around, from.library, saved, saved ? std::exchange(armed, {}) : Armed()};
}

void leave_unusual(const Unusual& call) noexcept {
  thread.depth = call.around;
  if (call.saved) armed = call.armed;
}

const char* family_name(uint8_t family) noexcept {
  return family < sizeof(kFamilies) / sizeof(kFamilies[0]) ? kFamilies[family] : kFamilies[0];
}

size_t write_signature(TypeInfo& type, MPI_Count count, uint64_t site, uint8_t family, uint8_t* out, size_t room) noexcept {
  if (!type.checkable || count < 0) return 0;
  const signature::Record record = type.record(static_cast<uint64_t>(count));
  const size_t description = type.description_length <= room - sizeof(record) ? type.description_length : 0;
  signature::write_words(record, site, static_cast<uint32_t>(world_rank()), family, static_cast<uint8_t>(description), out);
  if (description != 0) std::memcpy(out + sizeof(record), type.description, description);
  return sizeof(record) + description;
}

namespace {

void arm_otherwise(TypeInfo& type, MPI_Count count, const CommInfo& comm, int dest, SendFamily family, uint64_t site) noexcept {
  if (comm.filter.mask == 0) return;
  arm_caller(comm, dest, family, site);
  if (!type.checkable) return;
  const auto copies = static_cast<uint64_t>(count);
  const signature::Record* kept = type.kept(TypeInfo::kSent, copies);
  if (kept != nullptr) return arm_signature(type, *kept, family, site);
  const signature::Record made = type.record(copies);
  type.keep(TypeInfo::kSent, copies, made);
  arm_signature(type, made, family, site);
}

}  // namespace

About find_out(Remembered* last, MPI_Count count, MPI_Datatype datatype, int peer, MPI_Comm comm) noexcept {
  if (peer == MPI_PROC_NULL || count < 0 || !mpi_runs()) return {};
  // Before the look: what is freed meanwhile is not remembered.
  const uint64_t generation = handle_generation.load(std::memory_order_acquire);
  CommInfo* known = find_comm(comm);
  TypeInfo* type = known != nullptr && known->filter.mask != 0 ? find_type(datatype) : nullptr;
  if (type == nullptr) return {};
  if (last != nullptr && !settings().digest) *last = {generation, (uintptr_t)comm, (uintptr_t)datatype, known, type};
  return {known, type};
}

void arm_other_send(Remembered* last, MPI_Count count, MPI_Datatype datatype, int dest, SendFamily family, MPI_Comm comm) noexcept {
  const About about = find_out(last, count, datatype, dest, comm);
  if (about.comm != nullptr) arm_otherwise(*about.type, count, *about.comm, dest, family, thread.site);
}

Sending::Sending(SendFamily family, TypeInfo& type, Data data, const CommInfo& comm, int dest, uint64_t site) noexcept {
  arm_otherwise(type, data.count, comm, dest, family, site);
  if (settings().digest) add_digest(type, data.address, data.count, family, site);
}

void Sending::add_digest(TypeInfo& type, const void* address, MPI_Count count, SendFamily family, uint64_t site) noexcept {
  const auto bytes = type.digestible(static_cast<uint64_t>(count));
  if (armed.send.length == 0 || bytes == 0) return;
  const size_t length = write_signature(type, count, site, family, bytes_, kMaxSignature - kDigestSize);
  armed.send.length = append_digest(bytes_, length, digest_of(type.layout, address, bytes), bytes);
  std::memcpy(armed.send.head, bytes_, sizeof(armed.send.head));
  armed.send.tail = bytes_ + sizeof(armed.send.head);
}

}  // namespace verity::mpi
