// SPDX-License-Identifier: BSD-3-Clause
// Turns what is pending in the ControlQueue into frames: REPAIR, NACK, PROBE, ACK, BYE. A frame
// that finds the lower transport busy stays pending, and is not made again in each poll where the
// port says when there is room.
#ifndef VERITY_LINK_CONTROL_SENDER_H
#define VERITY_LINK_CONTROL_SENDER_H

#include "link/port/frame_writer.h"
#include "link/retransmitter.h"

namespace verity::link {

class ControlSender {
 public:
  ControlSender(const Interface& iface, ControlQueue& control,
                Retransmitter& retransmitter) noexcept
      : iface_(iface), control_(control), retransmitter_(retransmitter), writer_(iface) {}

  // What is due.
  void send_due() noexcept;
  // Everything, but at most `limit` links' worth. False: the lower transport was busy.
  bool flush(size_t limit) noexcept;

  // The last endpoint of a link goes, with it perhaps all progress, though the interface stays: the
  // peer's flushes need not wait for long. Said several times, as it may be lost. attach(): there
  // is an endpoint again, which the peer learns from the next control frame.
  void detach(Link& link) noexcept;
  void attach(Link& link) noexcept;

 private:
  bool serve(PendingControl& pending) noexcept;
  bool send_pending(Link& link) noexcept;
  bool send_pending(Link& link, wire::Class c) noexcept;
  bool send_close(Link& link) noexcept;
  bool send_nacks(Link& link, wire::Class c) noexcept;
  bool send_nack_of_missing(Link& link, wire::Class c, uint32_t psn, uint32_t count) noexcept;
  bool send_nack_of_damaged(Link& link, wire::Class c, QueuedFrame& frame) noexcept;
  bool send_nack_with_digests(Link& link, wire::Class c, QueuedFrame& frame) noexcept;
  bool send_nack(Link& link, wire::Class c, uint32_t psn, uint16_t count,
                 util::Piece digests) noexcept;
  bool send_probe(Link& link, wire::Class c) noexcept;

  const Interface& iface_;
  ControlQueue& control_;
  Retransmitter& retransmitter_;
  const FrameWriter writer_;
};

}  // namespace verity::link

#endif
