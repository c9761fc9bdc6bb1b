// SPDX-License-Identifier: BSD-3-Clause
// What the link layer needs from below and above it. Implemented by the UCT interface and by the
// simulated wire of the tests.
#ifndef VERITY_LINK_PORT_PORT_H
#define VERITY_LINK_PORT_PORT_H

#include <cstdint>
#include <span>

#include "link/state/link.h"
#include "util/bytes.h"
#include "wire/codec.h"

namespace verity::link {

enum class Sent : uint8_t {
  kOk,
  kBusy,    // no resources now: Port promises to call Retransmitter::resume(link) when there are
  kFailed,  // the lower transport reports the peer's failure, or will: the bytes are lost, not to
            // be sent again
};

enum class Failure : uint8_t {
  kRepairsExhausted,  // the same frame was damaged more often than MAX_REPAIRS allows
  kSourceFault,       // the retransmit copy in our own memory is damaged
  kRestarted,         // the peer opened a new incarnation of the link
  kNoMemory,
};

// One damaged frame, reported once: when the right bytes came, or when it is known that they will
// not.
struct Fault {
  health::FaultKind kind;
  wire::Class c;
  bool sent;  // by this side: its own memory's or program's; else it was received
  const wire::FrameHeader& header;   // as far as known
  uint32_t attempts;                 // times that bytes of it travelled again
  const health::Syndrome* syndrome;  // nullptr: no payload to compare, or it was right
  const uint8_t* payload;            // the right one; nullptr when it never came
};

class Port {
 public:
  virtual ~Port() = default;

  // Sends one frame; its bytes may be reused on return.
  virtual Sent send(Link& link, wire::Class c, util::Pieces frame) noexcept = 0;

  // The same for a compact frame (Config::compact), in the synchronous class.
  virtual Sent send_compact(Link&, util::Piece) noexcept { return Sent::kFailed; }

  // After kBusy of a control frame, which the caller would else try in each poll. True: Port calls
  // Retransmitter::resume(link), not inside this call, as soon as there are resources.
  [[nodiscard]] virtual bool wait_for_room(Link&) noexcept { return false; }

  // Whether control frames of that link are not to be sent yet, as more of what the peer sent may
  // come first. Looked at again in the next poll.
  [[nodiscard]] virtual bool must_read_on(Link&) noexcept { return false; }

  // First transmission of a stored frame that has a Source and whose lower transport was busy
  // before.
  virtual Sent send_source(Link& link, wire::Class c, Slot& slot) noexcept = 0;

  // Hands a payload from the out-of-order queue to the upper layer. The bytes are gone on return.
  virtual void deliver(Link& link, wire::Class c, uint8_t am_id, const void* payload,
                       size_t length) noexcept = 0;

  // The user's buffers of this zero-copy slot are free: acknowledged, or bounced. Called once, and
  // once more behind ZeroCopy::let_go(), when the lower transport is done with the slot. The upper
  // completion must not run inside this call.
  virtual void source_free(Link& link, Slot& slot) noexcept = 0;

  // The window has room again. Upper callbacks must not run inside this call.
  virtual void writable(Link& link) noexcept = 0;

  // The link cannot go on; everything in flight was dropped. Upper callbacks must not run inside
  // this call.
  virtual void failed(Link& link, Failure why) noexcept = 0;

  // The program wrote to the buffers of this zero-copy slot between their first sending and their
  // copy (slot.source->user()), or, without a source, of one that was copied late
  // (slot.copied_from()). `freed`: they were given back long before this is detected; the memory
  // may be another message's now.
  virtual void source_changed(Link&, const Slot&, bool /*freed*/) noexcept {}

  // The peer's interface has closed, and the acknowledgement in its BYE was the last one: what is
  // in flight is completed behind this call. Upper callbacks must not run inside it.
  virtual void peer_closed(Link& link) noexcept = 0;

  // A HELLO of an interface for which there is no link yet: returns a new one (opened with
  // Lifecycle::open), or nullptr.
  virtual Link* new_peer(const wire::HelloView& hello) noexcept = 0;

  // A HELLO of the peer of this link; not again once the peer is known to have meant this link.
  virtual void hello_received(Link&, const wire::HelloView&) noexcept {}

  // Writes the uids of interfaces of this process that closed before, the last ones as far as there
  // is room; returns how many.
  virtual size_t closed_interfaces(std::span<uint64_t> /*out*/) noexcept { return 0; }

  // Writes our HELLO's addresses (device, then interface) to `out` and their lengths into `ext`. At
  // most kMaxHello in all.
  virtual void write_addresses(wire::HelloExt& ext, uint8_t* out) noexcept = 0;

  // A fault was detected on this link; for the log. `psn` 0 and `length` as far as known.
  virtual void faulted(Link* link, wire::Verdict verdict,
                       const wire::FrameHeader& header) noexcept = 0;

  // What became of it; for the records. `link` nullptr: of no link that is known. What `fault`
  // points to is gone on return.
  virtual void diagnosed(Link*, const Fault&) noexcept {}

  // A frame is in flight on a link that had no deadline. A process that sleeps does not know of it:
  // another of its threads may have sent.
  virtual void deadline_set() noexcept {}
};

}  // namespace verity::link

#endif
