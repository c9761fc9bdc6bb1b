// SPDX-License-Identifier: BSD-3-Clause
// A link: the protocol's state between two interfaces. Two directions times two classes.
#pragma once

#include <cstdint>

#include "health/counters.h"
#include "health/fault_kind.h"
#include "health/syndrome.h"
#include "link/slot.h"
#include "util/list.h"
#include "wire/frame.h"

namespace verity::link {

struct Link;

enum class Mode : uint8_t { kOff = 0, kObserve = 1, kVerify = 2 };

// A frame kept at the receiver: it arrived before its turn, or its payload is damaged and being repaired.
struct Held {
  Held* next;
  wire::FrameHeader header;
  uint8_t repaired[wire::kMaxFrameLeaves / 8];  // bitmap of the leaves that came again
  bool good;
  bool nacked;    // asked for, or the answer is under way
  bool unproven;  // single-hash frame: header or payload is damaged, which is seen when the right one comes
  bool scratch;   // nothing of it had arrived: rebuilt from repairs alone
  bool faulty;    // it came damaged, and that is to be told; what follows is for that
  health::FaultKind kind;
  wire::Class c;
  uint32_t rounds;  // times that bytes of it came again
  Link* link;
  health::Syndrome syndrome;  // of what was repaired so far

  [[nodiscard]] uint8_t* payload() noexcept { return reinterpret_cast<uint8_t*>(this + 1); }
  [[nodiscard]] size_t footprint() const noexcept { return sizeof(Held) + header.length; }
};

// What this side sends in one class. Frames in flight stand in a list from the oldest on; the window is bounded in frames and in
// bytes, and both shrink to nothing when the link is idle.
//
//   una                  first_unsent            next_psn
//    |  sent, not acked  |  stored, lower busy   |
struct Sender {
  Slot* oldest = nullptr;
  Slot* newest = nullptr;
  Slot* first_unsent = nullptr;
  uint32_t next_psn = 0;
  uint32_t una = 0;
  uint32_t bytes = 0;            // bytes of frames in flight
  uint32_t bytes_unasked = 0;    // bytes since an acknowledgement was last asked for
  uint32_t frames_unasked = 0;
  uint32_t asked_to = 0;         // the frames before this psn were asked for by ask()
  uint16_t nacks_seen = 0;       // serial of the last NACK processed
  uint16_t probe_serial = 0;     // of the last PROBE sent
  bool blocked = false;          // no new frame: window full, a frame waits for the lower transport, or not open
  bool repairing = false;        // some slot has a repair pending
  uint64_t nonce = 0;

  [[nodiscard]] uint32_t frames() const noexcept { return next_psn - una; }
};

// What this side receives in one class.
struct Receiver {
  uint32_t expected = 0;  // the next psn to deliver
  uint32_t top = 0;       // one past the highest psn known to have been sent
  uint32_t nacked_to = 0;
  uint16_t nack_serial = 0;
  uint16_t probe_seen = 0;  // nacks_seen of the last probe
  uint16_t asked_by = 0;    // serial of the probe that makes us repeat NACKs; 0: they are new
  bool draining = false;
  uint8_t damaged = 0;      // faults counted here that were not found repaired yet; more than 255 are counted by the hub
  uint32_t damaged_at = 0;  // `expected` at the last of them
  Held* held = nullptr;  // ascending psn
  uint64_t nonce = 0;
};

// What a link owes its peer; one bit each, so that owing never needs memory.
enum Owed : uint8_t {
  kOweAck = 1u << 0,     // shifted by the class
  kOweNack = 1u << 2,
  kOweProbe = 1u << 4,
  kOweRepair = 1u << 6,
};

struct Link {
  Sender tx[wire::kClasses];
  Receiver rx[wire::kClasses];
  health::Counters* counters = nullptr;     // where it counts; set before it is opened, else the hub's
  uint64_t peer_uid = 0;
  uint32_t local_id = wire::kLinkUnknown;   // what the peer puts into its frames to us
  uint32_t remote_id = wire::kLinkUnknown;  // what we put into ours
  uint32_t epoch = 0;                       // our incarnation of this link
  uint32_t peer_epoch = 0;                  // the peer's, once its HELLO came and is known to be meant for this link
  uint32_t heard_epoch = 0;                 // of the last HELLO, proven or not
  Mode mode = Mode::kVerify;                // agreed: the lower of both sides
  uint8_t path = 0;
  uint8_t owed = 0;          // Owed bits
  bool owe_bye = false;
  bool urgent = false;       // do not wait for reverse traffic
  bool greeting = true;      // our frames carry a HELLO
  bool plain = false;        // established, mode verify: the fast path may be taken
  bool gated = false;        // older messages wait above: no slot for a new one, lest it overtake them
  bool peer_gone = false;    // BYE received: nothing is kept for the peer any more
  bool failed = false;
  bool leaving = false;      // no endpoint uses it: said in every control frame
  bool peer_leaves = false;  // what the peer's last control frame said
  bool reborn = false;       // there was a link to the same peer before
  bool corked = false;       // the caller has no way to the peer yet: no new frame, whatever is acknowledged
  uint32_t owed_since = 0;   // poll count
  util::ListNode owed_node;  // in Hub::owed_
  util::ListNode timer_node;
  uint64_t deadline = 0;        // ns
  uint64_t probe_at = 0;        // ns; the next probe if the peer stays silent
  uint64_t probe_interval = 0;  // ns
  uint64_t copy_at = 0;         // ns; zero-copy sends are copied if the peer is silent then
  uint32_t seen_una[wire::kClasses] = {};
  uint32_t seen_expected[wire::kClasses] = {};
  uint8_t probe_class = 0;  // the class that was asked for last
  bool timer_armed = false;
  bool heard = false;     // a frame came, be it damaged, since the last probe: the peer is not silent
  bool observed = false;  // seen_una was taken: silence can be told at the next firing

  [[nodiscard]] bool in_flight() const noexcept { return tx[0].oldest != nullptr || tx[1].oldest != nullptr; }
  [[nodiscard]] Sender& sender(wire::Class c) noexcept { return tx[static_cast<unsigned>(c)]; }
  [[nodiscard]] Receiver& receiver(wire::Class c) noexcept { return rx[static_cast<unsigned>(c)]; }
};
static_assert(sizeof(Link) <= 512, "an idle link must stay small: hundreds of thousands of them fit one process");

constexpr uint8_t owed_bit(Owed what, wire::Class c) noexcept {
  return static_cast<uint8_t>(what << static_cast<unsigned>(c));
}

}  // namespace verity::link
