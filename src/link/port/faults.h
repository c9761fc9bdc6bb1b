// SPDX-License-Identifier: BSD-3-Clause
// The balance of faults: each damaged frame is counted where it is detected, or, if it was queued,
// when the right bytes come, unless they say that the sender's program changed them meanwhile; once
// more when all that it may have carried has arrived; and reported once, with what differed if the
// right bytes came.
//
// Frames are delivered in order, and only when they are right. So what was damaged before frame N
// is repaired once N is delivered and no frame before it is missing, whatever the damaged frame
// was: data, which was retransmitted, or an acknowledgement, which the next one made good. Only a
// fault after the last frame of a link is never known to be repaired: it may have hit a frame that
// no receiver needed.
#ifndef VERITY_LINK_PORT_FAULTS_H
#define VERITY_LINK_PORT_FAULTS_H

#include "link/port/interface.h"
#include "link/port/port.h"

namespace verity::link {

class Faults {
 public:
  using Counter = uint64_t health::Counters::*;

  Faults(const Interface& iface, OutOfOrderPool& frames) noexcept
      : iface_(iface), frames_(frames) {}
  // The interface ends. Faults whose link was unknown count as repaired if no link of the interface
  // misses a frame.
  ~Faults();
  Faults(const Faults&) = delete;
  Faults& operator=(const Faults&) = delete;

  // --- the balance ---
  // A fault of a frame of this link, or with nullptr of no link that is known.
  void count(Link* link, wire::Class c, Counter kind) noexcept;
  // A frame was delivered after a fault.
  static void count_repaired(Link& link, ReceiveWindow& rx) noexcept;
  // The link ends.
  void link_ends(Link& link) noexcept;

  // --- the reports ---
  // A frame of which nothing is kept that could be compared.
  void report(Link* link, wire::Class c, wire::Verdict verdict,
              const wire::FrameHeader& header) const noexcept;
  // A fault on our own side.
  void report_sent(Link& link, wire::Class c, health::FaultKind kind,
                   const wire::FrameHeader& header, uint32_t attempts) const noexcept;
  // A damaged frame is queued: it is reported when the right bytes come, or when it is given up.
  static void queued(Link& link, wire::Class c, wire::Verdict verdict, QueuedFrame& frame) noexcept;
  // The right frame begins to come: the one in the queue is counted, unless `header` says that the
  // program of its sender, which reports it, changed it. `damaged`: what differs, of an ambiguous
  // one.
  void settle(QueuedFrame& frame, const wire::FrameHeader& header,
              health::FaultKind damaged) noexcept;
  // The right bytes of a part of its payload, before they replace what came first.
  static void compare(QueuedFrame& frame, uint32_t offset, const uint8_t* bytes,
                      uint32_t length) noexcept;
  // The right frame, with its payload; nullptr: it never came.
  void report(QueuedFrame& frame, const wire::FrameHeader& header,
              const uint8_t* payload) const noexcept;
  // The frame leaves the queue: what was not reported yet is reported, and its memory freed.
  void discard(QueuedFrame* frame) noexcept;

 private:
  const Interface& iface_;
  OutOfOrderPool& frames_;
  uint64_t unassigned_ = 0;  // faults of no known link, or of one without room to count them
  bool unclean_ = false;     // some link ended with a fault that was not repaired
};

}  // namespace verity::link

#endif
