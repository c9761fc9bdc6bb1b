// SPDX-License-Identifier: BSD-3-Clause
// A link: the protocol's state between two interfaces, two directions times two classes. More
// fields than elsewhere: it is all there is.
#ifndef VERITY_LINK_STATE_LINK_H
#define VERITY_LINK_STATE_LINK_H

#include <array>
#include <cstdint>

#include "health/counters.h"
#include "link/state/connection.h"
#include "link/state/control_queue.h"
#include "link/state/receive_window.h"
#include "link/state/send_window.h"
#include "link/state/timer_wheel.h"
#include "util/list.h"
#include "wire/frame.h"

namespace verity::link {

// The retransmission timer of a link (retransmit_timer.h). It is armed while frames are in flight.
struct RetransmitState {
  Deadline deadline;
  uint64_t probe_at = 0;        // ns; the next probe if the peer acknowledges nothing new
  uint64_t probe_interval = 0;  // ns
  uint64_t bounce_at = 0;       // ns; zero-copy sends are bounced then
  uint32_t seen_una[wire::kClasses] = {};
  uint32_t seen_expected[wire::kClasses] = {};
  uint8_t probe_class = 0;  // the class that was probed last
  bool received = false;    // a frame came, be it damaged, since the last probe
  bool observed =
      false;  // seen_una was taken: the next expiry can tell whether anything was acknowledged
};

// An acknowledgement that control frames do not carry yet: the peer must have another message of
// ours first, which may be lost, and no control frame says that there is one.
struct WithheldAck {
  bool on = false;
  bool sent = false;   // that message has the psn before `until`
  uint32_t ack = 0;    // carried instead
  uint32_t until = 0;  // acknowledged by the peer
};

// A psn in each class.
using Psns = std::array<uint32_t, wire::kClasses>;

// More than 15 fields: windows, handshake, control frames and timer are structs already; what
// remains identifies the two ends, or is a flag.
struct Link {
  SendWindow tx[wire::kClasses];
  ReceiveWindow rx[wire::kClasses];
  health::Counters* counters =
      nullptr;  // where it counts; set before it is opened, else the interface's
  uint64_t peer_uid = 0;
  uint32_t local_id = wire::kLinkUnknown;   // what the peer puts into its frames to us
  uint32_t remote_id = wire::kLinkUnknown;  // what we put into ours
  uint32_t epoch = 0;                       // our incarnation of this link
  uint32_t peer_epoch = 0;   // the peer's, once its HELLO is known to be meant for this link
  uint32_t hello_epoch = 0;  // of the last HELLO, proven or not
  Connection connection;
  uint8_t path = 0;
  bool reconnected = false;    // there was a link to the same peer before
  bool detached = false;       // no endpoint uses it: flagged in every control frame
  bool peer_detached = false;  // what the peer's last control frame said
  uint32_t detached_top = 0;   // frames that the peer had sent by then
  bool behind_pending =
      false;             // older messages wait above: no slot for a new one, lest it overtake them
  bool in_turn = false;  // the oldest of them is tried again, see has_turn()
  Psns turn_psns{};      // next_psns() when its turn began
  bool no_lower_endpoint = false;  // no new frame, whatever is acknowledged
  uint32_t zero_copies = 0;        // frames in flight that are of zero-copy sends
  util::ListNode still_read;  // sources of acknowledged frames that the lower transport still reads
  PendingControl control;
  WithheldAck withheld;  // in the synchronous class
  RetransmitState timer;

  [[nodiscard]] Mode mode() const noexcept { return connection.mode(); }
  [[nodiscard]] bool failed() const noexcept { return connection.failed(); }
  [[nodiscard]] bool peer_closed() const noexcept { return connection.peer_closed(); }
  [[nodiscard]] bool is_alive() const noexcept { return connection.is_alive(); }
  [[nodiscard]] bool is_fast() const noexcept { return connection.is_fast(); }
  [[nodiscard]] bool carries_hello() const noexcept { return connection.carries_hello(); }
  [[nodiscard]] bool in_flight() const noexcept { return tx[0].in_flight() || tx[1].in_flight(); }
  // Frames that the lower transport did not take yet.
  [[nodiscard]] bool has_unsent() const noexcept {
    return tx[0].has_unsent() || tx[1].has_unsent();
  }
  // The same of the frames before those psns, by class.
  [[nodiscard]] bool in_flight_before(const Psns& psn) const noexcept {
    return tx[0].in_flight_before(psn[0]) || tx[1].in_flight_before(psn[1]);
  }
  [[nodiscard]] bool has_unsent_before(const Psns& psn) const noexcept {
    return tx[0].has_unsent_before(psn[0]) || tx[1].has_unsent_before(psn[1]);
  }
  [[nodiscard]] Psns next_psns() const noexcept { return {tx[0].next_psn(), tx[1].next_psn()}; }
  void begin_turn() noexcept {
    in_turn = true;
    turn_psns = next_psns();
  }
  // A message that has waited may go ahead of the others that wait. It is one: what the completion
  // of its send starts comes behind them.
  [[nodiscard]] bool has_turn() const noexcept { return in_turn && turn_psns == next_psns(); }
  [[nodiscard]] bool must_wait() const noexcept { return behind_pending && !has_turn(); }
  // Frames that the peer has sent, as far as is known here.
  [[nodiscard]] uint32_t peer_sent() const noexcept { return rx[0].top() + rx[1].top(); }
  // The peer has no endpoint for it, nor sent anything since it had one, and nothing is on its way
  // to either side: a connection that ends now loses nothing, with or without a BYE.
  [[nodiscard]] bool is_finished() const noexcept {
    return peer_detached && peer_sent() == detached_top && !in_flight() && rx[0].complete() &&
           rx[1].complete();
  }
  // Frames were sent, be it that none is kept any more (mode observe).
  [[nodiscard]] bool has_sent() const noexcept {
    return tx[0].next_psn() != 0 || tx[1].next_psn() != 0;
  }
  // No frame was exchanged, in either direction.
  [[nodiscard]] bool never_connected() const noexcept {
    return remote_id == wire::kLinkUnknown && peer_epoch == 0 && !has_sent();
  }
  [[nodiscard]] SendWindow& send_window(wire::Class c) noexcept {
    return tx[static_cast<unsigned>(c)];
  }
  [[nodiscard]] const SendWindow& send_window(wire::Class c) const noexcept {
    return tx[static_cast<unsigned>(c)];
  }
  [[nodiscard]] ReceiveWindow& receive_window(wire::Class c) noexcept {
    return rx[static_cast<unsigned>(c)];
  }

  // The acknowledgement for a frame behind which the peer does not know of all that we have sent.
  [[nodiscard]] uint32_t proven_ack(wire::Class c) noexcept {
    const uint32_t expected = receive_window(c).expected();
    if (!withheld.on || c != wire::Class::kSync) return expected;
    const SendWindow& window = send_window(c);
    const uint32_t ahead = withheld.until - window.una();
    withheld.on = !withheld.sent || (ahead != 0 && ahead <= window.frames());
    return withheld.on ? withheld.ack : expected;
  }
  // What an acknowledgement is withheld for was sent, be it lost or not.
  [[nodiscard]] bool has_sent_withheld(wire::Class c) const noexcept {
    return withheld.sent && c == wire::Class::kSync &&
           static_cast<int32_t>(send_window(c).unsent_psn() - withheld.until) >= 0;
  }
  [[nodiscard]] static Link& of(PendingControl& control) noexcept {
    return *VERITY_CONTAINER_OF(&control, Link, control);
  }
  [[nodiscard]] static Link& of(Deadline& deadline) noexcept {
    return *VERITY_CONTAINER_OF(VERITY_CONTAINER_OF(&deadline, RetransmitState, deadline), Link,
                                timer);
  }
};
static_assert(sizeof(Link) <= 512,
              "an idle link must stay small: hundreds of thousands of them fit one process");

}  // namespace verity::link

#endif
