// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/pmpi/sending.h"

#include <cstring>
#include <utility>

#include "mpi/digest/digest.h"
#include "util/words.h"

namespace verity::mpi {

namespace {

// In words, as write_signature() writes them.
void set_signature(const TypeInfo& type, const signature::Record& record, SendFamily family,
                   uint64_t site, SendAttachment* attachment) noexcept {
  static_assert(sizeof(attachment->head) == sizeof(record) &&
                kMaxTypeDescription == kMaxSignature - sizeof(record));
  const uint8_t description = type.description_length;
  signature::write_words(record, site, static_cast<uint32_t>(process_number()), family, description,
                         attachment->head);
  attachment->tail = type.description;
  attachment->length = sizeof(record) + description;
}

// To thread.other_send, which is attached.
void add_digest(TypeInfo& type, Data data, SendFamily family, uint64_t site) noexcept {
  const auto bytes = type.digestible(static_cast<uint64_t>(data.count));
  auto& attachment = thread.other_send.attachment;
  uint8_t* const digested = thread.other_send.bytes;
  if (attachment.length == 0 || bytes == 0) return;
  if (!may_be_memory(type.layout, data.address, static_cast<uint64_t>(data.count))) return;
  const size_t length =
      write_signature(type, data.count, site, family, digested, kMaxSignature - kDigestSize);
  attachment.length =
      append_digest(digested, length, digest_of(type.layout, data.address, bytes), bytes);
  std::memcpy(attachment.head, digested, sizeof(attachment.head));
  attachment.tail = digested + sizeof(attachment.head);
}

// In front of the MPI call, which may refuse what lies nowhere.
void add_early_digest(TypeInfo& type, Data data, SendFamily family, uint64_t site) noexcept {
  if (can_be_read(type.layout, data.address, static_cast<uint64_t>(data.count)))
    add_digest(type, data, family, site);
}

void add_late_digest(LateAttachment& self) noexcept {
  const OtherSend& other = thread.other_send;
  add_digest(*static_cast<TypeInfo*>(other.type),
             {other.address, static_cast<MPI_Count>(other.copies)},
             static_cast<SendFamily>(other.family), self.caller.site);
}

// The same when MPI sends: it may refuse the call, and nothing be where its data would lie. But
// calls that receive into the buffer that they send from may have received before.
void want_digest(TypeInfo& type, Data data, SendFamily family, uint64_t site) noexcept {
  static constexpr TagFilter kNone;
  attachments.late = nullptr;
  if (family == kSendrecvReplace || family == kIsendrecv)
    return add_early_digest(type, data, family, site);
  auto& [attachment, bytes, digested_type, address, copies, digested_family] = thread.other_send;
  digested_type = &type;
  address = data.address;
  copies = static_cast<uint64_t>(data.count);
  digested_family = family;
  attachment.tags = std::exchange(attachment.filter, &kNone);
  attachment.begins = add_late_digest;
  attachments.late = &attachment;
}

// Precondition: the communicator's filter is known.
void attach(SendAttachment* attachment, TypeInfo& type, MPI_Count count, const CommInfo& comm,
            int dest, SendFamily family, uint64_t site) noexcept {
  *attachment = {.filter = &comm.sent,
                 .caller = {.call = kFamilies[family],
                            .site = site,
                            .comm = &comm,
                            .comm_serial = comm.serial.load(std::memory_order_relaxed),
                            .peer = dest}};
  attachments.send = attachment;
  if (!type.checkable) return;
  const auto copies = static_cast<uint64_t>(count);
  if (const signature::Record* kept = type.kept(TypeInfo::kSent, copies))
    return set_signature(type, *kept, family, site, attachment);
  const signature::Record made = type.record(copies);
  type.keep(TypeInfo::kSent, copies, made);
  set_signature(type, made, family, site, attachment);
}

// Where the handle is one that another thread is freeing, the message has a signature all the same.
// What is known of the type goes with this function: its part of the signature is copied.
void attach_ending(Data data, MPI_Datatype datatype, const CommInfo& comm, int dest,
                   SendFamily family) {
  const TypeRef type = ending_type(datatype);
  if (!type) return;
  auto& attachment = thread.other_send.attachment;
  uint8_t* const bytes = thread.other_send.bytes;
  attach(&attachment, *type, data.count, comm, dest, family, thread.site);
  attachments.late = nullptr;
  if (settings().digest) add_early_digest(*type, data, family, thread.site);
  uint8_t* const tail = bytes + sizeof(attachment.head);
  if (attachment.length == 0 || attachment.tail == tail) return;
  std::memcpy(tail, attachment.tail, attachment.length - sizeof(attachment.head));
  attachment.tail = tail;
}

// MPICH's messages in a communicator of one process, which is their sender and their receiver.
[[nodiscard]] bool passes_ucx(const CommInfo& comm) noexcept {
  if (comm.filter.mask != 0) return true;
  count_unchecked(Unchecked::kPastUcx);
  return false;
}

}  // namespace

About resolve_handles(CachedHandles* last, MPI_Count count, MPI_Datatype datatype, int peer,
                      MPI_Comm comm) {
  if (peer == MPI_PROC_NULL || count < 0 || !mpi_runs()) return {};
  // Before the look-up: what is freed meanwhile is not remembered.
  const uint64_t generation = this_process.handle_generation.load(std::memory_order_acquire);
  CommInfo* known = find_comm(comm);
  if (known == nullptr || known->filter.mask == 0) return {known, nullptr};
  TypeInfo* type = find_type(datatype);
  if (type == nullptr) return {known, nullptr};
  if (last != nullptr && !settings().digest)
    *last = {generation, (uintptr_t)comm, (uintptr_t)datatype, known, type};
  return {known, type};
}

void attach_send_slow_path(KnownSite* known, Data data, MPI_Datatype datatype, int dest,
                           SendFamily family, MPI_Comm comm) {
  CachedSend* const sent = known != nullptr && !settings().digest ? &known->sent : nullptr;
  const bool is_same = sent != nullptr && dest != MPI_PROC_NULL && data.count >= 0 &&
                       differs(sent->about, comm, datatype) == 0;
  CachedHandles* const last = sent != nullptr ? &sent->about : nullptr;
  const About about =
      is_same ? about_of(*last) : resolve_handles(last, data.count, datatype, dest, comm);
  if (about.comm == nullptr) return;
  if (about.type == nullptr) {
    if (passes_ucx(*about.comm)) attach_ending(data, datatype, *about.comm, dest, family);
    return;
  }
  SendAttachment* const attachment =
      sent != nullptr ? &sent->attachment : &thread.other_send.attachment;
  attach(attachment, *about.type, data.count, *about.comm, dest, family, thread.site);
  if (sent != nullptr) sent->copies = static_cast<uint64_t>(data.count);
  if (settings().digest) want_digest(*about.type, data, family, thread.site);
}

Sending::Sending(SendFamily family, TypeInfo& type, Data data, const CommInfo& comm, int dest,
                 uint64_t site) noexcept {
  if (!passes_ucx(comm)) return;
  attach(&thread.other_send.attachment, type, data.count, comm, dest, family, site);
  if (settings().digest) want_digest(type, data, family, site);
}

}  // namespace verity::mpi
