// SPDX-License-Identifier: BSD-3-Clause
// Receiving beyond the fast path (which is in hub.h): frames with a HELLO, duplicates, gaps,
// damage, control frames, and the out-of-order queue.
#ifndef VERITY_LINK_RECEIVER_H
#define VERITY_LINK_RECEIVER_H

#include "link/handshake.h"
#include "link/retransmitter.h"

namespace verity::link {

// A frame that may be delivered: from receive() to the caller, who makes the upcall and then calls
// delivered().
struct Received {
  Link* link = nullptr;
  const uint8_t* payload = nullptr;
  uint32_t length = 0;
  uint8_t am_id = 0;
};

// The expected frame was verified and will be delivered. Its state is advanced before the upcall.
inline void accept(Sender& sender, ControlQueue& control, Link& link, wire::Class c,
                   uint32_t length, uint32_t ack, bool ack_requested) noexcept {
  link.receive_window(c).accept();
  link.counters->count_verified(length);
  if (ack != link.send_window(c).una()) sender.on_ack(link, c, ack);
  control.schedule_ack(link.control, c, ack_requested);
}
inline void accept(Sender& sender, ControlQueue& control, Link& link, wire::Class c,
                   const wire::FrameHeader& header) noexcept {
  accept(sender, control, link, c, header.length, header.ack,
         (header.flags & wire::kAckRequest) != 0);
}

class Receiver {
 public:
  Receiver(const Interface& iface, const LinkTable& links, ControlQueue& control,
           OutOfOrderPool& frames, Sender& sender, Faults& faults, Lifecycle& lifecycle,
           Retransmitter& retransmitter, Handshake& handshake) noexcept
      : iface_(iface),
        links_(links),
        control_(control),
        frames_(frames),
        sender_(sender),
        faults_(faults),
        lifecycle_(lifecycle),
        retransmitter_(retransmitter),
        handshake_(handshake) {}

  // One active message of the lower transport. True: `out` is to be delivered.
  bool receive(wire::Class c, const void* data, size_t size, Received* out) noexcept;
  // The same for a compact frame, which is seen as if it had a full header.
  bool receive_compact(const void* data, size_t size, Received* out) noexcept;
  // Delivers from the out-of-order queue what has its turn.
  void deliver_queued(Link& link, wire::Class c) noexcept;

 private:
  // A frame after its check. `length` of what follows its header.
  struct Arrival {
    Link* link = nullptr;
    wire::Class c;
    wire::Verdict verdict;
    wire::FrameView view;
    size_t length;
  };
  bool take(const Arrival& arrival, Received* out) noexcept;
  Link* link_of(const wire::FrameView& view, wire::Class c, const void* data, size_t size,
                wire::Verdict* verdict) noexcept;
  bool on_frame(Link& link, wire::Class c, const wire::FrameView& view, Received* out) noexcept;
  bool on_data(Link& link, wire::Class c, const wire::FrameView& view, Received* out) noexcept;
  void on_ahead(Link& link, wire::Class c, const wire::FrameView& view,
                QueuedFrame** place) noexcept;
  bool on_observed(Link& link, wire::Class c, const wire::FrameView& view, Received* out) noexcept;
  bool observe_fault(const Arrival& arrival, Received* out) noexcept;
  void on_probe(Link& link, wire::Class c, const wire::FrameView& view) noexcept;
  void on_repair(Link& link, wire::Class c, const wire::FrameView& view) noexcept;
  void on_fault(const Arrival& arrival) noexcept;
  QueuedFrame* on_damaged(Link& link, const Arrival& arrival) noexcept;
  void replace(Link& link, QueuedFrame** place, const wire::FrameView& view) noexcept;
  QueuedFrame* frame_to_rebuild(Link& link, ReceiveWindow& rx,
                                const wire::FrameHeader& header) noexcept;
  QueuedFrame* enqueue(Link& link, ReceiveWindow& rx, const wire::FrameHeader& header,
                       const uint8_t* payload) noexcept;
  void schedule_nack(Link& link, wire::Class c) noexcept;
  void accept(Link& link, wire::Class c, const wire::FrameHeader& header) noexcept {
    link::accept(sender_, control_, link, c, header);
  }

  const Interface& iface_;
  const LinkTable& links_;
  ControlQueue& control_;
  OutOfOrderPool& frames_;
  Sender& sender_;
  Faults& faults_;
  Lifecycle& lifecycle_;
  Retransmitter& retransmitter_;
  Handshake& handshake_;
};

}  // namespace verity::link

#endif
