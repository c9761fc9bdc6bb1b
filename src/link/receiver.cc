// SPDX-License-Identifier: BSD-3-Clause
// The receiving side beyond the fast path: greetings, duplicates, gaps, damage, and frames held back to keep the order.
#include <algorithm>
#include <cstdlib>
#include <new>
#include <utility>

#include "link/hub.h"
#include "merkle/bitmap.h"

namespace verity::link {

namespace {

// Closed interfaces whose late answers are recognised.
constexpr size_t kMostClosed = 64;

// No honest peer is further ahead: its window is smaller.
constexpr uint32_t kMaxAhead = 1u << 16;

int32_t distance(uint32_t from, uint32_t to) noexcept { return static_cast<int32_t>(to - from); }

uint64_t health::Counters::*fault_counter(wire::Verdict verdict) noexcept {
  switch (verdict) {
    case wire::Verdict::kBadLength: return &health::Counters::faults_length;
    case wire::Verdict::kBadPayload: return &health::Counters::faults_payload;
    default: return &health::Counters::faults_header;
  }
}

}  // namespace

bool Hub::receive_slow(wire::Class c, const void* data, size_t size, Received* out) noexcept {
  wire::FrameView view{};
  wire::Verdict verdict = wire::parse(data, size, &view);
  Link* link = nullptr;
  if (verdict == wire::Verdict::kGood) {
    link = link_of(view, c, data, size, &verdict);
  } else if (size >= sizeof(wire::FrameHeader)) {
    link = find(view.header.link);
  }
  return take(link, c, verdict, view, size - std::min(size, sizeof(wire::FrameHeader)), out);
}

// A compact frame is looked at as if it had a full header.
bool Hub::receive_compact_slow(const void* data, size_t size, Received* out) noexcept {
  constexpr wire::Class c = wire::Class::kSync;
  wire::FrameView view{};
  if (size < wire::kCompactHeader) return take(nullptr, c, wire::Verdict::kMalformed, view, 0, out);
  const wire::CompactView compact = wire::read_compact(data);
  const size_t length = size - wire::kCompactHeader;
  Link* link = find_compact(compact.fields.link);
  if (!wire::well_formed(compact) || length > UINT32_MAX) {
    return take(link, c, wire::Verdict::kMalformed, view, length, out);
  }
  if (link == nullptr) return take(nullptr, c, wire::Verdict::kGood, view, length, out);
  const wire::CompactFields fields = widened(*link, compact.fields);
  view.payload = static_cast<const uint8_t*>(data) + wire::kCompactHeader;
  view.header.link = link->local_id;
  view.header.psn = fields.psn;
  view.header.ack = fields.ack;
  view.header.length = static_cast<uint32_t>(length);
  view.header.kind = wire::kind_byte(wire::FrameKind::kData);
  view.header.flags = compact.fields.kind & wire::kCompactAckRequest ? wire::kAckRequest : 0;
  view.header.am_id = wire::am_byte(compact.fields.am_id, c);
  view.header.segment = wire::segment_byte(wire::kMaxSegmentLog2);  // one segment, whatever its size
  const bool right = wire::check_compact(data, size, compact, link->receiver(c).nonce, wire::compact_key(fields));
  if (right && link->greeting) met(*link);
  return take(link, c, right ? wire::Verdict::kGood : wire::Verdict::kBadFrame, view, length, out);
}

bool Hub::take(Link* link, wire::Class c, wire::Verdict verdict, const wire::FrameView& view, size_t size,
               Received* out) noexcept {
  if (link != nullptr && link->failed) return false;
  if (link != nullptr) {
    link->heard = true;
    hasten(*link);
  }
  if (verdict != wire::Verdict::kGood) {
    on_fault(link, c, verdict, view);
    return link != nullptr && link->mode == Mode::kObserve && observe_fault(*link, view, size, out);
  }
  if (link == nullptr) {
    counters_.frames_dropped_unknown++;
    return false;
  }
  return on_frame(*link, c, view, out);
}

// The link of a well-formed frame, after its digest was checked. nullptr with kGood: the frame is right but of no link here.
Link* Hub::link_of(const wire::FrameView& view, wire::Class c, const void* data, size_t size, wire::Verdict* verdict) noexcept {
  Link* link = find(view.header.link);
  const bool hello = view.hello != nullptr;
  if (link == nullptr && !hello) return nullptr;
  const uint64_t nonce =
      hello ? wire::nonce(wire::read_hello(view).ext.uid, uid_, c) : link->receiver(c).nonce;
  *verdict = wire::check(data, size, view, nonce);
  if (*verdict == wire::Verdict::kGood && view.header.frame_class() != c) *verdict = wire::Verdict::kBadHeader;
  if (*verdict != wire::Verdict::kGood) {
    if (hello && is_for_closed(view, c, data, size)) {
      *verdict = wire::Verdict::kGood;
      return nullptr;
    }
    if (link != nullptr || !hello) return link;
    const wire::HelloExt ext = wire::read_hello(view).ext;  // damaged, perhaps: a wrong guess does no harm
    return find(ext.uid, ext.path);
  }
  if (hello) return on_hello(view);
  if (link->greeting) met(*link);
  return link;
}

// Whether an undamaged frame is an answer to an interface of this process that has closed. Its address may be this one's now: a peer that
// computed meanwhile connects to it only when it answers, and posix, for instance, addresses a file descriptor of the process.
bool Hub::is_for_closed(const wire::FrameView& view, wire::Class c, const void* data, size_t size) noexcept {
  uint64_t closed[kMostClosed];
  const uint64_t source = wire::read_hello(view).ext.uid;
  const size_t count = port_.closed_interfaces(closed);
  return std::any_of(closed, closed + count, [&](uint64_t target) {
    const wire::Verdict verdict = wire::check(data, size, view, wire::nonce(source, target, c));
    return verdict == wire::Verdict::kGood && view.header.frame_class() == c;
  });
}

// The peer used the id that we gave it: it knows us, and is who we answered last.
void Hub::met(Link& link) noexcept {
  if (link.peer_epoch == 0) link.peer_epoch = link.heard_epoch;
  established(link);
}

// The link of a right frame that greets. The HELLO tells the sender's incarnation, the header's link id which of ours it knows:
//
//   link id          incarnation     what is done
//   any              known           accepted
//   any              older           dropped: it is over
//   any              newer           our link restarts
//   ours             first heard     accepted
//   unknown          first heard     accepted, unless we had a link to that peer before
//   another of ours  first heard     dropped: meant for a link that is gone
//
// The last two: a frame of the peer's former incarnation may still be on its way. An answer with our new id makes the peer prove
// itself, or restart.
Link* Hub::on_hello(const wire::FrameView& view) noexcept {
  const wire::HelloView hello = wire::read_hello(view);
  if (hello.ext.mode > static_cast<uint8_t>(Mode::kVerify) || hello.ext.epoch == 0) return nullptr;
  Link* link = find(hello.ext.uid, hello.ext.path);
  const bool newer = link != nullptr && link->peer_epoch != 0 && link->peer_epoch != hello.ext.epoch;
  if (newer) {
    if (distance(link->peer_epoch, hello.ext.epoch) < 0) return nullptr;
    fail(*link, Failure::kRestarted);
    link = nullptr;
  }
  if (link == nullptr) link = port_.greeted(hello);
  if (link == nullptr || link->failed) return link;
  const bool names_us = view.header.link == link->local_id;
  if (link->peer_epoch != hello.ext.epoch) {
    if (link->heard_epoch != 0 && distance(link->heard_epoch, hello.ext.epoch) < 0) return nullptr;
    hear_hello(*link, hello);
    const bool proven = names_us || newer || (view.header.link == wire::kLinkUnknown && !link->reborn);
    if (!proven) {
      owe_ack(*link, view.header.frame_class(), wire::kAckRequest);
      return nullptr;
    }
    link->peer_epoch = hello.ext.epoch;
    if (view.header.frame_kind() == wire::FrameKind::kAck) probe_at_once(*link);
  }
  if (names_us && link->greeting) established(*link);
  return link;
}

void Hub::hear_hello(Link& link, const wire::HelloView& hello) noexcept {
  link.heard_epoch = hello.ext.epoch;
  link.remote_id = hello.ext.link;
  port_.introduced(link, hello);
  const auto theirs = static_cast<Mode>(hello.ext.mode);
  if (theirs >= link.mode) return;
  link.mode = theirs;
  link.plain = false;
}

// The peer greets without data of its own: maybe what we sent before was dropped, as it could not know us.
void Hub::probe_at_once(Link& link) noexcept {
  for (unsigned c = 0; c < wire::kClasses; ++c) {
    if (link.tx[c].oldest == nullptr) continue;
    owe_probe(link, static_cast<wire::Class>(c));
  }
}

bool Hub::on_frame(Link& link, wire::Class c, const wire::FrameView& view, Received* out) noexcept {
  if (view.header.ack != link.sender(c).una) on_ack(link, c, view.header.ack);
  if (view.header.frame_kind() != wire::FrameKind::kData) link.peer_leaves = (view.header.flags & wire::kLeaving) != 0;
  switch (view.header.frame_kind()) {
    case wire::FrameKind::kData:
      if ((view.header.flags & wire::kObserve) != 0 || link.mode == Mode::kObserve) return on_observed(link, c, view, out);
      return on_data(link, c, view, out);
    case wire::FrameKind::kAck: break;
    case wire::FrameKind::kNack: on_nack(link, c, view); break;
    case wire::FrameKind::kProbe: on_probe(link, c, view); break;
    case wire::FrameKind::kRepair: on_repair(link, c, view); break;
    case wire::FrameKind::kBye: on_bye(link); break;
  }
  return false;
}

bool Hub::on_data(Link& link, wire::Class c, const wire::FrameView& view, Received* out) noexcept {
  Receiver& rx = link.receiver(c);
  const wire::FrameHeader& header = view.header;
  const int32_t ahead = distance(rx.expected, header.psn);
  Held** place = held_place(rx, header.psn);
  const bool known = *place != nullptr && (*place)->header.psn == header.psn;
  if (ahead < 0 || (known && (*place)->good)) {
    link.counters->frames_duplicate++;
    owe_ack(link, c, wire::kAckRequest);
    return false;
  }
  if (known) {
    settle(link, c, **place, header, view.payload);
    unhold(place);
  }
  if (ahead > 0) return on_ahead(link, c, view, place);
  accept(link, c, header);
  if (rx.damaged != 0) count_repaired(link, rx);
  *out = {&link, view.payload, header.length, header.upper_am_id()};
  return true;
}

// A right frame before its turn: an earlier one is damaged or lost.
bool Hub::on_ahead(Link& link, wire::Class c, const wire::FrameView& view, Held** place) noexcept {
  Receiver& rx = link.receiver(c);
  const wire::FrameHeader& header = view.header;
  if (distance(rx.expected, header.psn) > static_cast<int32_t>(kMaxAhead)) return false;
  if (distance(rx.top, header.psn) > 0) link.counters->gaps += header.psn - rx.top;
  if (distance(rx.top, header.psn) >= 0) rx.top = header.psn + 1;
  Held* held = hold(link, rx, header, view.payload);
  if (held != nullptr) {
    held->good = true;
    held->next = *place;
    *place = held;
    link.counters->frames_held++;
  }
  owe_nack(link, c);
  return false;
}

bool Hub::on_observed(Link& link, wire::Class c, const wire::FrameView& view, Received* out) noexcept {
  Receiver& rx = link.receiver(c);
  if (view.header.psn != rx.expected) link.counters->gaps++;
  rx.expected = view.header.psn;
  rx.top = rx.expected;
  // Who greets waits for an answer; who still keeps copies, as it does not know our mode, for acknowledgements.
  const bool answer = view.hello != nullptr || (view.header.flags & wire::kObserve) == 0;
  accept(link, c, view.header);
  if (!answer) ack_rides(link, c);
  *out = {&link, view.payload, view.header.length, view.header.upper_am_id()};
  return true;
}

// Mode observe delivers what came, as far as it is a frame at all. `size`: bytes behind the header.
bool Hub::observe_fault(Link& link, const wire::FrameView& view, size_t size, Received* out) noexcept {
  if (view.header.frame_kind() != wire::FrameKind::kData || view.payload == nullptr) return false;
  link.counters->faults_observed++;
  Receiver& rx = link.receiver(view.header.frame_class());
  rx.top = ++rx.expected;  // not what its header says, which may be wrong
  const size_t length = view.hello != nullptr ? view.header.length : size;
  *out = {&link, view.payload, static_cast<uint32_t>(length), view.header.upper_am_id()};
  return true;
}

void Hub::on_fault(Link* link, wire::Class c, wire::Verdict verdict, const wire::FrameView& view) noexcept {
  port_.faulted(link, verdict, view.header);
  const Held* kept = link != nullptr && link->mode == Mode::kVerify ? on_suspect(*link, c, verdict, view) : nullptr;
  const bool may_be_next = kept != nullptr && kept->unproven;
  // A control frame, perhaps a probe: what it would have asked is answered anyway, so that no long pause follows.
  if (link != nullptr && link->mode == Mode::kVerify && !may_be_next) {
    owe_ack(*link, c, wire::kAckRequest);
  }
  if (!may_be_next) {  // else it is counted when the right one comes
    const auto kind = fault_counter(verdict);
    link != nullptr ? count_fault(*link, c, kind) : count_fault_of_no_link(kind);
  }
  if (kept == nullptr) diagnose(link, c, verdict, view.header);
}

// A damaged frame that looks like one that is missing is asked for at once: a wrong guess costs nothing, and saves waiting for
// the next frame or a probe. Not nullptr: its bytes are kept, to be compared with the right ones.
Held* Hub::on_suspect(Link& link, wire::Class c, wire::Verdict verdict, const wire::FrameView& view) noexcept {
  Receiver& rx = link.receiver(c);
  const wire::FrameHeader& header = view.header;
  if (header.kind != wire::kind_byte(wire::FrameKind::kData) || header.frame_class() != c) return nullptr;
  // A proven header may be ahead of what is known; a doubtful one must be just what is missing or comes next.
  const bool proven = verdict == wire::Verdict::kBadPayload;
  const uint32_t most = proven ? kMaxAhead : rx.top - rx.expected;
  if (header.psn - rx.expected > most) return nullptr;
  Held** place = held_place(rx, header.psn);
  const bool known = *place != nullptr && (*place)->header.psn == header.psn;
  if (known && (*place)->good) return nullptr;
  if (distance(rx.top, header.psn) >= 0) rx.top = header.psn + 1;
  const bool whole = proven || verdict == wire::Verdict::kBadFrame;
  Held* held = known ? *place : whole ? hold(link, rx, header, view.payload) : nullptr;
  if (known) {
    held->nacked = false;
  } else if (held != nullptr) {
    suspect(link, c, verdict, *held);
    held->next = *place;
    *place = held;
  } else if (distance(header.psn, rx.nacked_to) > 0) {
    rx.nacked_to = header.psn;  // nothing of it is here: it is asked for by number
  }
  owe_nack(link, c);
  return known ? nullptr : held;
}

void Hub::on_probe(Link& link, wire::Class c, const wire::FrameView& view) noexcept {
  wire::ProbeBody body;
  if (view.header.length != sizeof(body)) return;
  std::memcpy(&body, view.payload, sizeof(body));
  Receiver& rx = link.receiver(c);
  owe_ack(link, c, wire::kAckRequest);
  const int32_t ahead = distance(rx.expected, body.next_psn);
  if (ahead <= 0 || ahead > static_cast<int32_t>(kMaxAhead)) return;
  if (link.mode == Mode::kObserve) {  // nothing is asked for again
    rx.top = rx.expected = body.next_psn;
    return;
  }
  if (distance(rx.top, body.next_psn) > 0) rx.top = body.next_psn;
  // The lower transport keeps the order: if the peer has seen our last request, its answer would be here by now. If it has
  // not, the request may still be on its way: ask again at the next probe only.
  const bool lost = body.nacks_seen == rx.nack_serial || body.nacks_seen == rx.probe_seen;
  rx.probe_seen = body.nacks_seen;
  if (lost) {
    rx.asked_by = body.serial;
    rx.nacked_to = rx.expected;
    for (Held* held = rx.held; held != nullptr; held = held->next) held->nacked = false;
  }
  owe_nack(link, c);
}

void Hub::on_repair(Link& link, wire::Class c, const wire::FrameView& view) noexcept {
  wire::RepairBody body;
  if (view.header.length < sizeof(body)) return;
  std::memcpy(&body, view.payload, sizeof(body));
  const uint32_t bytes = view.header.length - static_cast<uint32_t>(sizeof(body));
  Receiver& rx = link.receiver(c);
  if (!wire::is_data_header(body.header) || body.header.frame_class() != c) return;
  if (uint64_t{body.offset} + bytes > body.header.length || body.last > 1) return;
  const uint32_t ahead = body.header.psn - rx.expected;
  if (ahead > kMaxAhead) {
    owe_ack(link, c, wire::kAckRequest);
    return;
  }
  Held* held = held_for_repair(link, rx, body.header);
  if (held == nullptr || held->good) return;
  if (std::exchange(held->unproven, false)) {
    count_fault(link, c, bytes == 0 ? &health::Counters::faults_header : &health::Counters::faults_payload);
    held->kind = bytes == 0 ? health::FaultKind::kHeader : health::FaultKind::kPayload;
  }
  look(*held, body.offset, view.payload + sizeof(body), bytes);
  std::memcpy(held->payload() + body.offset, view.payload + sizeof(body), bytes);
  const uint32_t segment = body.header.segment_size();
  merkle::Bitmap repaired(held->repaired, wire::kMaxFrameLeaves);
  for (uint32_t at = body.offset; at < body.offset + bytes; at += segment) repaired.set(at / segment);
  held->nacked = true;  // what is missing still is on its way: the lower transport keeps the order
  if (body.last == 0) return;
  ++held->rounds;
  held->good = wire::check_rebuilt(held->header, held->payload(), rx.nonce);
  held->nacked = held->good;
  if (!held->good) return owe_nack(link, c);
  if (!held->scratch) link.counters->segments_repaired += repaired.count();
  diagnose(*held, held->header, held->payload());
  drain(link, c);
}

// The place where the frame is put together: what arrived of it, or new memory when nothing did.
Held* Hub::held_for_repair(Link& link, Receiver& rx, const wire::FrameHeader& header) noexcept {
  Held** place = held_place(rx, header.psn);
  if (*place != nullptr && (*place)->header.psn == header.psn) {
    Held* held = *place;
    if (held->good) return held;
    if (held->header.length == header.length && held->header.segment == header.segment) {
      held->header = header;  // the root may be new, or had been damaged
      return held;
    }
    unhold(place);
  }
  if (distance(rx.top, header.psn) >= 0) rx.top = header.psn + 1;
  Held* held = hold(link, rx, header, nullptr);
  if (held == nullptr) return nullptr;
  held->scratch = true;
  held->next = *place;
  *place = held;
  return held;
}

void Hub::on_bye(Link& link) noexcept {
  if (link.peer_gone) return;
  link.peer_gone = true;
  link.plain = false;
  retire_all(link);
  link.owed = 0;
  if (!link.owe_bye) link.owed_node.unlink();
  port_.peer_closed(link);
}

// The right frame replaces a damaged one that was kept: now it is known where the damage was.
void Hub::settle(Link& link, wire::Class c, Held& held, const wire::FrameHeader& header, const uint8_t* payload) noexcept {
  const bool same_length = held.header.length == header.length;
  ++held.rounds;
  if (same_length) look(held, 0, payload, header.length);
  if (!held.unproven) {
    link.counters->segments_repaired += held.scratch ? 0 : 1;
    return diagnose(held, header, payload);
  }
  const bool same = same_length && std::memcmp(held.payload(), payload, header.length) == 0;
  held.kind = !same_length ? health::FaultKind::kLength : same ? health::FaultKind::kHeader : health::FaultKind::kPayload;
  count_fault(link, c, same ? &health::Counters::faults_header : &health::Counters::faults_payload);
  link.counters->segments_repaired += !same;
  diagnose(held, header, payload);
}

Held** Hub::held_place(Receiver& rx, uint32_t psn) const noexcept {
  Held** place = &rx.held;
  while (*place != nullptr && distance((*place)->header.psn, psn) > 0) place = &(*place)->next;
  return place;
}

// The frame that all others wait for is held in any case, else one that needs memory to be repaired could never be: the later
// ones of its link make room. They come again.
Held* Hub::hold(Link& link, Receiver& rx, const wire::FrameHeader& header, const uint8_t* payload) noexcept {
  if (held_bytes_ + sizeof(Held) + header.length > config_.held_limit) {
    if (header.psn != rx.expected) {
      link.counters->held_dropped++;
      return nullptr;
    }
    for (; rx.held != nullptr; unhold(&rx.held)) link.counters->held_dropped++;
  }
  void* memory = std::calloc(1, sizeof(Held) + header.length);
  if (memory == nullptr) return nullptr;
  Held* held = new (memory) Held{};
  held->header = header;
  if (payload != nullptr && header.length != 0) std::memcpy(held->payload(), payload, header.length);
  held_bytes_ += held->footprint();
  return held;
}

void Hub::unhold(Held** place) noexcept {
  Held* held = *place;
  *place = held->next;
  diagnose(*held, held->header, nullptr);
  held_bytes_ -= held->footprint();
  std::free(held);
}

void Hub::drop_held(Receiver& rx) noexcept {
  while (rx.held != nullptr) unhold(&rx.held);
}

// Delivers what waits, in order. An upcall may send, and a transport that delivers inside the send may bring further frames
// here: those join the list, or are delivered there when it is their turn; the list is looked at anew each time.
void Hub::drain(Link& link, wire::Class c) noexcept {
  Receiver& rx = link.receiver(c);
  if (rx.draining) return;
  rx.draining = true;
  bool any = false;
  while (rx.held != nullptr && rx.held->good && rx.held->header.psn == rx.expected) {
    Held* held = rx.held;
    rx.held = held->next;
    held_bytes_ -= held->footprint();
    accept(link, c, held->header);
    port_.deliver(link, c, held->header.upper_am_id(), held->payload(), held->header.length);
    std::free(held);
    any = true;
  }
  rx.draining = false;
  if (rx.damaged != 0) count_repaired(link, rx);
  if (any && !link.failed && !link.peer_gone) owe_ack(link, c, wire::kAckRequest);
}

}  // namespace verity::link
