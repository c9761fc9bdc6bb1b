// SPDX-License-Identifier: BSD-3-Clause
// What a link owes: acknowledgements, NACKs, probes, repairs, goodbyes. Bits in the link's state, turned into frames here; a
// frame that finds the lower transport busy stays owed.
#include <algorithm>

#include "link/hub.h"
#include "merkle/tree.h"

namespace verity::link {

namespace {

// Links served in one progress call: the rest has its turn at the next.
constexpr unsigned kServeAtOnce = 32;

}  // namespace

void Hub::owe_nack(Link& link, wire::Class c) noexcept {
  Receiver& rx = link.receiver(c);
  // Left behind long ago, it would be taken for the future once 2^31 frames came since.
  if (rx.nacked_to - rx.expected > rx.top - rx.expected) rx.nacked_to = rx.expected;
  link.owed |= owed_bit(kOweNack, c);
  owe_now(link);
}

void Hub::owe_probe(Link& link, wire::Class c) noexcept {
  link.owed |= owed_bit(kOweProbe, c);
  owe_now(link);
}

// The links stand in a list of their own meanwhile: serving one may run upcalls, which make links owe or remove them.
void Hub::serve_owed() noexcept {
  util::ListNode due;
  util::ListNode busy;
  unsigned count = 0;
  for (; owed_.linked() && count < kServeAtOnce; ++count) {
    Link* link = VERITY_CONTAINER_OF(owed_.next, Link, owed_node);
    if (!link->urgent && polls_ - link->owed_since < config_.ack_polls) break;
    link->owed_node.unlink();
    due.push_back(link->owed_node);
  }
  while (due.linked()) {
    Link* link = VERITY_CONTAINER_OF(due.next, Link, owed_node);
    const bool served = serve(*link);
    if (!link->owed_node.linked()) continue;
    link->owed_node.unlink();
    (served ? owed_ : busy).push_back(link->owed_node);
  }
  while (busy.linked()) {  // first at the next call, unless there are so many that they would keep the others from their turn
    util::ListNode& node = *busy.prev;
    node.unlink();
    (count < kServeAtOnce ? *owed_.next : owed_).push_back(node);
  }
}

bool Hub::flush_owed() noexcept {
  for (size_t left = table_.size() + 1; owed_.linked() && left != 0; --left) {
    if (!serve(*VERITY_CONTAINER_OF(owed_.next, Link, owed_node))) return false;
  }
  return !owed_.linked();
}

// False: the lower transport is busy, and the rest stays owed.
bool Hub::serve(Link& link) noexcept {
  const bool all = serve_class(link, wire::Class::kSync) && serve_class(link, wire::Class::kAsync) && serve_bye(link);
  if (link.owed == 0 && !link.owe_bye) {
    link.urgent = false;
    link.owed_node.unlink();
  } else if (!link.owed_node.linked()) {  // an upcall sent a frame that took along all that was owed at that moment
    link.urgent = true;
    owed_.push_back(link.owed_node);
  }
  return all;
}

bool Hub::serve_bye(Link& link) noexcept {
  if (!link.owe_bye) return true;
  link.owe_bye = false;
  if (send_control(link, wire::Class::kSync, wire::FrameKind::kBye, {}) != Sent::kBusy) return true;
  link.owe_bye = true;
  return false;
}

bool Hub::serve_class(Link& link, wire::Class c) noexcept {
  const auto take = [&](Owed what) {
    const bool owed = (link.owed & owed_bit(what, c)) != 0;
    link.owed &= static_cast<uint8_t>(~owed_bit(what, c));
    return owed;
  };
  const auto put_back = [&](Owed what) {
    if (!link.failed) link.owed |= owed_bit(what, c);
    return false;
  };
  if (take(kOweRepair) && !send_repairs(link, c)) return put_back(kOweRepair);
  if (take(kOweNack) && !send_nacks(link, c)) return put_back(kOweNack);
  if (take(kOweProbe) && !send_probe(link, c)) return put_back(kOweProbe);
  if (take(kOweAck)) {  // unless it rode on one of the above
    if (send_control(link, c, wire::FrameKind::kAck, {}) == Sent::kBusy) return put_back(kOweAck);
    link.counters->acks_sent++;
  }
  return true;
}

Sent Hub::send_control(Link& link, wire::Class c, wire::FrameKind kind, util::Pieces body) noexcept {
  wire::FrameHeader header{};
  uint8_t hello[wire::kMaxHello];
  util::Piece frame[4] = {{&header, sizeof(header)}};
  std::copy(body.begin(), body.end(), frame + 1);
  size_t count = 1 + body.size();
  header.link = link.remote_id;
  if (kind == wire::FrameKind::kNack) header.psn = link.receiver(c).asked_by;
  header.ack = link.receiver(c).expected;
  header.length = static_cast<uint32_t>(util::total_length(body));
  header.kind = wire::kind_byte(kind);
  header.am_id = wire::am_byte(0, c);
  header.segment = segment_byte_;
  if (link.leaving) header.flags |= wire::kLeaving;
  // A probe says who asks: a peer that has given its link up could not tell from an id that it knows no more, and its answer, of
  // another epoch, ends ours. (Links of connect-to-endpoint transports have no HELLO: their connection ends.)
  if (link.greeting || (kind == wire::FrameKind::kProbe && link.peer_epoch != 0)) {
    header.flags |= wire::kHello;
    frame[count++] = {hello, append_hello(link, c, hello)};
  }
  wire::seal_single(&header, util::Pieces(frame + 1, count - 1), link.sender(c).nonce);
  const uint8_t owed = link.owed;
  link.owed &= static_cast<uint8_t>(~owed_bit(kOweAck, c));
  const Sent result = port_.send(link, c, util::Pieces(frame, count));
  if (result == Sent::kBusy) link.owed = owed;
  return result;
}

bool Hub::send_nacks(Link& link, wire::Class c) noexcept {
  Receiver& rx = link.receiver(c);
  uint32_t psn = rx.expected;
  for (Held* held = rx.held;; held = held->next) {
    const uint32_t gap_end = held != nullptr ? held->header.psn : rx.top;
    const auto from = static_cast<int32_t>(rx.nacked_to - psn) > 0 ? rx.nacked_to : psn;
    if (static_cast<int32_t>(gap_end - from) > 0) {
      if (!send_nack_run(link, c, from, gap_end - from)) return false;
      rx.nacked_to = gap_end;
    }
    if (held == nullptr) {
      rx.asked_by = 0;
      return true;
    }
    if (!held->good && !held->nacked) {
      if (!send_nack_held(link, c, *held)) return false;
    }
    psn = held->header.psn + 1;
  }
}

bool Hub::send_nack_run(Link& link, wire::Class c, uint32_t psn, uint32_t run) noexcept {
  Receiver& rx = link.receiver(c);
  const uint64_t wide = run;
  const wire::NackBody body{psn, 0, static_cast<uint16_t>(rx.nack_serial + 1)};
  const util::Piece pieces[2] = {{&body, sizeof(body)}, {&wide, sizeof(wide)}};
  if (send_control(link, c, wire::FrameKind::kNack, pieces) == Sent::kBusy) return false;
  ++rx.nack_serial;
  link.counters->nacks_sent++;
  return true;
}

// Sends the digests of what arrived. When they do not fit one frame, all of it is asked for.
bool Hub::send_nack_held(Link& link, wire::Class c, Held& held) noexcept {
  Receiver& rx = link.receiver(c);
  const merkle::Geometry geometry(held.header.length, held.header.segment_size());
  const uint64_t count = geometry.leaf_count();
  const size_t size = sizeof(wire::FrameHeader) + sizeof(wire::NackBody) + count * sizeof(merkle::Digest) + hello_size_;
  held.nacked = true;
  if (count > wire::kMaxFrameLeaves || size > config_.max_send) return send_nack_run(link, c, held.header.psn, 1);
  merkle::Digest digests[wire::kMaxFrameLeaves];
  const util::Piece payload{held.payload(), held.header.length};
  merkle::leaf_digests(geometry, {&payload, 1}, {digests, count});
  const wire::NackBody body{held.header.psn, static_cast<uint16_t>(count), static_cast<uint16_t>(rx.nack_serial + 1)};
  const util::Piece pieces[2] = {{&body, sizeof(body)}, {digests, count * sizeof(digests[0])}};
  if (send_control(link, c, wire::FrameKind::kNack, pieces) == Sent::kBusy) {
    held.nacked = false;
    return false;
  }
  ++rx.nack_serial;
  link.counters->nacks_sent++;
  return true;
}

bool Hub::send_probe(Link& link, wire::Class c) noexcept {
  Sender& tx = link.sender(c);
  if (tx.oldest == nullptr) return true;
  const uint32_t next = tx.first_unsent != nullptr ? tx.first_unsent->psn : tx.next_psn;
  const auto serial = static_cast<uint16_t>(tx.probe_serial == UINT16_MAX ? 1 : tx.probe_serial + 1);
  const wire::ProbeBody body{next, tx.nacks_seen, serial};
  const util::Piece piece{&body, sizeof(body)};
  tx.probe_serial = serial;
  if (send_control(link, c, wire::FrameKind::kProbe, {&piece, 1}) == Sent::kBusy) return false;
  link.counters->probes_sent++;
  return true;
}

}  // namespace verity::link
