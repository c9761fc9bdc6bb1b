// SPDX-License-Identifier: BSD-3-Clause
#include "uct/iface/link_port.h"

#include <algorithm>
#include <utility>

#include "uct/links/fault_report.h"
#include "uct/process/clock.h"
#include "uct/process/warnings.h"
#include "wire/rma.h"

namespace verity::uct {

namespace {

ucs_status_t status_of(link::Failure why) noexcept {
  switch (why) {
    case link::Failure::kRestarted: return UCS_ERR_CONNECTION_RESET;
    case link::Failure::kNoMemory: return UCS_ERR_NO_MEMORY;
    default: return UCS_ERR_ENDPOINT_TIMEOUT;
  }
}

}  // namespace

// --- frames ---

link::Sent LinkPort::send(link::Link& l, wire::Class c, util::Pieces frame) noexcept {
  return sender_.send_frame(UctLink::of(l), c, frame);
}

link::Sent LinkPort::send_compact(link::Link& l, util::Piece frame) noexcept {
  return sender_.send_compact(UctLink::of(l), frame);
}

bool LinkPort::wait_for_room(link::Link& link) noexcept {
  UctLink& l = UctLink::of(link);
  return l.lower != nullptr && sender_.wait_for_lower(l);
}

namespace {

// Any message of this side would carry all of it.
bool has_only_acks(const link::PendingControl& pending) noexcept {
  constexpr unsigned kAcks = link::control_bit(link::Control::kAck, wire::Class::kSync) |
                             link::control_bit(link::Control::kAck, wire::Class::kAsync);
  return (pending.bits & ~kAcks) == 0;
}

}  // namespace

void LinkPort::note_time(uint64_t now) noexcept {
  constexpr uint64_t kPause = 50'000'000;  // ns; less than a closing interface waits for
  const uint64_t last = std::max(noted_at_, core_.hub->now());
  pauses_ += last != 0 && now - std::min(now, last) >= kPause;
  noted_at_ = now;
}

// A peer may have left while this process made no progress, and what it sent before waits in tcp's
// connection, which it closed. UCX reads no more of it once a send has failed, as the second one
// does: nothing is sent until a progress has brought nothing of that link, and the one that finds
// it waiting reads on (VerityIface::read_on()). Not for ever: a process that seldom makes progress
// finds something each time.
bool LinkPort::must_read_on(link::Link& link) noexcept {
  constexpr uint64_t kLongest = 200'000'000;  // ns
  UctLink& l = UctLink::of(link);
  if (!core_.is_tcp || l.lower == nullptr) return false;
  const uint64_t now = monotonic_ns();
  note_time(now);
  if (l.pause == pauses_) return false;
  const uint32_t polls = core_.hub->control.polls();
  const uint32_t read = l.peer_sent() + l.rx[0].expected() + l.rx[1].expected();
  const uint32_t sent = l.tx[0].next_psn() + l.tx[1].next_psn();
  // By a message that was sent since it waited: this one waits anew.
  const bool was_carried = std::exchange(l.sent, sent) != sent && has_only_acks(l.control);
  if (l.reading_since == 0 || was_carried) l.reading_since = now;
  if (std::exchange(l.read, read) != read) l.read_in = polls;
  if (l.read_in == polls && now - l.reading_since < kLongest) {
    reads_on_ = check_time_ = true;
    return true;
  }
  l.reading_since = 0;
  l.pause = pauses_;
  return false;
}

link::Sent LinkPort::send_source(link::Link& l, wire::Class c, link::Slot& slot) noexcept {
  const link::Sent connected = sender_.connect(UctLink::of(l));
  return connected == link::Sent::kOk ? uct::send_source(UctLink::of(l), c, slot) : connected;
}

void LinkPort::deliver(link::Link& l, wire::Class c, uint8_t am_id, const void* payload,
                       size_t length) noexcept {
  delivery_.deliver(UctLink::of(l), c, am_id, payload, length);
}

// --- sends ---

void LinkPort::source_free(link::Link& l, link::Slot& slot) noexcept {
  completions_.add(slot, l.failed() ? UctLink::of(l).failure : ZcopyState::of(slot).status);
}

void LinkPort::writable(link::Link& link) noexcept {
  UctLink& l = UctLink::of(link);
  if (!l.pending.empty()) links_.request_attention(l);
}

// UCX's thread, where it serves the interface, runs the timers itself: see serve_idle().
void LinkPort::deadline_set() noexcept {
  if (core_.is_self) return wakeup_.wake_once();  // what is sent is received at once
  if (!core_.threads.threaded || links_.has_off_links())
    wakeup_.set_while_asleep(core_.config.probe_after);
}

void LinkPort::source_changed(link::Link& l, const link::Slot& slot, bool freed) noexcept {
  const uint64_t peer = UctLink::of(l).peer_uid;
  if (slot.source == nullptr)
    return warnings().source_changed(core_.lower_name(), peer, slot.copied_from(),
                                     slot.size - wire::kCompactHeader, Warnings::kNoSend);
  const util::Piece user = slot.source->user();
  // Once it was given back, it may be the buffer of another send, that began later.
  const auto* state = reinterpret_cast<const ZcopyState*>(slot.source->port);
  const uint64_t watched = freed ? state->watched : Warnings::kAnySend;
  warnings().source_changed(core_.lower_name(), peer, user.data, user.length, watched);
}

// --- ends ---

void LinkPort::failed(link::Link& link, link::Failure why) noexcept {
  UctLink& l = UctLink::of(link);
  l.failure = status_of(why);
  process().link_failed(core_.lower_name(), l.peer_uid, why);
  links_.request_attention(l);
}

void LinkPort::peer_closed(link::Link& link) noexcept {
  UctLink& l = UctLink::of(link);
  if (core_.onesided != nullptr) core_.onesided->peer_closed(l);
  links_.request_attention(l);
}

// --- handshake ---

link::Link* LinkPort::new_peer(const wire::HelloView& hello) noexcept {
  UctLink* l = nullptr;
  const ucs_status_t status = guarded([&] {
    const uct_iface_attr_t& attr = core_.lower_attr();
    // A HELLO where endpoints are connected in pairs is from no peer of this version, and could not
    // be answered.
    if (delivery_.is_closing() || core_.to_ep || hello.ext.device_length != attr.device_addr_len ||
        hello.ext.iface_length != attr.iface_addr_len) {
      return UCS_ERR_INVALID_ADDR;
    }
    l = links_.link_of_hello(hello);
    return UCS_OK;
  });
  return status == UCS_OK ? l : nullptr;
}

// The peer of a link that was opened with its address, which does not have the name.
void LinkPort::hello_received(link::Link& l, const wire::HelloView& hello) noexcept {
  links_.set_host(UctLink::of(l), process().host_of(hello.ext.host));
}

size_t LinkPort::closed_interfaces(std::span<uint64_t> out) noexcept {
  return process().closed_interfaces(out);
}

void LinkPort::write_addresses(wire::HelloExt& ext, uint8_t* out) noexcept {
  const size_t device_length = core_.lower_attr().device_addr_len;
  const size_t iface_length = core_.lower_attr().iface_addr_len;
  auto* device = reinterpret_cast<uct_device_addr_t*>(out);
  auto* iface = reinterpret_cast<uct_iface_addr_t*>(out + device_length);
  // Asked each time: a transport may learn its address only with its first endpoint.
  if (device_length != 0) (void)uct_iface_get_device_address(core_.lower(), device);
  if (iface_length != 0) (void)uct_iface_get_address(core_.lower(), iface);
  ext.device_length = static_cast<uint8_t>(device_length);
  ext.iface_length = static_cast<uint8_t>(iface_length);
  ext.trailers = sender_.extensions().advertised();
  process().write_host(ext.host);
}

// --- faults ---

namespace {

health::Operation operation_of(const link::Fault& fault) noexcept {
  if (fault.header.kind != wire::kind_byte(wire::FrameKind::kData) && !fault.sent)
    return health::Operation::kControl;
  if (fault.header.upper_am_id() != wire::kRmaId || fault.payload == nullptr ||
      fault.header.length == 0) {
    return health::Operation::kMessage;
  }
  switch (static_cast<wire::RmaKind>(fault.payload[0])) {
    case wire::RmaKind::kPut: return health::Operation::kPut;
    case wire::RmaKind::kGot: return health::Operation::kGet;
    case wire::RmaKind::kAtomic: return health::Operation::kAtomic;
    default: return health::Operation::kControl;
  }
}

}  // namespace

void LinkPort::faulted(link::Link*, wire::Verdict verdict,
                       const wire::FrameHeader& header) noexcept {
  ucs_debug("ucx-verity: %s: %s, psn %u, length %u", core_.lower_name(),
            std::string(wire::to_string(verdict)).c_str(), header.psn, header.length);
}

void LinkPort::diagnosed(link::Link* l, const link::Fault& fault) noexcept {
  report_fault(core_, l != nullptr ? &UctLink::of(*l) : nullptr, [&](health::FaultRecord& record) {
    record.sent = fault.sent;
    record.operation = operation_of(fault);
    record.kind = fault.kind;
    record.sequence = fault.header.psn;
    record.length = fault.header.length;
    record.attempts = fault.attempts;
    if (fault.syndrome != nullptr) record.syndrome = *fault.syndrome;
  });
}

}  // namespace verity::uct
