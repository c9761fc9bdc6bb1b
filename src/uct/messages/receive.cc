// SPDX-License-Identifier: BSD-3-Clause
// Receiving: lower active messages become verified upcalls, in order.
#include "uct/process/process.h"
#include "uct/iface/verity_ep.h"

namespace verity::uct {

uct_am_callback_t VerityIface::am_callback() const noexcept { return receive_op; }

[[gnu::hot]] ucs_status_t VerityIface::receive_op(void* arg, void* data, size_t length, unsigned flags) noexcept {
  const auto* slot = static_cast<const AmSlot*>(arg);
  auto& self = static_cast<VerityIface&>(*slot->iface);
  if (slot->id == kCompactId) [[likely]] return self.receive_compact(data, length, flags);
  if (slot->id == kSyncId) return self.receive(wire::Class::kSync, data, length, flags);
  if (slot->id == kAsyncId) return self.receive(wire::Class::kAsync, data, length, flags);
  return unframed_op(arg, data, length, flags);
}

// From a peer in mode off, or in a process in mode off.
ucs_status_t VerityIface::unframed_op(void* arg, void* data, size_t length, unsigned flags) noexcept {
  const auto* slot = static_cast<const AmSlot*>(arg);
  auto& self = static_cast<VerityIface&>(*slot->iface);
  health::Counters& counters = self.counters();
  counters.frames_unverified++;
  counters.bytes_unverified += length;
  if (self.unusual_ && self.is_kept(slot->id, data, length)) [[unlikely]] return UCS_OK;
  return self.call(slot->id, static_cast<uint8_t*>(data), length, flags);
}

// What checking costs, from samples: two readings of the clock for each frame would be dearer than checking a short one.
template <typename Receive>
__attribute__((noinline)) bool VerityIface::timed(Receive&& receive, link::Received* received) noexcept {
  const ucs_time_t begin = ucs_get_time();
  const bool right = receive();
  const ucs_time_t end = ucs_get_time();
  if (!right) return false;
  health::Counters& counters = *received->link->counters;
  counters.timed_frames++;
  counters.timed_bytes += received->length;
  counters.timed_ns += static_cast<uint64_t>(ucs_time_to_nsec(end - begin));
  return true;
}

[[gnu::hot]] ucs_status_t VerityIface::receive_compact(void* data, size_t length, unsigned flags) noexcept {
  link::Received received;
  const bool right = !sampler_.is_due() ? hub_->receive_compact(data, length, &received)
                                        : timed([&] { return hub_->receive_compact(data, length, &received); }, &received);
  if (!right) [[unlikely]] return UCS_OK;
  auto* payload = const_cast<uint8_t*>(received.payload);
  current_ = &UctLink::of(*received.link);
  const ucs_status_t status =
      upcall(received.am_id, payload, received.length, flags, &release_compact_);
  hub_->delivered(received, wire::Class::kSync);
  return status;
}

ucs_status_t VerityIface::receive(wire::Class c, void* data, size_t length, unsigned flags) noexcept {
  link::Received received;
  const bool right = !sampler_.is_due() ? hub_->receive(c, data, length, &received)
                                        : timed([&] { return hub_->receive(c, data, length, &received); }, &received);
  if (!right) [[unlikely]] return UCS_OK;
  auto* payload = const_cast<uint8_t*>(received.payload);
  if (must_defer(c, received.am_id)) {
    defer(received.am_id, payload, received.length);
    hub_->delivered(received, c);
    return UCS_OK;
  }
  // The upper layer then copies, to where it wants it: the lower transport aligned for the other header.
  const auto position = reinterpret_cast<uintptr_t>(payload) + align_offset_;
  if ((position & align_mask_) != 0) flags &= ~static_cast<unsigned>(UCT_CB_PARAM_FLAG_DESC);
  current_ = &UctLink::of(*received.link);
  const ucs_status_t status = upcall(received.am_id, payload, received.length, flags, &release_);
  hub_->delivered(received, c);
  return status;
}

// With UCT_CB_PARAM_FLAG_DESC the upper layer may keep the descriptor. It then finds our release
// hook in front of its headroom: the lower one's lies a frame header before, untouched.
//
//   | lower hook (8) | headroom ...            | frame header (16 or 32) | payload
//                            | our hook (8) | headroom ...              |
[[gnu::hot]] ucs_status_t VerityIface::upcall(uint8_t am_id, uint8_t* payload, size_t length, unsigned flags,
                                 uct_recv_desc_t* release) noexcept {
  if (unusual_ && is_kept(am_id, payload, length)) [[unlikely]] return UCS_OK;
  if ((flags & UCT_CB_PARAM_FLAG_DESC) != 0) uct_recv_desc(payload - headroom_) = release;
  return call(am_id, payload, length, flags);
}

[[gnu::hot]] ucs_status_t VerityIface::call(uint8_t am_id, uint8_t* payload, size_t length, unsigned flags) noexcept {
  if (((told_ids_ >> am_id) & 1) != 0) [[unlikely]] return call_told(am_id, payload, length, flags);
  return call_handler(am_id, payload, length, flags);
}

// A message of remote memory access, or one that the companion is told of first, perhaps with a trailer of its sender's.
[[gnu::hot]] ucs_status_t VerityIface::call_told(uint8_t am_id, uint8_t* payload, size_t length, unsigned flags) noexcept {
  if (am_id == wire::kRmaId) {
    count_upcall(1);
    if (current_ != nullptr) onesided_->receive(*current_, payload, length);
    count_upcall(-1);
    return UCS_OK;
  }
  Trailed message{am_id, payload, length, nullptr, 0};
  if (am_id >= kLeaderId && !take_apart(am_id, payload, length, &message)) [[unlikely]] return drop_trailed(length);
  // A descriptor leads from the payload to its release hook: not from within it. The upper layer then copies.
  if (am_id == kLeaderId) flags &= ~static_cast<unsigned>(UCT_CB_PARAM_FLAG_DESC);
  const uint64_t* open = companion_->arrives(worker, message.am_id, message.message, message.length, message.trailer, message.trailer_length);
  const ucs_status_t status = call_handler(message.am_id, message.message, message.length, flags);
  if (open != nullptr && *open != 0) companion_->arrived(worker);
  return status;
}

ucs_status_t VerityIface::drop_trailed(size_t length) noexcept {
  ucs_warn("ucx-verity: %s: a message of %zu bytes with a trailer that is none was dropped", lower_tl_name(), length);
  return UCS_OK;
}

ucs_status_t VerityIface::call_handler(uint8_t am_id, uint8_t* payload, size_t length, unsigned flags) noexcept {
  const uct_am_handler_t& handler = am[am_id];
  count_upcall(1);
  const ucs_status_t status = handler.cb(handler.arg, payload, length, flags);
  count_upcall(-1);
  return status;
}

// A message that had waited is handled outside of the guard, and UCX's asynchronous thread may be at another one then.
void VerityIface::count_upcall(int change) noexcept {
  if (!shared_) [[likely]] {
    upcalls_ += static_cast<unsigned>(change);
    return;
  }
  const AsyncGuard guard(*this);
  upcalls_ += static_cast<unsigned>(change);
}

// Messages that had been held back.
void VerityIface::deliver(link::Link& link, wire::Class c, uint8_t am_id, const void* payload, size_t length) noexcept {
  if (must_defer(c, am_id)) return defer(am_id, payload, length);
  current_ = &UctLink::of(link);
  (void)upcall(am_id, static_cast<uint8_t*>(const_cast<void*>(payload)), length, 0, nullptr);
}

// True: not to be delivered now. What was kept before goes first, and so do the completions of sends that the message's frame, or an
// earlier one, acknowledged: the message may be the peer's answer to them, after which a caller makes no progress (MPI_Bsend of Open
// MPI behind a barrier). Within a send, as on self, they wait for progress.
bool VerityIface::is_kept(uint8_t am_id, const void* payload, size_t length) noexcept {
  if (closing_) return true;
  if (am_id == wire::kRmaId) return false;
  if (has_async_ && (am[am_id].flags & UCT_CB_FLAG_ASYNC) != 0) return false;
  if (!apart_ && !is_self_ && upcalls_ == 0) (void)run_completions();
  if (!apart_) (void)run_deferred();
  if (deferred_.empty() && !apart_ && !runs_deferred_) return false;
  defer(am_id, payload, length);
  return true;
}

// A message that came while the upper layer was outside of progress, or behind such a one.
void VerityIface::defer(uint8_t am_id, const void* payload, size_t length) noexcept {
  const auto* bytes = static_cast<const char*>(payload);
  const ucs_status_t status = guarded([&] {
    deferred_.push_back({am_id, std::vector<char>(bytes, bytes + length)});
    return UCS_OK;
  });
  if (status != UCS_OK) ucs_fatal("ucx-verity: out of memory for a received message");
  deferred_bytes_ += length;
  unusual_ = true;
}

unsigned VerityIface::run_deferred() noexcept {
  if (runs_deferred_) return 0;
  runs_deferred_ = true;
  unsigned count = 0;
  for (;;) {
    std::vector<Deferred> messages;
    {
      const AsyncGuard guard(*this);
      messages.swap(deferred_);
      deferred_bytes_ = 0;
      if (messages.empty()) {
        runs_deferred_ = false;
        unusual_ = closing_ || done_first_ != nullptr;
        return count;
      }
    }
    current_ = nullptr;  // of remote memory access none waits here
    for (Deferred& message : messages) {
      (void)call(message.am_id, reinterpret_cast<uint8_t*>(message.bytes.data()), message.bytes.size(), 0);
    }
    count += static_cast<unsigned>(messages.size());
  }
}

}  // namespace verity::uct
