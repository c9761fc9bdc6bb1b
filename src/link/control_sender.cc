// SPDX-License-Identifier: BSD-3-Clause
#include "link/control_sender.h"

#include "merkle/tree.h"

namespace verity::link {

void ControlSender::send_due() noexcept {
  control_.serve_due([this](PendingControl& pending) { return serve(pending); });
}

bool ControlSender::flush(size_t limit) noexcept {
  return control_.flush(limit, [this](PendingControl& pending) { return serve(pending); });
}

bool ControlSender::serve(PendingControl& pending) noexcept {
  Link& link = Link::of(pending);
  if (!pending.close && iface_.port.must_read_on(link)) return false;
  if (send_pending(link)) return true;
  if (pending.any() && iface_.port.wait_for_room(link)) control_.await_room(pending);
  return false;
}

void ControlSender::detach(Link& link) noexcept {
  constexpr int kTimes = 3;
  link.detached = true;
  if (!link.is_alive() || link.mode() != Mode::kVerify || link.never_connected()) return;
  for (int i = 0; i < kTimes; ++i) {
    if (writer_.send_control(link, wire::Class::kSync, wire::FrameKind::kAck, {}) == Sent::kOk)
      continue;
    if (!link.failed()) control_.schedule_ack(link.control, wire::Class::kSync, true);
    return;
  }
}

void ControlSender::attach(Link& link) noexcept {
  if (!link.detached) return;
  link.detached = false;
  if (!link.is_alive() || link.mode() != Mode::kVerify || link.never_connected()) return;
  // At once: a data frame would carry what is scheduled, and does not say it.
  if (writer_.send_control(link, wire::Class::kSync, wire::FrameKind::kAck, {}) != Sent::kOk &&
      !link.failed())
    control_.schedule_ack(link.control, wire::Class::kSync, true);
}

// False: the lower transport is busy, and the rest stays pending.
bool ControlSender::send_pending(Link& link) noexcept {
  return send_pending(link, wire::Class::kSync) && send_pending(link, wire::Class::kAsync) &&
         send_close(link);
}

bool ControlSender::send_pending(Link& link, wire::Class c) noexcept {
  PendingControl& pending = link.control;
  const auto put_back = [&](Control what) {
    if (!link.failed()) pending.put_back(what, c);
    return false;
  };
  if (pending.take(Control::kRepair, c) && !retransmitter_.send_repairs(link, c))
    return put_back(Control::kRepair);
  if (pending.take(Control::kNack, c) && !send_nacks(link, c)) return put_back(Control::kNack);
  if (pending.take(Control::kProbe, c) && !send_probe(link, c)) return put_back(Control::kProbe);
  if (pending.take(Control::kAck, c)) {  // unless one of the above carried it
    if (writer_.send_control(link, c, wire::FrameKind::kAck, {}) == Sent::kBusy)
      return put_back(Control::kAck);
    link.counters->acks_sent++;
  }
  return true;
}

bool ControlSender::send_close(Link& link) noexcept {
  if (!link.control.close) return true;
  link.control.close = false;
  if (writer_.send_control(link, wire::Class::kSync, wire::FrameKind::kBye, {}) != Sent::kBusy)
    return true;
  link.control.close = true;
  return false;
}

// NACKs for all that is missing or damaged and had none yet: the gaps between the frames of the
// out-of-order queue, and after its last one, by their numbers; the damaged frames in it with the
// digests of what arrived.
bool ControlSender::send_nacks(Link& link, wire::Class c) noexcept {
  ReceiveWindow& rx = link.receive_window(c);
  uint32_t psn = rx.expected();
  for (QueuedFrame* frame = rx.queue().first();; frame = frame->next) {
    const uint32_t gap_end = frame != nullptr ? frame->header.psn : rx.top();
    const uint32_t from = static_cast<int32_t>(rx.nacked_to() - psn) > 0 ? rx.nacked_to() : psn;
    if (static_cast<int32_t>(gap_end - from) > 0) {
      if (!send_nack_of_missing(link, c, from, gap_end - from)) return false;
      if (link.failed()) return true;  // inside of the send, and the queue went with it
      rx.nacked(gap_end);
    }
    if (frame == nullptr) break;
    if (!frame->good && !frame->nacked) {
      if (!send_nack_of_damaged(link, c, *frame)) return false;
      if (link.failed()) return true;
    }
    psn = frame->header.psn + 1;
  }
  rx.end_repetition();
  return true;
}

// No digests: the word in their place is the number of frames.
bool ControlSender::send_nack_of_missing(Link& link, wire::Class c, uint32_t psn,
                                         uint32_t count) noexcept {
  const uint64_t wide = count;
  return send_nack(link, c, psn, 0, {&wide, sizeof(wide)});
}

bool ControlSender::send_nack_of_damaged(Link& link, wire::Class c, QueuedFrame& frame) noexcept {
  frame.nacked = true;  // before the send, in which the frame may be repaired and go
  if (send_nack_with_digests(link, c, frame)) return true;
  frame.nacked = false;
  return false;
}

// When the digests do not fit one frame, the whole frame is requested.
bool ControlSender::send_nack_with_digests(Link& link, wire::Class c, QueuedFrame& frame) noexcept {
  const merkle::Geometry geometry(frame.header.length, frame.header.segment_size());
  const uint64_t count = geometry.leaf_count();
  const size_t size = sizeof(wire::FrameHeader) + sizeof(wire::NackBody) +
                      count * sizeof(merkle::Digest) + iface_.config.hello_size;
  if (count > wire::kMaxFrameLeaves || size > iface_.config.max_send)
    return send_nack_of_missing(link, c, frame.header.psn, 1);
  merkle::Digest digests[wire::kMaxFrameLeaves];
  const util::Piece payload{frame.payload(), frame.header.length};
  merkle::leaf_digests(geometry, {&payload, 1}, {digests, count});
  const auto leaves = static_cast<uint16_t>(count);
  return send_nack(link, c, frame.header.psn, leaves, {digests, count * sizeof(digests[0])});
}

bool ControlSender::send_nack(Link& link, wire::Class c, uint32_t psn, uint16_t count,
                              util::Piece digests) noexcept {
  ReceiveWindow& rx = link.receive_window(c);
  const wire::NackBody body{psn, count, static_cast<uint16_t>(rx.nack_serial() + 1)};
  const util::Piece pieces[2] = {{&body, sizeof(body)}, digests};
  if (writer_.send_control(link, c, wire::FrameKind::kNack, pieces) == Sent::kBusy) return false;
  rx.nack_sent();
  link.counters->nacks_sent++;
  return true;
}

bool ControlSender::send_probe(Link& link, wire::Class c) noexcept {
  SendWindow& tx = link.send_window(c);
  if (!tx.in_flight()) return true;
  const wire::ProbeBody body{tx.unsent_psn(), tx.nacks_seen(), tx.next_probe()};
  const util::Piece piece{&body, sizeof(body)};
  if (writer_.send_control(link, c, wire::FrameKind::kProbe, {&piece, 1}) == Sent::kBusy)
    return false;
  link.counters->probes_sent++;
  return true;
}

}  // namespace verity::link
