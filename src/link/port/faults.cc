// SPDX-License-Identifier: BSD-3-Clause
#include "link/port/faults.h"

#include <utility>

namespace verity::link {

namespace {

health::FaultKind kind_of(wire::Verdict verdict) noexcept {
  switch (verdict) {
    case wire::Verdict::kBadLength: return health::FaultKind::kLength;
    case wire::Verdict::kBadPayload: return health::FaultKind::kPayload;
    case wire::Verdict::kBadFrame: return health::FaultKind::kFrame;
    default: return health::FaultKind::kHeader;
  }
}

}  // namespace

Faults::~Faults() {
  if (!unclean_) iface_.counters.faults_repaired += unassigned_;
}

void Faults::count(Link* link, wire::Class c, Counter kind) noexcept {
  health::Counters& counters = link != nullptr ? *link->counters : iface_.counters;
  counters.*kind += 1;
  const Mode mode = link != nullptr ? link->mode() : iface_.config.mode;
  if (mode != Mode::kVerify) return;  // it is delivered as it is
  if (link == nullptr) {
    ++unassigned_;
    return;
  }
  ReceiveWindow& rx = link->receive_window(c);
  count_repaired(*link, rx);
  unassigned_ += !rx.remember_fault();
}

void Faults::count_repaired(Link& link, ReceiveWindow& rx) noexcept {
  link.counters->faults_repaired += rx.take_repaired();
}

// One that was given up has missing frames, and this is not called for it again.
void Faults::link_ends(Link& link) noexcept {
  if (link.failed()) return;
  for (ReceiveWindow& rx : link.rx) {
    count_repaired(link, rx);
    unclean_ = unclean_ || !rx.complete();
  }
}

void Faults::report(Link* link, wire::Class c, wire::Verdict verdict,
                    const wire::FrameHeader& header) const noexcept {
  iface_.port.diagnosed(link, {kind_of(verdict), c, false, header, 0, nullptr, nullptr});
}

void Faults::report_sent(Link& link, wire::Class c, health::FaultKind kind,
                         const wire::FrameHeader& header, uint32_t attempts) const noexcept {
  iface_.port.diagnosed(&link, {kind, c, true, header, attempts, nullptr, nullptr});
}

void Faults::queued(Link& link, wire::Class c, wire::Verdict verdict, QueuedFrame& frame) noexcept {
  frame.ambiguous = verdict == wire::Verdict::kBadFrame;
  frame.uncounted = true;
  frame.faulty = true;
  frame.kind = kind_of(verdict);
  frame.link = &link;
  frame.c = c;
}

void Faults::settle(QueuedFrame& frame, const wire::FrameHeader& header,
                    health::FaultKind damaged) noexcept {
  if (!std::exchange(frame.uncounted, false)) return;
  if ((header.flags & wire::kChanged) != 0) {
    frame.ambiguous = frame.faulty = false;
    return;
  }
  if (std::exchange(frame.ambiguous, false)) frame.kind = damaged;
  count(frame.link, frame.c,
        frame.kind == health::FaultKind::kHeader ? &health::Counters::faults_header
                                                 : &health::Counters::faults_payload);
}

void Faults::compare(QueuedFrame& frame, uint32_t offset, const uint8_t* bytes,
                     uint32_t length) noexcept {
  if (!frame.faulty || length == 0) return;
  const health::Syndrome part =
      health::compare(frame.payload() + offset, bytes, length, {offset, frame.header.length, 0});
  frame.syndrome = health::join(frame.syndrome, part);
}

void Faults::report(QueuedFrame& frame, const wire::FrameHeader& header,
                    const uint8_t* payload) const noexcept {
  if (!std::exchange(frame.faulty, false)) return;
  const health::Syndrome* syndrome = frame.syndrome.bytes != 0 ? &frame.syndrome : nullptr;
  iface_.port.diagnosed(frame.link,
                        {frame.kind, frame.c, false, header, frame.rounds, syndrome, payload});
}

void Faults::discard(QueuedFrame* frame) noexcept {
  if (frame->uncounted && !frame->ambiguous) settle(*frame, frame->header, frame->kind);
  report(*frame, frame->header, nullptr);
  frames_.free(frame);
}

}  // namespace verity::link
