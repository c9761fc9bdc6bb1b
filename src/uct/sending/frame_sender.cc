// SPDX-License-Identifier: BSD-3-Clause
#include "uct/sending/frame_sender.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "uct/process/clock.h"
#include "uct/process/ucx_log.h"
#include "uct/sending/zero_copy.h"

namespace verity::uct {

namespace {

// A bcopy of unknown size is packed into a large slot; a short one is moved to a small slot, so
// that many messages in flight stay in the cache.
constexpr size_t kMoveUpTo = 448;

// Longest frame that send_short_or_pieces() sends short: control frames have 32 to 72 bytes.
constexpr size_t kMaxShortControl = 96;

// A frame on its way into a lower buffer. It is committed only there: when the lower transport has
// no room it does not call for the bytes, the upper layer gets UCS_ERR_NO_RESOURCE, and nothing has
// happened. What returned UCS_OK needs no progress of the sender to arrive.
struct Launch {
  FrameSender* sender;
  UctLink* link;
  wire::Class c;
  link::Slot* slot;
  size_t length;  // of the payload in the slot, unless `pack` is to write it
  uint8_t id;
  uct_pack_callback_t pack;
  void* arg;
  bool compact;     // as the lower message id says, which is chosen before the length is known
  uint64_t serial;  // of the upper endpoint
  bool committed = false;  // the link has the slot

  // Lets the upper layer write the message at `out`. Once written it is sent, whatever follows.
  void write(uint8_t* out) noexcept {
    length = pack(out, arg);
    if (!link->may_trail(id)) [[likely]]
      return;
    const size_t trailer =
        append_trailer(sender->extensions().mpi(), {serial, arg, nullptr, id}, out, length);
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

// A small message in a large slot gets a small one, with the bytes that are in the large one
// already.
[[gnu::hot]] void fit_slot(Launch& launch, size_t bytes) noexcept {
  if (launch.length > kMoveUpTo) return;
  link::Hub& hub = launch.sender->hub();
  link::Slot* small = hub.sender.reserve(*launch.link, launch.c, launch.length);
  if (small == nullptr) return;
  std::memcpy(small->payload(), launch.slot->payload(), bytes);
  hub.sender.cancel(launch.slot);
  launch.slot = small;
}

// The payload is packed where the lower transport wants it, and copied from there: written while
// its lines are fetched from the peer's cache, read while they are in ours.
[[gnu::hot]] size_t pack_in_place(void* dest, Launch& launch) noexcept {
  launch.write(static_cast<uint8_t*>(dest) + wire::kCompactHeader);
  fit_slot(launch, 0);
  link::Hub& hub = launch.sender->hub();
  launch.committed = true;
  (void)hub.sender.commit_open(*launch.link, launch.c, launch.slot,
                               static_cast<uint32_t>(launch.length), launch.id);
  link::seal_in_place(*launch.link, launch.slot, dest);
  return launch.slot->size;
}

[[gnu::hot]] size_t pack_frame(void* dest, void* arg) noexcept {
  auto& launch = *static_cast<Launch*>(arg);
  if (launch.compact && launch.pack != nullptr) return pack_in_place(dest, launch);
  if (launch.pack != nullptr) {
    launch.write(launch.slot->payload());
    fit_slot(launch, launch.length);
  }
  link::Hub& hub = launch.sender->hub();
  UctLink& l = *launch.link;
  link::Slot* slot = launch.slot;
  launch.committed = true;
  const bool open = hub.sender.commit_open(l, launch.c, slot, static_cast<uint32_t>(launch.length),
                                           launch.id, launch.compact);
  const size_t size = slot->size;
  if (open && launch.length >= launch.sender->limits().fuse_from) {
    link::seal_copy(l, launch.c, slot, dest);
    return size;
  }
  if (open) link::seal(l, launch.c, slot);
  std::memcpy(dest, slot->frame(), size);
  return size;
}

// Sends the slot's frame, which is sealed and fits the lower transport's short send.
[[gnu::always_inline]] inline ucs_status_t send_short(const UctLink& l, uint8_t id,
                                                      link::Slot& slot) noexcept {
  uint64_t first;
  std::memcpy(&first, slot.frame(), sizeof(first));
  return uct_ep_am_short(l.lower.get(), id, first, slot.frame() + sizeof(first),
                         static_cast<unsigned>(slot.size - sizeof(first)));
}

}  // namespace

ucs_status_t FrameSender::lower_is_busy(UctLink& l, link::Slot* slot) noexcept {
  if (slot != nullptr) hub_->sender.cancel(slot);
  l.lower_refused = true;
  return UCS_ERR_NO_RESOURCE;
}

// Sends the slot's frame through a buffer of the lower transport. The payload's length, or an
// error.
[[gnu::hot]] ssize_t FrameSender::launch_bcopy(UctLink& l, wire::Class c, link::Slot* slot,
                                               size_t length, uint8_t id, uct_pack_callback_t pack,
                                               void* arg, uint64_t serial) noexcept {
  const bool compact = hub_->sender.will_be_compact(
      l, c, pack != nullptr ? limits_.max_bcopy + l.trailer_room(id) : length);
  Launch launch{this, &l, c, slot, length, id, pack, arg, compact, serial};
  const ssize_t sent = uct_ep_am_bcopy(
      l.lower.get(), compact ? wire::kCompactId : wire::lower_id(c), pack_frame, &launch, 0);
  if (sent >= 0) [[likely]] {
    hub_->sender.sent(l, c);
    return launch.upper_length();
  }
  if (sent == UCS_ERR_NO_RESOURCE) return lower_is_busy(l, slot);
  // The lower transport failed before it called for the bytes. Afterwards the frame is the link's,
  // as one that was lost.
  if (!launch.committed) hub_->sender.cancel(slot);
  return sent;
}

// The same through the lower transport's short send, where the frame fits.
[[gnu::hot]] ucs_status_t FrameSender::launch(UctLink& l, wire::Class c, link::Slot* slot,
                                              size_t length, uint8_t id) noexcept {
  const auto size = static_cast<uint32_t>(length);
  const bool compact = hub_->sender.will_be_compact(l, c, length);
  if (compact && wire::kCompactHeader + length <= limits_.max_short)
    return launch_short(l, slot, size, id);
  if (compact || sizeof(wire::FrameHeader) + length > limits_.max_short || !l.is_fast()) {
    const ssize_t sent = launch_bcopy(l, c, slot, length, id, nullptr, nullptr);
    return sent >= 0 ? UCS_OK : static_cast<ucs_status_t>(sent);
  }
  link::Slot* before = link::Sender::newest(l, c);
  hub_->sender.commit(l, c, slot, size, id);
  const ucs_status_t status = send_short(l, wire::lower_id(c), *slot);
  if (status != UCS_OK) return not_launched(l, c, slot, before, size, status);
  hub_->sender.sent(l, c);
  return UCS_OK;
}

// A compact frame that fits the lower transport's short send.
[[gnu::hot]] ucs_status_t FrameSender::launch_short(UctLink& l, link::Slot* slot, uint32_t length,
                                                    uint8_t id) noexcept {
  constexpr wire::Class c = wire::Class::kSync;
  link::Slot* before = link::Sender::newest(l, c);
  hub_->sender.commit(l, c, slot, length, id);
  return send_committed(l, slot, before, length);
}

// The lower transport refused the frame that was committed behind `before`.
ucs_status_t FrameSender::not_launched(UctLink& l, wire::Class c, link::Slot* slot,
                                       link::Slot* before, uint32_t length,
                                       ucs_status_t status) noexcept {
  if (l.is_lost()) return status;  // its frames went with it
  hub_->sender.uncommit(l, c, slot, before, length);
  return status == UCS_ERR_NO_RESOURCE ? lower_is_busy(l, nullptr) : status;
}

// A message whose bytes are all in the slot, where there is room for a trailer.
[[gnu::hot]] ucs_status_t FrameSender::launch_trailed(UctLink& l, wire::Class c, link::Slot* slot,
                                                      size_t length,
                                                      const verity_outgoing& outgoing) noexcept {
  const size_t trailer = append_trailer(extensions_.mpi(), outgoing, slot->payload(), length);
  const ucs_status_t status =
      launch(l, c, slot, length + trailer, trailer != 0 ? kTrailerId : outgoing.am_id);
  if (status != UCS_OK) extensions_.mpi().not_sent();
  return status;
}

namespace {

// Runs inside the lower transport's progress: sends what waits there, upper callbacks run later.
ucs_status_t lower_has_room(uct_pending_req_t* request) noexcept {
  UctLink* l = static_cast<LowerRequest*>(request)->link;
  const AsyncGuard guard(l->set->core().threads);
  l->lower_waiting = l->lower_refused = false;
  if (!l->pending.empty()) l->set->request_attention(*l);
  if (l->failed() || l->set->core().hub->retransmitter.resume(*l)) return UCS_OK;
  l->lower_waiting = true;
  return UCS_ERR_NO_RESOURCE;
}

}  // namespace

// Waits in the lower transport's pending queue. False: it has room already.
bool FrameSender::wait_for_lower(UctLink& l) noexcept {
  if (l.lower_waiting || l.failed()) return true;
  l.lower_request.func = lower_has_room;
  l.lower_waiting = true;
  if (uct_ep_pending_add(l.lower.get(), &l.lower_request, 0) == UCS_OK) return true;
  l.lower_waiting = l.lower_refused = false;
  return false;
}

namespace {

// A kept frame on its way into a lower buffer. It is sealed in the pass that copies it there, or
// behind a send that did not take it.
struct OpenFrame {
  UctLink* link;
  link::Slot* slot;
  size_t fuse_from;
  bool open = true;

  void seal() noexcept {
    link::seal(*link, wire::Class::kSync, slot);
    open = false;
  }
};

size_t pack_open(void* dest, void* arg) noexcept {
  auto& frame = *static_cast<OpenFrame*>(arg);
  const size_t size = frame.slot->size;
  if (size >= frame.fuse_from) {
    link::seal_copy(*frame.link, wire::Class::kSync, frame.slot, dest);
    frame.open = false;
    return size;
  }
  frame.seal();
  std::memcpy(dest, frame.slot->frame(), size);
  return size;
}

link::Sent sent_as(ucs_status_t status) noexcept {
  if (status == UCS_OK) return link::Sent::kOk;
  return status == UCS_ERR_NO_RESOURCE ? link::Sent::kBusy : link::Sent::kFailed;
}

}  // namespace

// A compact frame that is committed and not sealed yet.
link::Sent FrameSender::send_open(UctLink& l, link::Slot* slot) const noexcept {
  OpenFrame frame{&l, slot, limits_.fuse_from};
  if (slot->size <= limits_.max_short) {
    frame.seal();
    return sent_as(send_short(l, wire::kCompactId, *slot));
  }
  const ssize_t sent = uct_ep_am_bcopy(l.lower.get(), wire::kCompactId, pack_open, &frame, 0);
  if (sent >= 0) return link::Sent::kOk;
  if (frame.open && !l.is_lost()) frame.seal();  // else its frames went with it
  return sent_as(static_cast<ucs_status_t>(sent));
}

// A message of this layer's own, in a slot with its payload. It is kept like all others, and waits
// when the lower transport has no room.
void FrameSender::send_own(UctLink& l, link::Slot* slot, size_t length, uint8_t id) noexcept {
  constexpr wire::Class c = wire::Class::kSync;
  if (length > limits_.max_bcopy) return send_from_slot(*this, l, c, slot, length, id);
  const bool others_wait = l.send_window(c).has_unsent();
  const bool open = hub_->sender.commit_open(l, c, slot, static_cast<uint32_t>(length), id);
  if (open && (others_wait || !slot->compact)) link::seal(l, c, slot);
  if (others_wait) return;  // and it goes with them
  link::Sent sent;
  if (slot->compact) {
    sent = send_open(l, slot);
  } else {
    const util::Piece frame{slot->frame(), slot->size};
    sent = connect(l);
    if (sent == link::Sent::kOk) sent = send_pieces(l, wire::lower_id(c), {&frame, 1});
  }
  if (sent == link::Sent::kOk) {
    hub_->sender.sent(l, c);
  } else if (sent == link::Sent::kBusy) {
    stall(l, c, slot);
  }
}

// The lower transport did not take the frame just committed, or there is no lower endpoint yet.
void FrameSender::stall(UctLink& l, wire::Class c, link::Slot* slot) noexcept {
  hub_->sender.stalled(l, c, slot);
  if (l.lower != nullptr) {
    push_unsent(l);
  } else {
    links_.request_attention(l);
  }
}

// For frames that are kept here: returns when they are sent, or wait.
void FrameSender::push_unsent(UctLink& l) noexcept {
  while (!wait_for_lower(l)) {
    if (hub_->retransmitter.resume(l)) return;
  }
}

void FrameSender::push_stored(UctLink& l) noexcept {
  if (must_read_on(l)) return links_.request_attention(l);
  const ucs_status_t status = links_.ensure_lower(l);
  if (status != UCS_OK) return links_.give_up(l, status);
  push_unsent(l);
}

ssize_t FrameSender::pack_and_drop(uct_pack_callback_t pack, void* arg) noexcept {
  const size_t size = sizeof(wire::FrameHeader) + limits_.max_bcopy;
  link::Slot* slot = hub_->pool().take(size);
  if (slot == nullptr) slot = link::Pool::take_reserve(size);
  if (slot == nullptr) return UCS_ERR_NO_MEMORY;
  const size_t length = pack(slot->payload(), arg);
  hub_->sender.cancel(slot);
  return static_cast<ssize_t>(length);
}

// --- frames ---

namespace {

size_t pack_pieces(void* dest, void* arg) noexcept {
  const auto& pieces = *static_cast<const util::Pieces*>(arg);
  const size_t size = util::total_length(pieces);
  (void)util::copy_out(pieces, 0, dest, size);
  return size;
}

link::Sent sent_or_why(ssize_t status) noexcept {
  if (status >= 0) return link::Sent::kOk;
  return status == UCS_ERR_NO_RESOURCE ? link::Sent::kBusy : link::Sent::kFailed;
}

}  // namespace

link::Sent FrameSender::send_pieces(UctLink& l, uint8_t id, util::Pieces frame) noexcept {
  return sent_or_why(uct_ep_am_bcopy(l.lower.get(), id, pack_pieces, &frame, 0));
}

link::Sent FrameSender::send_short_or_pieces(UctLink& l, uint8_t id, util::Pieces frame) noexcept {
  struct {
    uint64_t first;
    uint8_t rest[kMaxShortControl - sizeof(uint64_t)];
  } copy;
  const size_t size = util::total_length(frame);
  if (size < sizeof(copy.first) || size > std::min(limits_.max_short, sizeof(copy))) {
    // A peer that was there may have ended, as a probe, what is sent again, or an answer finds out.
    // One to which the program has an endpoint, and that never answered, is another matter: why it
    // cannot be reached is what the user has to know.
    std::optional<QuietLower> quiet;
    if (!l.carries_hello() || !l.eps.linked()) quiet.emplace();
    return send_pieces(l, id, frame);
  }
  (void)util::copy_out(frame, 0, &copy, size);
  return sent_or_why(uct_ep_am_short(l.lower.get(), id, copy.first, copy.rest,
                                     static_cast<unsigned>(size - sizeof(copy.first))));
}

// Until a whole progress has brought no frame of its; but not for long, as a process that seldom
// makes progress finds a probe each time.
bool FrameSender::must_read_on(UctLink& l) const noexcept {
  constexpr uint64_t kLongest = 200'000'000;  // ns
  if (l.lower != nullptr || l.eps.linked()) return false;
  const uint32_t now = hub_->control.polls();
  if (std::exchange(l.timer.received, false)) l.received_in = now;
  if (l.received_in != now) return false;
  const uint64_t time = monotonic_ns();
  if (l.unanswered_since == 0) l.unanswered_since = time;
  return time - l.unanswered_since < kLongest;
}

link::Sent FrameSender::connect(UctLink& l) noexcept {
  if (l.lower == nullptr && !core_.may_connect()) return link::Sent::kBusy;
  if (must_read_on(l)) return link::Sent::kBusy;
  if (links_.ensure_lower(l) == UCS_OK) return link::Sent::kOk;
  links_.give_up(l, UCS_ERR_UNREACHABLE);
  return link::Sent::kFailed;
}

// Not ahead of frames that waited for the lower endpoint: an acknowledgement would arrive before
// the refusal of what it acknowledges.
link::Sent FrameSender::send_frame(UctLink& l, wire::Class c, util::Pieces frame) noexcept {
  const bool is_new = l.lower == nullptr;
  const link::Sent connected = connect(l);
  if (connected != link::Sent::kOk) return connected;
  if (is_new && needs_push(l)) push_unsent(l);
  return send_short_or_pieces(l, wire::lower_id(c), frame);
}

link::Sent FrameSender::send_compact(UctLink& l, util::Piece frame) noexcept {
  return send_short_or_pieces(l, wire::kCompactId, {&frame, 1});
}

}  // namespace verity::uct
