// SPDX-License-Identifier: BSD-3-Clause
// The link layer of one interface: its parts, and what passes through several of them on the fast
// path.
//
// One thread at a time, under the interface's own rules. No clock: time is passed to tick(). The
// fault-free path (reserve, commit, receive, poll) is inline and neither allocates, locks nor calls
// the system. README.md has the whole picture.
#ifndef VERITY_LINK_HUB_H
#define VERITY_LINK_HUB_H

#include "link/control_sender.h"
#include "link/receiver.h"

namespace verity::link {

class Hub {
 public:
  Hub(uint64_t uid, const Config& config, Port& port, health::Counters& counters);
  // Removes the links that are left.
  ~Hub();
  Hub(const Hub&) = delete;
  Hub& operator=(const Hub&) = delete;

  [[nodiscard]] const Config& config() const noexcept { return iface.config; }
  [[nodiscard]] uint64_t uid() const noexcept { return iface.uid; }
  [[nodiscard]] Pool& pool() noexcept { return sender.pool(); }
  // Of what belongs to no link, and of links that have no counters of their own.
  [[nodiscard]] health::Counters& counters() noexcept { return iface.counters; }

  // --- receiving ---
  // Takes one active message of the lower transport. True: `out` is to be delivered, then
  // delivered() to be called.
  [[nodiscard]] bool receive(wire::Class c, const void* data, size_t size, Received* out) noexcept {
    if (size >= sizeof(wire::FrameHeader)) [[likely]] {
      wire::FrameHeader header;
      std::memcpy(&header, data, sizeof(header));
      Link* link = links.find(header.link);
      if (link != nullptr && wire::is_plain_data(header, size)) [[likely]] {
        const ReceiveWindow& rx = link->receive_window(c);
        if (rx.is_next(header.psn) && link->is_fast() && header.frame_class() == c &&
            wire::check_plain_data(data, size, rx.nonce())) [[likely]] {
          accept(sender, control, *link, c, header);
          *out = {link, static_cast<const uint8_t*>(data) + sizeof(header), header.length,
                  header.upper_am_id()};
          return true;
        }
      }
    }
    return receiver.receive(c, data, size, out);
  }
  // The same for a compact frame, of the synchronous class.
  [[nodiscard]] bool receive_compact(const void* data, size_t size, Received* out) noexcept {
    Link* link = take_compact(data, size);
    if (link == nullptr) [[unlikely]]
      return receiver.receive_compact(data, size, out);
    *out = {link, static_cast<const uint8_t*>(data) + wire::kCompactHeader,
            static_cast<uint32_t>(size - wire::kCompactHeader), wire::compact_am_id(data)};
    return true;
  }
  // The link of a compact frame whose turn it is, which is accepted then; nullptr: nothing has
  // happened, and receive_compact() says what becomes of it.
  [[nodiscard, gnu::always_inline]] Link* take_compact(const void* data, size_t size) noexcept {
    constexpr wire::Class c = wire::Class::kSync;
    if (size < wire::kCompactHeader) [[unlikely]]
      return nullptr;
    const wire::CompactView view = wire::read_compact(data);
    const uint8_t kind = view.fields.kind;
    Link* link = links.find_compact(view.fields.link);
    if (link == nullptr || !wire::well_formed(view)) [[unlikely]]
      return nullptr;
    const ReceiveWindow& rx = link->receive_window(c);
    const uint32_t expected = rx.expected();
    if (static_cast<uint16_t>(view.fields.psn) != static_cast<uint16_t>(expected) ||
        rx.queue().first() != nullptr || !link->is_fast()) [[unlikely]]
      return nullptr;
    const uint32_t ack = wire::widen(view.fields.ack, link->send_window(c).una());
    if (!wire::check_compact(data, size, view, rx.nonce(),
                             wire::compact_key({link->local_id, expected, ack, 0, kind})))
        [[unlikely]]
      return nullptr;
    accept(sender, control, *link, c, static_cast<uint32_t>(size - wire::kCompactHeader), ack,
           (kind & wire::kCompactAckRequest) != 0);
    return link;
  }
  // After the upcall: delivers what had waited behind that frame.
  void delivered(Link& link, wire::Class c) noexcept {
    if (link.receive_window(c).queue().first() != nullptr) [[unlikely]]
      receiver.deliver_queued(link, c);
  }
  void delivered(const Received& received, wire::Class c) noexcept { delivered(*received.link, c); }

  // --- progress ---
  // Once per progress call. Sends the control frames that are due; true when tick() should be
  // called with the time.
  [[nodiscard]] bool poll() noexcept {
    if (control.poll()) control_sender.send_due();
    zero_copy.poll(control.polls());
    return (control.polls() & 63) == 0;
  }
  // Runs the timers. `now`: ns of a monotonic clock.
  void tick(uint64_t now) noexcept;
  // Of the last tick(), ns.
  [[nodiscard]] uint64_t now() const noexcept { return timer.now(); }
  // When tick() must be called next, ns; UINT64_MAX when no timer runs. Before a process sleeps.
  [[nodiscard]] uint64_t next_deadline() const noexcept { return timer.next_deadline(); }
  // Sends all pending control frames at once, waiting for no reverse traffic: before sleeping or
  // closing. False: the lower was busy.
  bool flush_control() noexcept { return control_sender.flush(links.all().size() + 1); }
  [[nodiscard]] bool has_pending_control() const noexcept { return !control.empty(); }
  // Nothing in flight that a peer could still ask for, no answer to a HELLO on its way, and no
  // control frame pending.
  [[nodiscard]] bool is_idle() const noexcept;

  // The parts, by value, so that the fast path has no pointer to follow. The sender is first: its
  // address is the hub's, which saves instructions where a frame is committed. Each of the others
  // refers to some of those before it.
  Sender sender;
  const Interface iface;
  LinkTable links;
  ControlQueue control;
  OutOfOrderPool out_of_order;
  ZeroCopy zero_copy;
  RetransmitTimer timer;
  Faults faults;
  Lifecycle lifecycle;
  Handshake handshake;
  Retransmitter retransmitter;
  ControlSender control_sender;
  Receiver receiver;

 private:
  uint64_t trimmed_at_ = 0;
};

}  // namespace verity::link

#endif
