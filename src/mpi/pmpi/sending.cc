// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/pmpi/sending.h"

#include <cstring>
#include <new>
#include <utility>

#include "mpi/digest/digest.h"
#include "mpi/process/state.h"
#include "util/words.h"

namespace verity::mpi {

thread_local constinit Thread thread __attribute__((tls_model("initial-exec")));
constinit thread_local OtherSend other_send __attribute__((tls_model("initial-exec"))) = {};

void abandon_calls() noexcept {
  Receive* receive = armed.receive.receive;  // not taken; what the others point to went with its frame
  armed = {};
  if (receive != nullptr) receive->dropped();
  thread.depth = 0;
}

const Unusual* enter_unusual(const char* name, const void* return_address, const void* frame_end, void* room) noexcept {
  // What the call around it is armed with lies with its site.
  const Site from = site_of(return_address, frame_end, thread.depth != 0 ? thread.site : 0);
  const uint64_t outer_site = thread.site;
  const char* const outer_name = thread.name;
  const int around = enter_call(frame_end);
  if (around == 0 || thread.site == 0) {
    thread.site = from.id;
    thread.name = name;
  }
  if (around == 0 && !from.library) return nullptr;
  const bool saved = around != 0 && !from.library;
  auto* const call = new (room) Unusual{around, outer_site, outer_name, from.library, saved, {}, {}};
  if (saved) {
    call->armed = std::exchange(armed, {});
    call->send = other_send;
  }
  return call;
}

void leave_unusual(const Unusual& call) noexcept {
  thread.depth = call.around;
  thread.site = call.site;
  thread.name = call.name;
  if (!call.saved) return;
  armed = call.armed;
  other_send = call.send;
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

// In words, as write_signature() writes them.
void set_signature(const TypeInfo& type, const signature::Record& record, SendFamily family, uint64_t site, SendArm* arm) noexcept {
  static_assert(sizeof(arm->head) == sizeof(record) && kMaxTypeDescription == kMaxSignature - sizeof(record));
  const uint8_t description = type.description_length;
  signature::write_words(record, site, static_cast<uint32_t>(world_rank()), family, description, arm->head);
  arm->tail = type.description;
  arm->length = sizeof(record) + description;
}

// To other_send, which is armed.
void add_digest(TypeInfo& type, Data data, SendFamily family, uint64_t site) noexcept {
  const auto bytes = type.digestible(static_cast<uint64_t>(data.count));
  auto& [arm, digested] = other_send;
  if (arm.length == 0 || bytes == 0) return;
  const size_t length = write_signature(type, data.count, site, family, digested, kMaxSignature - kDigestSize);
  arm.length = append_digest(digested, length, digest_of(type.layout, data.address, bytes), bytes);
  std::memcpy(arm.head, digested, sizeof(arm.head));
  arm.tail = digested + sizeof(arm.head);
}

// Precondition: the communicator's filter is known.
void arm_with(SendArm* arm, TypeInfo& type, MPI_Count count, const CommInfo& comm, int dest, SendFamily family, uint64_t site) noexcept {
  *arm = {.filter = &comm.filter, .caller = {.call = kFamilies[family], .site = site, .comm = &comm, .peer = dest}};
  armed.send = arm;
  if (!type.checkable) return;
  const auto copies = static_cast<uint64_t>(count);
  if (const signature::Record* kept = type.kept(TypeInfo::kSent, copies)) return set_signature(type, *kept, family, site, arm);
  const signature::Record made = type.record(copies);
  type.keep(TypeInfo::kSent, copies, made);
  set_signature(type, made, family, site, arm);
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

void arm_other_send(KnownSite* known, Data data, MPI_Datatype datatype, int dest, SendFamily family, MPI_Comm comm) noexcept {
  RememberedSend* const sent = known != nullptr && !settings().digest ? &known->sent : nullptr;
  const bool is_same = sent != nullptr && dest != MPI_PROC_NULL && data.count >= 0 && differs(sent->about, comm, datatype) == 0;
  const About about = is_same ? about_of(sent->about) : find_out(sent != nullptr ? &sent->about : nullptr, data.count, datatype, dest, comm);
  if (about.comm == nullptr) return;
  arm_with(sent != nullptr ? &sent->arm : &other_send.arm, *about.type, data.count, *about.comm, dest, family, thread.site);
  if (sent != nullptr) sent->copies = static_cast<uint64_t>(data.count);
  if (settings().digest) add_digest(*about.type, data, family, thread.site);
}

Sending::Sending(SendFamily family, TypeInfo& type, Data data, const CommInfo& comm, int dest, uint64_t site) noexcept {
  if (comm.filter.mask == 0) return;
  arm_with(&other_send.arm, type, data.count, comm, dest, family, site);
  if (settings().digest) add_digest(type, data, family, site);
}

}  // namespace verity::mpi
