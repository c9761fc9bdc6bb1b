// SPDX-License-Identifier: BSD-3-Clause
#include "link/receiver.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "merkle/bitmap.h"

namespace verity::link {

namespace {

constexpr auto kMaxAhead = static_cast<int32_t>(ReceiveWindow::kMaxAhead);

int32_t distance(uint32_t from, uint32_t to) noexcept { return static_cast<int32_t>(to - from); }

Faults::Counter fault_counter(wire::Verdict verdict) noexcept {
  switch (verdict) {
    case wire::Verdict::kBadLength: return &health::Counters::faults_length;
    case wire::Verdict::kBadPayload: return &health::Counters::faults_payload;
    default: return &health::Counters::faults_header;
  }
}

// Puts a frame into its place in the queue and returns it. Nothing happens when there was no memory
// for it.
QueuedFrame* insert(QueuedFrame** place, QueuedFrame* frame) noexcept {
  if (frame != nullptr) OutOfOrderQueue::insert(place, frame);
  return frame;
}

}  // namespace

// --- which link, and is it right? ---

bool Receiver::receive(wire::Class c, const void* data, size_t size, Received* out) noexcept {
  Arrival arrival{
      nullptr, c, wire::Verdict::kGood, {}, size - std::min(size, sizeof(wire::FrameHeader))};
  arrival.verdict = wire::parse(data, size, &arrival.view);
  if (arrival.verdict == wire::Verdict::kGood) {
    arrival.link = link_of(arrival.view, c, data, size, &arrival.verdict);
  } else if (size >= sizeof(wire::FrameHeader)) {
    arrival.link = links_.find(arrival.view.header.link);
  }
  return take(arrival, out);
}

bool Receiver::receive_compact(const void* data, size_t size, Received* out) noexcept {
  constexpr wire::Class c = wire::Class::kSync;
  Arrival arrival{nullptr, c, wire::Verdict::kMalformed, {}, 0};
  if (size < wire::kCompactHeader) return take(arrival, out);
  arrival.length = size - wire::kCompactHeader;
  const wire::CompactView compact = wire::read_compact(data);
  Link* link = arrival.link = links_.find_compact(compact.fields.link);
  if (!wire::well_formed(compact) || arrival.length > UINT32_MAX) return take(arrival, out);
  arrival.verdict = wire::Verdict::kGood;
  if (link == nullptr) return take(arrival, out);
  wire::CompactFields fields = compact.fields;  // the full numbers next to those expected
  fields.link = link->local_id;
  fields.psn = wire::widen(fields.psn, link->receive_window(c).expected());
  fields.ack = wire::widen(fields.ack, link->send_window(c).una());
  arrival.view.payload = static_cast<const uint8_t*>(data) + wire::kCompactHeader;
  wire::FrameHeader& header = arrival.view.header;
  header.link = fields.link;
  header.psn = fields.psn;
  header.ack = fields.ack;
  header.length = static_cast<uint32_t>(arrival.length);
  header.kind = wire::kind_byte(wire::FrameKind::kData);
  header.flags = fields.kind & wire::kCompactAckRequest ? wire::kAckRequest : 0;
  header.am_id = wire::am_byte(fields.am_id, c);
  header.segment = wire::segment_byte(wire::kMaxSegmentLog2);  // one segment, whatever its size
  if (!wire::check_compact(data, size, compact, link->receive_window(c).nonce(),
                           wire::compact_key(fields))) {
    arrival.verdict = wire::Verdict::kBadFrame;
  } else {
    Handshake::on_known_id(*link);
  }
  return take(arrival, out);
}

// The link of a well-formed frame, after its digest was checked. nullptr with kGood: the frame is
// right but of no link here.
Link* Receiver::link_of(const wire::FrameView& view, wire::Class c, const void* data, size_t size,
                        wire::Verdict* verdict) noexcept {
  Link* link = links_.find(view.header.link);
  const bool hello = view.hello != nullptr;
  if (link == nullptr && !hello) return nullptr;
  const uint64_t nonce = hello ? wire::nonce(wire::read_hello(view).ext.uid, iface_.uid, c)
                               : link->receive_window(c).nonce();
  *verdict = wire::check(data, size, view, nonce);
  if (*verdict == wire::Verdict::kGood && view.header.frame_class() != c)
    *verdict = wire::Verdict::kBadHeader;
  if (*verdict != wire::Verdict::kGood) {
    if (hello && handshake_.is_for_closed(view, c, data, size)) {
      *verdict = wire::Verdict::kGood;
      return nullptr;
    }
    if (link != nullptr || !hello) return link;
    const wire::HelloExt ext =
        wire::read_hello(view).ext;  // damaged, perhaps: a wrong guess does no harm
    return links_.find(ext.uid, ext.path);
  }
  if (hello) return handshake_.on_hello(view);
  Handshake::on_known_id(*link);
  return link;
}

bool Receiver::take(const Arrival& arrival, Received* out) noexcept {
  Link* link = arrival.link;
  if (link != nullptr && link->failed()) return false;
  if (link != nullptr) sender_.received_from(*link);
  if (arrival.verdict != wire::Verdict::kGood) {
    on_fault(arrival);
    return link != nullptr && link->mode() == Mode::kObserve && observe_fault(arrival, out);
  }
  if (link == nullptr) {
    iface_.counters.frames_dropped_unknown++;
    return false;
  }
  return on_frame(*link, arrival.c, arrival.view, out);
}

// --- undamaged frames ---

bool Receiver::on_frame(Link& link, wire::Class c, const wire::FrameView& view,
                        Received* out) noexcept {
  if (view.header.ack != link.send_window(c).una()) sender_.on_ack(link, c, view.header.ack);
  const wire::FrameKind kind = view.header.frame_kind();
  if (kind != wire::FrameKind::kData)
    link.peer_detached = (view.header.flags & wire::kDetached) != 0;
  switch (kind) {
    case wire::FrameKind::kData:
      if ((view.header.flags & wire::kObserve) != 0 || link.mode() == Mode::kObserve)
        return on_observed(link, c, view, out);
      return on_data(link, c, view, out);
    case wire::FrameKind::kAck: break;
    case wire::FrameKind::kNack: retransmitter_.on_nack(link, c, view); break;
    case wire::FrameKind::kProbe: on_probe(link, c, view); break;
    case wire::FrameKind::kRepair: on_repair(link, c, view); break;
    case wire::FrameKind::kBye: lifecycle_.peer_closed(link); break;
  }
  link.detached_top = link.peer_sent();  // with the frames that a probe or a repair announced
  return false;
}

bool Receiver::on_data(Link& link, wire::Class c, const wire::FrameView& view,
                       Received* out) noexcept {
  ReceiveWindow& rx = link.receive_window(c);
  const wire::FrameHeader& header = view.header;
  const int32_t ahead = distance(rx.expected(), header.psn);
  QueuedFrame** place = rx.queue().place_of(header.psn);
  const bool queued = OutOfOrderQueue::is_at(place, header.psn);
  if (ahead < 0 || (queued && (*place)->good)) {
    link.counters->frames_duplicate++;
    control_.schedule_ack(link.control, c, true);
    return false;
  }
  if (queued) replace(link, place, view);
  if (ahead > 0) {
    on_ahead(link, c, view, place);
    return false;
  }
  accept(link, c, header);
  if (rx.has_faults()) Faults::count_repaired(link, rx);
  *out = {&link, view.payload, header.length, header.upper_am_id()};
  return true;
}

// A right frame before its turn: an earlier one is damaged or lost.
void Receiver::on_ahead(Link& link, wire::Class c, const wire::FrameView& view,
                        QueuedFrame** place) noexcept {
  ReceiveWindow& rx = link.receive_window(c);
  const wire::FrameHeader& header = view.header;
  if (distance(rx.expected(), header.psn) > kMaxAhead) return;
  if (const uint32_t more = rx.extend(header.psn + 1); more != 0) link.counters->gaps += more - 1;
  if (QueuedFrame* frame = insert(place, enqueue(link, rx, header, view.payload));
      frame != nullptr) {
    frame->good = true;
    link.counters->frames_held++;
  }
  schedule_nack(link, c);
}

// The right frame replaces a damaged one in the queue: now it is known where the damage was.
void Receiver::replace(Link& link, QueuedFrame** place, const wire::FrameView& view) noexcept {
  QueuedFrame& frame = **place;
  const wire::FrameHeader& header = view.header;
  const bool same_length = frame.header.length == header.length;
  ++frame.rounds;
  if (same_length) Faults::compare(frame, 0, view.payload, header.length);
  const bool same = frame.ambiguous && same_length &&
                    std::memcmp(frame.payload(), view.payload, header.length) == 0;
  const bool was_changed = (header.flags & wire::kChanged) != 0;
  link.counters->segments_repaired += !same && !frame.rebuilt && !was_changed;
  faults_.settle(frame, header,
                 !same_length ? health::FaultKind::kLength
                 : same       ? health::FaultKind::kHeader
                              : health::FaultKind::kPayload);
  faults_.report(frame, header, view.payload);
  faults_.discard(OutOfOrderQueue::remove(place));
}

void Receiver::on_probe(Link& link, wire::Class c, const wire::FrameView& view) noexcept {
  wire::ProbeBody body;
  if (view.header.length != sizeof(body)) return;
  std::memcpy(&body, view.payload, sizeof(body));
  ReceiveWindow& rx = link.receive_window(c);
  control_.schedule_ack(link.control, c, true);
  const int32_t ahead = distance(rx.expected(), body.next_psn);
  if (ahead <= 0 || ahead > kMaxAhead) return;
  if (link.mode() == Mode::kObserve) return rx.skip_to(body.next_psn);  // nothing is retransmitted
  rx.extend(body.next_psn);
  rx.on_probe(body);
  schedule_nack(link, c);
}

void Receiver::on_repair(Link& link, wire::Class c, const wire::FrameView& view) noexcept {
  wire::RepairBody body;
  if (view.header.length < sizeof(body)) return;
  std::memcpy(&body, view.payload, sizeof(body));
  const uint8_t* bytes = view.payload + sizeof(body);
  const uint32_t length = view.header.length - static_cast<uint32_t>(sizeof(body));
  ReceiveWindow& rx = link.receive_window(c);
  if (!wire::is_data_header(body.header) || body.header.frame_class() != c) return;
  if (uint64_t{body.offset} + length > body.header.length || body.last > 1) return;
  if (body.header.psn - rx.expected() > ReceiveWindow::kMaxAhead)
    return control_.schedule_ack(link.control, c, true);
  QueuedFrame* frame = frame_to_rebuild(link, rx, body.header);
  if (frame == nullptr || frame->good) return;
  faults_.settle(*frame, body.header,
                 length == 0 ? health::FaultKind::kHeader : health::FaultKind::kPayload);
  Faults::compare(*frame, body.offset, bytes, length);
  std::memcpy(frame->payload() + body.offset, bytes, length);
  const uint32_t segment = body.header.segment_size();
  merkle::Bitmap repaired(frame->repaired, wire::kMaxFrameLeaves);
  for (uint32_t at = body.offset; at < body.offset + length; at += segment)
    repaired.set(at / segment);
  frame->nacked = true;  // what is missing still is on its way: the lower transport keeps the order
  if (body.last == 0) return;
  ++frame->rounds;
  frame->good = wire::check_rebuilt(frame->header, frame->payload(), rx.nonce());
  frame->nacked = frame->good;
  if (!frame->good) return schedule_nack(link, c);
  const bool was_changed = (frame->header.flags & wire::kChanged) != 0;
  if (!frame->rebuilt && !was_changed) link.counters->segments_repaired += repaired.count();
  faults_.report(*frame, frame->header, frame->payload());
  deliver_queued(link, c);
}

// The frame that the repair belongs to: what arrived of it, or new memory when nothing did.
QueuedFrame* Receiver::frame_to_rebuild(Link& link, ReceiveWindow& rx,
                                        const wire::FrameHeader& header) noexcept {
  QueuedFrame** place = rx.queue().place_of(header.psn);
  if (OutOfOrderQueue::is_at(place, header.psn)) {
    QueuedFrame* frame = *place;
    if (frame->good) return frame;
    if (frame->header.length == header.length && frame->header.segment == header.segment) {
      frame->header = header;  // the root may be new, or had been damaged
      return frame;
    }
    faults_.discard(OutOfOrderQueue::remove(place));
  }
  rx.extend(header.psn + 1);
  QueuedFrame* frame = insert(place, enqueue(link, rx, header, nullptr));
  if (frame != nullptr) frame->rebuilt = true;
  return frame;
}

// --- mode observe: checks and counts, and delivers what came ---

bool Receiver::on_observed(Link& link, wire::Class c, const wire::FrameView& view,
                           Received* out) noexcept {
  ReceiveWindow& rx = link.receive_window(c);
  link.counters->gaps += view.header.psn != rx.expected();
  rx.skip_to(view.header.psn);
  accept(link, c, view.header);
  // A frame with a HELLO waits for an answer; one of a peer that keeps copies still, as it does not
  // know our mode, for its acknowledgement.
  const bool answer = view.hello != nullptr || (view.header.flags & wire::kObserve) == 0;
  if (!answer) ControlQueue::ack_carried(link.control, c);
  *out = {&link, view.payload, view.header.length, view.header.upper_am_id()};
  return true;
}

// Damaged, but a frame as far as can be seen.
bool Receiver::observe_fault(const Arrival& arrival, Received* out) noexcept {
  const wire::FrameView& view = arrival.view;
  if (view.header.frame_kind() != wire::FrameKind::kData || view.payload == nullptr) return false;
  arrival.link->counters->faults_observed++;
  ReceiveWindow& rx = arrival.link->receive_window(view.header.frame_class());
  rx.skip_to(rx.expected() + 1);  // not what its header says, which may be wrong
  const size_t length = view.hello != nullptr ? view.header.length : arrival.length;
  *out = {arrival.link, view.payload, static_cast<uint32_t>(length), view.header.upper_am_id()};
  return true;
}

// --- damaged frames ---

void Receiver::on_fault(const Arrival& arrival) noexcept {
  Link* link = arrival.link;
  iface_.port.faulted(link, arrival.verdict, arrival.view.header);
  const bool verifies = link != nullptr && link->mode() == Mode::kVerify;
  const QueuedFrame* queued = verifies ? on_damaged(*link, arrival) : nullptr;
  // A control frame, perhaps a probe: its answer is sent anyway, so that no long pause follows.
  if (verifies && (queued == nullptr || !queued->ambiguous))
    control_.schedule_ack(link->control, arrival.c, true);
  if (queued != nullptr) return;  // it is counted when the right one comes
  faults_.count(link, arrival.c, fault_counter(arrival.verdict));
  faults_.report(link, arrival.c, arrival.verdict, arrival.view.header);
}

// Schedules a NACK for a damaged frame that looks like one that is missing
// (ControlSender::send_nacks() makes it at the next poll): a wrong guess costs nothing, and saves
// waiting for the next frame or a probe. Not nullptr: the frame's bytes are queued, to be compared
// with the right ones.
QueuedFrame* Receiver::on_damaged(Link& link, const Arrival& arrival) noexcept {
  ReceiveWindow& rx = link.receive_window(arrival.c);
  const wire::FrameHeader& header = arrival.view.header;
  if (header.kind != wire::kind_byte(wire::FrameKind::kData) || header.frame_class() != arrival.c)
    return nullptr;
  // A proven header may be ahead of what is known; a doubtful one must be just what is missing or
  // comes next.
  const bool proven = arrival.verdict == wire::Verdict::kBadPayload;
  const uint32_t most = proven ? ReceiveWindow::kMaxAhead : rx.top() - rx.expected();
  if (header.psn - rx.expected() > most) return nullptr;
  QueuedFrame** place = rx.queue().place_of(header.psn);
  const bool known = OutOfOrderQueue::is_at(place, header.psn);
  if (known && (*place)->good) return nullptr;
  rx.extend(header.psn + 1);
  QueuedFrame* frame = nullptr;
  if (known) {
    (*place)->nacked = false;
  } else {
    const bool whole = proven || arrival.verdict == wire::Verdict::kBadFrame;
    frame = whole ? insert(place, enqueue(link, rx, header, arrival.view.payload)) : nullptr;
    if (frame != nullptr) {
      Faults::queued(link, arrival.c, arrival.verdict, *frame);
    } else {
      rx.nack_again(header.psn);  // nothing of it is here: the NACK gives its number
    }
  }
  schedule_nack(link, arrival.c);
  return frame;
}

void Receiver::schedule_nack(Link& link, wire::Class c) noexcept {
  link.receive_window(c).refresh_nacked_to();
  control_.schedule(link.control, Control::kNack, c);
}

// --- the out-of-order queue ---

// Memory for a frame of the queue, or nullptr. The frame that all others wait for gets it in any
// case, else one that needs memory to be repaired could never be: the later ones of its link make
// room. They will be retransmitted.
QueuedFrame* Receiver::enqueue(Link& link, ReceiveWindow& rx, const wire::FrameHeader& header,
                               const uint8_t* payload) noexcept {
  if (!frames_.has_room(header.length)) {
    if (header.psn != rx.expected()) {
      link.counters->held_dropped++;
      return nullptr;
    }
    while (QueuedFrame* later = rx.queue().remove_first()) {
      faults_.discard(later);
      link.counters->held_dropped++;
    }
  }
  return frames_.copy(header, payload);
}

// An upcall may send, and a transport that delivers inside the send may bring further frames here:
// those join the queue, or are delivered there when it is their turn; the queue is looked at anew
// each time.
void Receiver::deliver_queued(Link& link, wire::Class c) noexcept {
  ReceiveWindow& rx = link.receive_window(c);
  if (!rx.begin_delivery()) return;
  bool any = false;
  while (QueuedFrame* frame = rx.take_next()) {
    accept(link, c, frame->header);
    iface_.port.deliver(link, c, frame->header.upper_am_id(), frame->payload(),
                        frame->header.length);
    frames_.free(frame);
    any = true;
  }
  rx.end_delivery();
  if (rx.has_faults()) Faults::count_repaired(link, rx);
  if (any && link.is_alive()) control_.schedule_ack(link.control, c, true);
}

}  // namespace verity::link
