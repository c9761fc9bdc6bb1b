// SPDX-License-Identifier: BSD-3-Clause
// Sending: upper operations become frames in slots, frames go to the lower endpoint.
#include "uct/compat/ucp_ids.h"
#include "uct/messages/checks.h"
#include "uct/iface/verity_ep.h"
#include "uct/memory/verity_md.h"

namespace verity::uct {

namespace {

// A bcopy of unknown size is packed into a large slot; a short one is moved to a small slot, so that
// many messages in flight stay in the cache.
constexpr size_t kMoveUpTo = 448;

// From here on the hash is made while the frame is copied to the lower transport's buffer.
constexpr size_t kFuseFrom = 512;

// Of an unframed zero-copy send: no transport takes more.
constexpr size_t kMostPieces = 128;

// No room in the window, no link any more, or a link in mode off.
ucs_status_t refusal(const UctLink& l) noexcept {
  if (l.failed) return l.failure;
  return UCS_ERR_NO_RESOURCE;
}

// The peer has closed its interface: nobody is left to receive, as on a lower transport that keeps
// no connection.
bool nobody_there(const UctLink& l) noexcept { return l.peer_gone && !l.failed; }
bool unframed(const UctLink& l) noexcept { return l.mode == link::Mode::kOff && !l.failed; }

size_t iov_length(const uct_iov_t& iov) noexcept { return iov.length * iov.count; }

size_t iov_total(const uct_iov_t* iov, size_t count) noexcept {
  size_t total = 0;
  for (size_t i = 0; i < count; ++i) total += iov_length(iov[i]);
  return total;
}

void copy_iov(uint8_t* out, const uct_iov_t* iov, size_t count) noexcept {
  for (size_t i = 0; i < count; ++i) {
    const size_t length = iov_length(iov[i]);
    if (length == 0) continue;
    std::memcpy(out, iov[i].buffer, length);
    out += length;
  }
}

// Adds the user's buffers to the source. False: too many pieces.
bool add_pieces(link::Source& source, const uct_iov_t* iov, size_t count) noexcept {
  for (size_t i = 0; i < count; ++i) {
    const size_t length = iov_length(iov[i]);
    if (length == 0) continue;
    if (iov[i].count > 1 && iov[i].stride != 0 && iov[i].stride != iov[i].length) return false;
    if (source.count == link::kMaxSourcePieces) return false;
    source.handles[source.count] = VerityMd::lower_handle(iov[i].memh);
    source.pieces[source.count++] = {iov[i].buffer, length};
  }
  return true;
}

ZcopyState& zcopy_of(link::Slot& slot) noexcept {
  return *reinterpret_cast<ZcopyState*>(slot.source->port);
}

void lower_zcopy_done(uct_completion_t* comp) noexcept {
  auto* state = reinterpret_cast<ZcopyState*>(comp);
  if (comp->status != UCS_OK && state->status == UCS_OK) state->status = comp->status;
  const AsyncGuard guard(*state->link->iface);
  state->link->iface->hub().source_sent(*state->link, *state->slot);
}

// Sends a zero-copy frame: the header with the upper one behind it, the user's pieces, the HELLO. UCS_OK: the lower
// transport is done with the pieces; UCS_INPROGRESS: it will say so.
ucs_status_t lower_zcopy(UctLink& l, wire::Class c, link::Slot& slot) noexcept {
  link::Source& source = *slot.source;
  uct_iov_t iov[link::kMaxSourcePieces + 1];
  size_t count = 0;
  for (uint32_t i = 1; i < source.count; ++i) {
    iov[count++] = {const_cast<void*>(source.pieces[i].data), source.pieces[i].length,
                    source.handles[i], 0, 1};
  }
  if (source.hello.length != 0) {
    iov[count++] = {const_cast<void*>(source.hello.data), source.hello.length, UCT_MEM_HANDLE_NULL, 0, 1};
  }
  ZcopyState& state = zcopy_of(slot);
  state.lower = {lower_zcopy_done, 1, UCS_OK};
  source.sending = true;
  const auto header = static_cast<unsigned>(sizeof(wire::FrameHeader) + source.pieces[0].length);
  const ucs_status_t status = uct_ep_am_zcopy(l.lower.get(), wire::lower_id(c), slot.frame(),
                                              header, iov, count, 0, &state.lower);
  if (status == UCS_ERR_NO_RESOURCE) source.sending = false;
  return status;
}

}  // namespace

namespace {

// Where the upper layer's bytes lie, behind its header.
[[nodiscard]] const void* data_of(const uct_iov_t* iov, size_t count) noexcept { return count > 1 ? iov[1].buffer : nullptr; }

[[nodiscard]] bool may_trail(const UctLink& l, uint8_t id) noexcept { return ((l.trailed_ids >> id) & 1) != 0; }

// Room that a message may need behind it.
[[nodiscard]] size_t trailer_room(const UctLink& l, uint8_t id) noexcept {
  return may_trail(l, id) ? kTrailerRoom : 0;
}

// A frame on its way into a lower buffer. It is committed only there: when the lower transport has no room it does not ask for the
// bytes, the upper layer hears so, and nothing has happened. What returned UCS_OK needs no progress of the sender to arrive.
struct Launch {
  VerityIface* iface;
  UctLink* link;
  wire::Class c;
  link::Slot* slot;
  size_t length;  // of the payload in the slot, unless `pack` is to write it
  uint8_t id;
  uct_pack_callback_t pack;
  void* arg;
  bool compact;  // as the lower message id says, which is chosen before the length is known
  uint64_t serial;  // of the upper endpoint
  bool committed = false;  // the link has the slot

  // Lets the upper layer write the message at `out`. Nothing stops it from leaving then.
  void write(uint8_t* out) noexcept {
    length = pack(out, arg);
    if (!may_trail(*link, id)) [[likely]] return;
    const size_t trailer = append_trailer(iface->companion(), {serial, arg, nullptr, id}, out, length);
    if (trailer == 0) return;
    message_length = length;
    length += trailer;
    id = kTrailerId;
  }
  size_t message_length = 0;  // without the trailer, when there is one
  [[nodiscard]] ssize_t upper_length() const noexcept {
    return static_cast<ssize_t>(message_length != 0 ? message_length : length);
  }
};

// A small message in a large slot gets a small one, with the bytes that are in the large one already.
[[gnu::hot]] void fit_slot(Launch& launch, size_t bytes) noexcept {
  if (launch.length > kMoveUpTo) return;
  link::Hub& hub = launch.iface->hub();
  link::Slot* small = hub.reserve(*launch.link, launch.c, launch.length);
  if (small == nullptr) return;
  std::memcpy(small->payload(), launch.slot->payload(), bytes);
  hub.cancel(launch.slot);
  launch.slot = small;
}

// The payload is packed where the lower transport wants it, and copied from there: written while its
// lines are fetched from the peer's cache, read while they are in ours.
[[gnu::hot]] size_t pack_in_place(void* dest, Launch& launch) noexcept {
  launch.write(static_cast<uint8_t*>(dest) + wire::kCompactHeader);
  fit_slot(launch, 0);
  link::Hub& hub = launch.iface->hub();
  launch.committed = true;
  (void)hub.commit_open(*launch.link, launch.c, launch.slot, static_cast<uint32_t>(launch.length), launch.id);
  link::Hub::seal_in_place(*launch.link, launch.slot, dest);
  return launch.slot->size;
}

[[gnu::hot]] size_t pack_frame(void* dest, void* arg) noexcept {
  auto& launch = *static_cast<Launch*>(arg);
  if (launch.compact && launch.pack != nullptr) return pack_in_place(dest, launch);
  if (launch.pack != nullptr) {
    launch.write(launch.slot->payload());
    fit_slot(launch, launch.length);
  }
  link::Hub& hub = launch.iface->hub();
  UctLink& l = *launch.link;
  link::Slot* slot = launch.slot;
  launch.committed = true;
  const bool open = hub.commit_open(l, launch.c, slot, static_cast<uint32_t>(launch.length), launch.id,
                                   launch.compact);
  const size_t size = slot->size;
  if (open && launch.length >= kFuseFrom) {
    link::Hub::seal_copy(l, launch.c, slot, dest);
    return size;
  }
  if (open) link::Hub::seal(l, launch.c, slot);
  std::memcpy(dest, slot->frame(), size);
  return size;
}

}  // namespace

// The lower transport has no room for the slot's frame, which is given back.
ucs_status_t VerityIface::refused(UctLink& l, link::Slot* slot) noexcept {
  if (slot != nullptr) hub_->cancel(slot);
  l.lower_refused = true;
  return UCS_ERR_NO_RESOURCE;
}

// Sends the slot's frame through a buffer of the lower transport. The payload's length, or an error.
[[gnu::hot]] ssize_t VerityIface::launch_bcopy(UctLink& l, wire::Class c, link::Slot* slot, size_t length, uint8_t id,
                                  uct_pack_callback_t pack, void* arg, uint64_t serial) noexcept {
  const bool compact = hub_->will_be_compact(l, c, pack != nullptr ? max_bcopy_ + trailer_room(l, id) : length);
  Launch launch{this, &l, c, slot, length, id, pack, arg, compact, serial};
  const ssize_t sent = uct_ep_am_bcopy(l.lower.get(), compact ? kCompactId : wire::lower_id(c), pack_frame, &launch, 0);
  if (sent >= 0) [[likely]] {
    hub_->sent(l, c);
    return launch.upper_length();
  }
  if (sent == UCS_ERR_NO_RESOURCE) return refused(l, slot);
  // The lower transport failed before it asked for the bytes. Afterwards the frame is the link's, as one that was lost.
  if (!launch.committed) hub_->cancel(slot);
  return sent;
}

// The same through the lower transport's short send, where the frame fits.
[[gnu::hot]] ucs_status_t VerityIface::launch(UctLink& l, wire::Class c, link::Slot* slot, size_t length,
                                 uint8_t id) noexcept {
  const size_t header = hub_->will_be_compact(l, c, length) ? wire::kCompactHeader : sizeof(wire::FrameHeader);
  if (header + length > max_short_ || !l.plain) [[unlikely]] {
    const ssize_t sent = launch_bcopy(l, c, slot, length, id, nullptr, nullptr);
    return sent >= 0 ? UCS_OK : static_cast<ucs_status_t>(sent);
  }
  link::Slot* before = link::Hub::newest(l, c);
  hub_->commit(l, c, slot, static_cast<uint32_t>(length), id);
  uint64_t first;
  std::memcpy(&first, slot->frame(), sizeof(first));
  const ucs_status_t status =
      uct_ep_am_short(l.lower.get(), lower_id(*slot, c), first, slot->frame() + sizeof(first),
                      static_cast<unsigned>(slot->size - sizeof(first)));
  if (status == UCS_OK) [[likely]] {
    hub_->sent(l, c);
    return UCS_OK;
  }
  if (l.failed || l.peer_gone) return status;  // its frames went with it
  hub_->uncommit(l, c, slot, before, static_cast<uint32_t>(length));
  return status == UCS_ERR_NO_RESOURCE ? refused(l, nullptr) : status;
}

// The same for a message whose bytes are all in the slot, where there is room for a trailer if it may get one.
[[gnu::hot]] ucs_status_t VerityIface::launch_copied(UctLink& l, wire::Class c, link::Slot* slot, size_t length,
                                        const verity_leaving& leaving) noexcept {
  if (!may_trail(l, leaving.am_id)) [[likely]] return launch(l, c, slot, length, leaving.am_id);
  const size_t trailer = append_trailer(companion(), leaving, slot->payload(), length);
  const ucs_status_t status = launch(l, c, slot, length + trailer, trailer != 0 ? kTrailerId : leaving.am_id);
  if (status != UCS_OK) companion().stayed();
  return status;
}

namespace {

// Runs inside the lower transport's progress: sends what waits there, upper callbacks run later.
ucs_status_t lower_has_room(uct_pending_req_t* request) noexcept {
  UctLink* l = static_cast<LowerRequest*>(request)->link;
  const AsyncGuard guard(*l->iface);
  l->lower_waiting = l->lower_refused = false;
  if (!l->pending.empty()) l->iface->want_attention(*l);
  if (l->failed || l->iface->hub().resume(*l)) return UCS_OK;
  l->lower_waiting = true;
  return UCS_ERR_NO_RESOURCE;
}

}  // namespace

// Waits in the lower transport's pending queue. False: it has room already.
bool VerityIface::wait_for_lower(UctLink& l) noexcept {
  if (l.lower_waiting || l.failed) return true;
  l.lower_request.func = lower_has_room;
  l.lower_waiting = true;
  if (uct_ep_pending_add(l.lower.get(), &l.lower_request, 0) == UCS_OK) return true;
  l.lower_waiting = l.lower_refused = false;
  return false;
}

// A message of this layer's own, in a slot with its payload. It is kept like all others, and waits when
// the lower transport has no room.
void VerityIface::send_own(UctLink& l, link::Slot* slot, size_t length, uint8_t id) noexcept {
  constexpr wire::Class c = wire::Class::kSync;
  hub_->commit(l, c, slot, static_cast<uint32_t>(length), id);
  const util::Piece frame{slot->frame(), slot->size};
  const link::Sent sent = slot->compact ? send_compact(l, frame) : send(l, c, {&frame, 1});
  if (sent == link::Sent::kOk) {
    hub_->sent(l, c);
  } else if (sent == link::Sent::kBusy) {
    hub_->stalled(l, c, slot);
    if (l.lower != nullptr) {
      push_unsent(l);
    } else {
      want_attention(l);
    }
  }
}

// For frames that are kept here: returns when they are sent, or wait.
void VerityIface::push_unsent(UctLink& l) noexcept {
  while (!wait_for_lower(l)) {
    if (hub_->resume(l)) return;
  }
}

[[gnu::hot]] ucs_status_t Ops::am_short(uct_ep_h ep, uint8_t id, uint64_t header, const void* payload,
                           unsigned length) noexcept {
  VerityEp& self = VerityEp::of(ep);
  VerityIface& f = self.verity();
  UctLink& l = self.link();
  if (!is_am_id(id) || !is_length("am_short", sizeof(header) + length, f.most_copied())) return UCS_ERR_INVALID_PARAM;
  const AsyncGuard guard(f);
  const wire::Class c = f.class_of(id);
  if (wire::is_own_id(id)) [[unlikely]] return f.refuse_id(id);
  link::Slot* slot = f.hub().reserve(l, c, sizeof(header) + length + trailer_room(l, id));
  if (slot == nullptr) [[unlikely]] {
    if (unframed(l)) return uct_ep_am_short(l.lower.get(), id, header, payload, length);
    return nobody_there(l) ? UCS_OK : refusal(l);
  }
  std::memcpy(slot->payload(), &header, sizeof(header));
  if (length != 0) std::memcpy(slot->payload() + sizeof(header), payload, length);
  return f.launch_copied(l, c, slot, sizeof(header) + length, {self.serial(), nullptr, payload, id});
}

ucs_status_t Ops::am_short_iov(uct_ep_h ep, uint8_t id, const uct_iov_t* iov,
                               size_t iovcnt) noexcept {
  VerityEp& self = VerityEp::of(ep);
  VerityIface& f = self.verity();
  UctLink& l = self.link();
  const size_t length = iov_total(iov, iovcnt);
  if (!is_am_id(id) || !is_length("am_short_iov", length, f.most_copied())) return UCS_ERR_INVALID_PARAM;
  const AsyncGuard guard(f);
  const wire::Class c = f.class_of(id);
  if (wire::is_own_id(id)) [[unlikely]] return f.refuse_id(id);
  link::Slot* slot = f.hub().reserve(l, c, length + trailer_room(l, id));
  if (slot == nullptr) [[unlikely]] {
    if (unframed(l)) return uct_ep_am_short_iov(l.lower.get(), id, iov, iovcnt);
    return nobody_there(l) ? UCS_OK : refusal(l);
  }
  copy_iov(slot->payload(), iov, iovcnt);
  return f.launch_copied(l, c, slot, length, {self.serial(), nullptr, data_of(iov, iovcnt), id});
}

namespace {

// The upper layer counts on its callback, and on the length.
ssize_t pack_for_nobody(VerityIface& f, uct_pack_callback_t pack, void* arg) noexcept {
  const size_t size = sizeof(wire::FrameHeader) + f.max_payload_bcopy();
  link::Slot* slot = f.hub().pool().take(size);
  if (slot == nullptr) slot = link::Pool::take_reserve(size);
  if (slot == nullptr) return UCS_ERR_NO_MEMORY;
  const size_t length = pack(slot->payload(), arg);
  f.hub().cancel(slot);
  return static_cast<ssize_t>(length);
}

}  // namespace

[[gnu::hot]] ssize_t Ops::am_bcopy(uct_ep_h ep, uint8_t id, uct_pack_callback_t pack, void* arg,
                      unsigned flags) noexcept {
  VerityEp& self = VerityEp::of(ep);
  VerityIface& f = self.verity();
  UctLink& l = self.link();
  if (!is_am_id(id)) return UCS_ERR_INVALID_PARAM;
  const AsyncGuard guard(f);
  const wire::Class c = f.class_of(id);
  if (wire::is_own_id(id)) [[unlikely]] return f.refuse_id(id);
  link::Slot* slot = f.hub().reserve(l, c, f.max_payload_bcopy() + trailer_room(l, id));
  if (slot == nullptr) [[unlikely]] {
    if (unframed(l)) return uct_ep_am_bcopy(l.lower.get(), id, pack, arg, flags);
    return nobody_there(l) ? pack_for_nobody(f, pack, arg) : static_cast<ssize_t>(refusal(l));
  }
  return f.launch_bcopy(l, c, slot, 0, id, pack, arg, self.serial());
}

namespace {

ucs_status_t send_copied(VerityEp& ep, wire::Class c, uint8_t id, const void* header, unsigned header_length,
                         const uct_iov_t* iov, size_t iovcnt, const void* origin) noexcept {
  VerityIface& f = ep.verity();
  UctLink& l = ep.link();
  const size_t length = header_length + iov_total(iov, iovcnt);
  link::Slot* slot = f.hub().reserve(l, c, length + trailer_room(l, id));
  if (slot == nullptr) return nobody_there(l) ? UCS_OK : refusal(l);
  if (header_length != 0) std::memcpy(slot->payload(), header, header_length);
  copy_iov(slot->payload() + header_length, iov, iovcnt);
  return f.launch_copied(l, c, slot, length, {ep.serial(), origin, nullptr, id});
}

// What leads a zero-copy message, with the upper header behind it: both go into the lower transport's header.
struct Leader {
  uint8_t bytes[kTrailerRoom + 256];
  size_t length = 0;   // of all of it
  bool leads = false;
};

void make_leader(VerityEp& ep, uint8_t id, const void* header, unsigned header_length, const uct_completion_t* comp,
                 Leader* out) noexcept {
  if (header_length < sizeof(uint64_t) || header_length > 256) return;
  const VerityIface& f = ep.verity();
  const size_t room = std::min(f.header_room() - std::min<size_t>(f.header_room(), header_length), kTrailerRoom);
  const size_t lead = write_leader(f.companion(), {ep.serial(), comp, nullptr, id}, out->bytes, room, header, header_length);
  if (lead == 0) return;
  std::memcpy(out->bytes + lead, header, header_length);
  out->length = lead + header_length;
  out->leads = true;
}

// Returns the status of a zero-copy send to the upper layer; `status` is the lower transport's. With `at_once` the send completes locally
// when the lower transport's does, because callers may rely on that without making progress.
ucs_status_t complete_zcopy(UctLink& l, wire::Class c, link::Slot& slot, ucs_status_t status, bool at_once) noexcept {
  link::Hub& hub = l.iface->hub();
  if (status == UCS_ERR_NO_RESOURCE) {
    hub.stalled(l, c, &slot);
    l.iface->push_unsent(l);
    return UCS_INPROGRESS;
  }
  if (status != UCS_OK && status != UCS_INPROGRESS) {
    hub.source_sent(l, slot);  // the error handler is called, and completes the send
    return UCS_INPROGRESS;
  }
  hub.sent(l, c);
  if (status == UCS_INPROGRESS) return UCS_INPROGRESS;
  if (at_once && hub.complete_at_once(l, slot)) return UCS_OK;
  if (!at_once) hub.source_sent(l, slot);
  return UCS_INPROGRESS;
}

}  // namespace

ucs_status_t Ops::am_zcopy(uct_ep_h ep, uint8_t id, const void* header, unsigned header_length,
                           const uct_iov_t* iov, size_t iovcnt, unsigned flags,
                           uct_completion_t* comp) noexcept {
  VerityEp& self = VerityEp::of(ep);
  VerityIface& f = self.verity();
  UctLink& l = self.link();
  if (!is_am_id(id)) return UCS_ERR_INVALID_PARAM;
  const AsyncGuard guard(f);
  const wire::Class c = f.class_of(id);
  if (wire::is_own_id(id)) [[unlikely]] return f.refuse_id(id);
  if (unframed(l)) {
    uct_iov_t lower_iov[kMostPieces];
    if (iovcnt > kMostPieces) return UCS_ERR_INVALID_PARAM;
    for (size_t i = 0; i < iovcnt; ++i) {
      lower_iov[i] = iov[i];
      lower_iov[i].memh = VerityMd::lower_handle(iov[i].memh);
    }
    return uct_ep_am_zcopy(l.lower.get(), id, header, header_length, lower_iov, iovcnt, flags, comp);
  }
  const size_t length = header_length + iov_total(iov, iovcnt);
  if (!is_length("am_zcopy header", header_length, f.max_header()) || !is_length("am_zcopy", length, f.max_payload_zcopy()) ||
      !are_pieces("am_zcopy", iovcnt, f.max_iov())) {
    return UCS_ERR_INVALID_PARAM;
  }
  if (length <= f.copy_up_to() || (l.greeting && length <= f.max_payload_bcopy())) {
    return send_copied(self, c, id, header, header_length, iov, iovcnt, comp);
  }
  link::Slot* slot = f.hub().reserve(l, c, link::Hub::source_space(header_length + trailer_room(l, id)));
  if (slot == nullptr) return nobody_there(l) ? UCS_OK : refusal(l);
  Leader leader;
  if (may_trail(l, id)) [[unlikely]] make_leader(self, id, header, header_length, comp, &leader);
  link::Source* source = leader.leads ? link::Hub::make_source(slot, leader.bytes, leader.length)
                                      : link::Hub::make_source(slot, header, header_length);
  if (!add_pieces(*source, iov, iovcnt)) {
    if (leader.leads) f.companion().stayed();
    slot->source = nullptr;
    f.hub().cancel(slot);
    return UCS_ERR_INVALID_PARAM;
  }
  zcopy_of(*slot) = {{lower_zcopy_done, 1, UCS_OK}, comp, &l, slot, nullptr, UCS_OK, f.watched_sends()};
  f.hub().commit_source(l, c, slot, leader.leads ? kLeaderId : id);
  return complete_zcopy(l, c, *slot, lower_zcopy(l, c, *slot), id != kRendezvousData);
}

link::Sent VerityIface::send_source(link::Link& link, wire::Class c, link::Slot& slot) noexcept {
  UctLink& l = UctLink::of(link);
  const ucs_status_t status = lower_zcopy(l, c, slot);
  if (status == UCS_ERR_NO_RESOURCE) return link::Sent::kBusy;
  if (status == UCS_INPROGRESS) return link::Sent::kOk;
  hub_->source_sent(l, slot);
  return status == UCS_OK ? link::Sent::kOk : link::Sent::kFailed;
}

}  // namespace verity::uct
