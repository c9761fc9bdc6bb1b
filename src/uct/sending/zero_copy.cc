// SPDX-License-Identifier: BSD-3-Clause
#include "uct/sending/zero_copy.h"

#include <algorithm>
#include <utility>

#include "uct/compat/ucp_ids.h"
#include "uct/memory/verity_md.h"

namespace verity::uct {

namespace {

size_t iov_length(const uct_iov_t& iov) noexcept { return iov.length * iov.count; }

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

// UCX's tcp (up to 1.23) completes a send twice that fails: when it gives the connection up, and
// behind that. With its assertions it ends the process where the second time has nothing to count.
constexpr int kOnceMore = 2;

void lower_zcopy_done(uct_completion_t* comp) noexcept {
  auto* state = reinterpret_cast<ZcopyState*>(comp);
  comp->count = kOnceMore;
  if (comp->status != UCS_OK && state->status == UCS_OK) state->status = comp->status;
  const IfaceCore& core = state->link->set->core();
  const AsyncGuard guard(core.threads);
  core.hub->zero_copy.source_sent(*state->link, *state->slot);
}

// Sends the frame: the header with the upper one behind it, the user's pieces, the HELLO. UCS_OK:
// the lower transport is done with the pieces; UCS_INPROGRESS: it will say so.
ucs_status_t lower_zcopy(UctLink& l, wire::Class c, link::Slot& slot) noexcept {
  link::Source& source = *slot.source;
  uct_iov_t iov[link::kMaxSourcePieces + 1];
  size_t count = 0;
  const uint32_t in_header = source.bounced ? 0 : 1;  // what was bounced is one piece
  for (uint32_t i = in_header; i < source.count; ++i) {
    iov[count++] = {const_cast<void*>(source.pieces[i].data), source.pieces[i].length,
                    source.handles[i], 0, 1};
  }
  if (source.hello.length != 0) {
    iov[count++] = {const_cast<void*>(source.hello.data), source.hello.length, UCT_MEM_HANDLE_NULL,
                    0, 1};
  }
  ZcopyState& state = ZcopyState::of(slot);
  state.lower = {lower_zcopy_done, 1, UCS_OK};
  source.sending = true;
  const auto header = static_cast<unsigned>(sizeof(wire::FrameHeader) +
                                            (source.bounced ? 0 : source.pieces[0].length));
  const ucs_status_t status = uct_ep_am_zcopy(l.lower.get(), wire::lower_id(c), slot.frame(),
                                              header, iov, count, 0, &state.lower);
  if (status == UCS_ERR_NO_RESOURCE) source.sending = false;
  return status;
}

// What leads a zero-copy message, with the upper header behind it: both go into the lower
// transport's header.
struct Leader {
  uint8_t bytes[kTrailerRoom + 256];
  size_t length = 0;  // of all of it
  bool leads = false;
  bool is_matched = false;  // the interposer was called, and gave a signature or none
};

void make_leader(const FrameSender& sender, const ZcopyRequest& r, Leader* out) noexcept {
  if (r.header_length < sizeof(uint64_t) || r.header_length > 256) return;
  const size_t header_room = sender.limits().header_room;
  const size_t room =
      std::min(header_room - std::min<size_t>(header_room, r.header_length), kTrailerRoom);
  const verity_outgoing outgoing{r.serial, r.comp, nullptr, r.id};
  out->is_matched = room > kTrailerEnd;
  const size_t lead = write_leader(sender.extensions().mpi(), outgoing, out->bytes, room, r.header,
                                   r.header_length);
  if (lead == 0) return;
  std::memcpy(out->bytes + lead, r.header, r.header_length);
  out->length = lead + r.header_length;
  out->leads = true;
}

// Returns the status of the send to the upper layer; `status` is the lower transport's. With
// `at_once` the send completes locally when the lower transport's does, because callers may rely on
// that without making progress.
ucs_status_t complete_zcopy(FrameSender& sender, UctLink& l, wire::Class c, link::Slot& slot,
                            ucs_status_t status, bool at_once) noexcept {
  link::Hub& hub = sender.hub();
  if (status == UCS_ERR_NO_RESOURCE) {
    hub.sender.stalled(l, c, &slot);
    sender.push_unsent(l);
    return UCS_INPROGRESS;
  }
  if (status != UCS_OK && status != UCS_INPROGRESS) {
    hub.zero_copy.source_sent(l, slot);  // the error handler is called, and completes the send
    return UCS_INPROGRESS;
  }
  hub.sender.sent(l, c);
  if (status == UCS_INPROGRESS) return UCS_INPROGRESS;
  if (at_once && hub.zero_copy.complete_at_once(l, slot)) return UCS_OK;
  if (!at_once) hub.zero_copy.source_sent(l, slot);
  return UCS_INPROGRESS;
}

// Where the peer has closed the message is dropped, as on a lower transport that keeps no
// connection.
ucs_status_t without_slot(const UctLink& l) noexcept {
  return l.peer_closed() && !l.failed() ? UCS_OK : FrameSender::refusal(l);
}

// The message does not go: the lower transport has no room, or it is none. Without a signature it
// is taken back, too, or a later send's would be given to it.
void take_back(FrameSender& sender, link::Slot& slot, const Leader& leader) noexcept {
  if (leader.is_matched) sender.extensions().mpi().not_sent();
  slot.source = nullptr;
}

struct Gathered {
  link::Hub& hub;
  UctLink& link;
  wire::Class c;
  link::Slot* slot;
  uint8_t id;
  bool committed = false;
};

// Writes the frame into the lower transport's buffer. It is committed only here, as copied ones are
// (frame_sender.cc).
[[gnu::hot]] size_t pack_gathered(void* dest, void* arg) noexcept {
  auto& frame = *static_cast<Gathered*>(arg);
  frame.committed = true;
  frame.slot->source->sending = true;
  return frame.hub.sender.commit_gathered(frame.link, frame.c, frame.slot, frame.id, dest);
}

ucs_status_t launch_gathered(FrameSender& sender, const ZcopyRequest& r, link::Slot* slot,
                             const Leader& leader) noexcept {
  UctLink& l = r.link;
  Gathered frame{sender.hub(), l, r.c, slot, leader.leads ? kLeaderId : r.id};
  const ssize_t sent =
      uct_ep_am_bcopy(l.lower.get(), wire::lower_id(r.c), pack_gathered, &frame, 0);
  if (frame.committed) [[likely]] {
    const ucs_status_t status = sent >= 0 ? UCS_OK : static_cast<ucs_status_t>(sent);
    return complete_zcopy(sender, l, r.c, *slot, status, r.id != kRendezvousData);
  }
  take_back(sender, *slot, leader);
  if (sent == UCS_ERR_NO_RESOURCE) return sender.lower_is_busy(l, slot);
  sender.hub().sender.cancel(slot);
  return static_cast<ucs_status_t>(sent);
}

ucs_status_t send_copied(FrameSender& sender, const ZcopyRequest& r) noexcept {
  const size_t length = r.header_length + iov_total(r.iov, r.iovcnt);
  link::Slot* slot = sender.reserve(r.link, r.c, length, r.id);
  if (slot == nullptr) return without_slot(r.link);
  if (r.header_length != 0) std::memcpy(slot->payload(), r.header, r.header_length);
  copy_iov(slot->payload() + r.header_length, r.iov, r.iovcnt);
  return sender.launch_copied(r.link, r.c, slot, length, {r.serial, r.comp, nullptr, r.id});
}

}  // namespace

bool has_lower_zcopy(const UctLink& l) noexcept {
  return (l.set->core().lower_attr().cap.flags & UCT_IFACE_FLAG_AM_ZCOPY) != 0;
}

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

ucs_status_t send_zcopy(FrameSender& sender, const ZcopyRequest& r) noexcept {
  UctLink& l = r.link;
  const FrameLimits& limits = sender.limits();
  const size_t length = r.header_length + iov_total(r.iov, r.iovcnt);
  if (length <= limits.copy_up_to || (l.carries_hello() && length <= limits.max_bcopy))
    return send_copied(sender, r);
  link::Hub& hub = sender.hub();
  const size_t space = link::ZeroCopy::source_space(r.header_length + l.trailer_room(r.id));
  link::Slot* slot = hub.sender.reserve(l, r.c, space);
  if (slot == nullptr) return without_slot(l);
  Leader leader;
  if (l.may_trail(r.id)) [[unlikely]]
    make_leader(sender, r, &leader);
  link::Source* source = leader.leads
                             ? link::ZeroCopy::make_source(slot, leader.bytes, leader.length)
                             : link::ZeroCopy::make_source(slot, r.header, r.header_length);
  if (!add_pieces(*source, r.iov, r.iovcnt)) {
    take_back(sender, *slot, leader);
    hub.sender.cancel(slot);
    return UCS_ERR_INVALID_PARAM;
  }
  const uint64_t watched = sender.extensions().watched_sends();
  ZcopyState::of(*slot) = {
      {lower_zcopy_done, 1, UCS_OK}, r.comp, &l, r.serial, slot, nullptr, UCS_OK, watched};
  if (limits.gathers) return launch_gathered(sender, r, slot, leader);
  hub.sender.commit_source(l, r.c, slot, leader.leads ? kLeaderId : r.id);
  return complete_zcopy(sender, l, r.c, *slot, lower_zcopy(l, r.c, *slot), r.id != kRendezvousData);
}

void send_from_slot(FrameSender& sender, UctLink& l, wire::Class c, link::Slot* slot, size_t length,
                    uint8_t id) noexcept {
  link::Hub& hub = sender.hub();
  (void)link::ZeroCopy::make_source_in_slot(slot, length);
  ZcopyState::of(*slot) = {{lower_zcopy_done, 1, UCS_OK}, nullptr, &l, 0, slot, nullptr, UCS_OK, 0};
  hub.sender.commit_source(l, c, slot, id);
  const link::Sent connected = sender.connect(l);
  if (connected == link::Sent::kBusy) return sender.stall(l, c, slot);
  if (connected != link::Sent::kOk) return;
  const ucs_status_t status = lower_zcopy(l, c, *slot);
  if (status == UCS_ERR_NO_RESOURCE) return sender.stall(l, c, slot);
  if (status != UCS_INPROGRESS) hub.zero_copy.source_sent(l, *slot);
  if (status == UCS_OK || status == UCS_INPROGRESS) hub.sender.sent(l, c);
}

namespace {

// Calls visit(slot) for the sends of that endpoint whose buffers the lower transport reads, until
// it returns true. Of one that was freed it reads the copy.
template <typename Visit>
bool any_sending(UctLink& l, uint64_t serial, Visit&& visit) noexcept {
  for (util::ListNode* node = l.still_read.next; node != &l.still_read; node = node->next) {
    link::Slot& slot = *VERITY_CONTAINER_OF(node, link::Source, unbounced)->slot;
    if (!slot.source->freed && ZcopyState::of(slot).serial == serial && visit(slot)) return true;
  }
  if (l.zero_copies == 0) return false;
  for (const link::SendWindow& tx : l.tx) {
    for (link::Slot* slot = tx.oldest(); slot != nullptr; slot = slot->next) {
      if (slot->source != nullptr && slot->source->sending && !slot->source->freed &&
          ZcopyState::of(*slot).serial == serial && visit(*slot))
        return true;
    }
  }
  return false;
}

}  // namespace

bool is_sending(UctLink& l, uint64_t serial) noexcept {
  return any_sending(l, serial, [](link::Slot&) { return true; });
}

bool let_go(UctLink& l, uint64_t serial) noexcept {
  bool any = false;
  (void)any_sending(l, serial, [&](link::Slot& slot) {
    if (!slot.source->bounced && !slot.source->acked) return false;
    ZcopyState::of(slot).status = UCS_ERR_CANCELED;
    l.set->core().hub->zero_copy.let_go(l, slot);
    any = true;
    return false;
  });
  return any;
}

namespace {

// The same where the frame is copied to the lower transport's buffer.
link::Sent send_gathered(UctLink& l, wire::Class c, link::Slot& slot) noexcept {
  const link::Source& source = *slot.source;
  util::Piece frame[link::kMaxSourcePieces + 2];
  frame[0] = {slot.frame(), sizeof(wire::FrameHeader)};
  std::copy_n(source.pieces, source.count, frame + 1);
  frame[source.count + 1] = source.hello;
  return FrameSender::send_pieces(l, wire::lower_id(c), {frame, source.count + size_t{2}});
}

}  // namespace

link::Sent send_source(UctLink& l, wire::Class c, link::Slot& slot) noexcept {
  link::ZeroCopy& zero_copy = l.set->core().hub->zero_copy;
  if (!has_lower_zcopy(l)) {
    const link::Sent sent = send_gathered(l, c, slot);
    if (sent != link::Sent::kBusy) zero_copy.source_sent(l, slot);
    return sent;
  }
  const ucs_status_t status = lower_zcopy(l, c, slot);
  if (status == UCS_ERR_NO_RESOURCE) return link::Sent::kBusy;
  if (status == UCS_INPROGRESS) return link::Sent::kOk;
  zero_copy.source_sent(l, slot);
  return status == UCS_OK ? link::Sent::kOk : link::Sent::kFailed;
}

}  // namespace verity::uct
