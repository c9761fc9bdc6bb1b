// SPDX-License-Identifier: BSD-3-Clause
#include "uct/receiving/delivery.h"

#include <utility>

#include "uct/compat/ucp_ids.h"

namespace verity::uct {

void Delivery::open(const uct_iface_params_t& params) noexcept {
  hub_ = core_.hub.get();
  observed_ids_ = extensions_.observed_ids() |
                  (core_.onesided != nullptr ? 1u << wire::kRmaId : 0) |
                  (core_.is_self ? 1u << kRendezvousRtr : 0);
  descriptors_.headroom =
      (params.field_mask & UCT_IFACE_PARAM_FIELD_RX_HEADROOM) != 0 ? params.rx_headroom : 0;
  if ((params.field_mask & UCT_IFACE_PARAM_FIELD_AM_ALIGNMENT) != 0) {
    const bool has_offset = (params.field_mask & UCT_IFACE_PARAM_FIELD_AM_ALIGN_OFFSET) != 0;
    descriptors_.align_mask = params.am_alignment - 1;
    descriptors_.align_offset = has_offset ? params.am_align_offset : 0;
  }
  descriptors_.full.delivery = descriptors_.compact.delivery = this;
  descriptors_.full.cb = [](uct_recv_desc_t* self, void* desc) noexcept {
    release_desc(self, static_cast<char*>(desc) - sizeof(wire::FrameHeader));
  };
  descriptors_.compact.cb = [](uct_recv_desc_t* self, void* desc) noexcept {
    release_desc(self, static_cast<char*>(desc) - wire::kCompactHeader);
  };
}

// The lower transport's pool of descriptors may be in another thread's hands.
void Delivery::release_desc(uct_recv_desc_t* release, const char* lower_desc) noexcept {
  const AsyncGuard guard(static_cast<Descriptors::Release*>(release)->delivery->core_.threads);
  uct_iface_release_desc(const_cast<char*>(lower_desc));
}

[[gnu::cold]] void Delivery::count_upcall_shared(int change) noexcept {
  const AsyncGuard guard(core_.threads);
  core_.upcalls += static_cast<unsigned>(change);
}

inline ucs_status_t Delivery::call_handler(uint8_t am_id, uint8_t* payload, size_t length,
                                           unsigned flags) noexcept {
  const uct_am_handler_t& handler = core_.wrap.am[am_id];
  count_upcall(1);
  const ucs_status_t status = handler.cb(handler.arg, payload, length, flags);
  count_upcall(-1);
  return status;
}

inline ucs_status_t Delivery::call(uint8_t am_id, uint8_t* payload, size_t length,
                                   unsigned flags) noexcept {
  if (((observed_ids_ >> am_id) & 1) != 0) [[unlikely]]
    return call_observed(am_id, payload, length, flags);
  return call_handler(am_id, payload, length, flags);
}

// With UCT_CB_PARAM_FLAG_DESC the upper layer may keep the descriptor. It then finds our release
// hook in front of its headroom: the lower one's lies a frame header before, untouched.
//
//   | lower hook (8) | headroom ...            | frame header (16 or 32) | payload
//                            | our hook (8) | headroom ...              |
ucs_status_t Delivery::upcall(uint8_t am_id, uint8_t* payload, size_t length, unsigned flags,
                              uct_recv_desc_t* release) noexcept {
  if (core_.check_kept && is_kept(am_id, payload, length)) return UCS_OK;
  descriptors_.offer(payload, flags, release);
  return call(am_id, payload, length, flags);
}

// From a peer in mode off, or in a process in mode off.
ucs_status_t Delivery::receive_unframed(uint8_t am_id, void* data, size_t length,
                                        unsigned flags) noexcept {
  health::Counters& counters = core_.counters();
  counters.frames_unverified++;
  counters.bytes_unverified += length;
  if (defers_async() && is_async(am_id)) [[unlikely]] {
    defer_async(am_id, data, length);
    return UCS_OK;
  }
  if (core_.check_kept && is_kept(am_id, data, length)) [[unlikely]]
    return UCS_OK;
  return call(am_id, static_cast<uint8_t*>(data), length, descriptors_.aligned_flags(data, flags));
}

namespace {

// What checking costs, from samples: two readings of the clock for each frame would be dearer than
// checking a short one.
[[gnu::cold]] void count_time(Ticks begin, const link::Received& received) noexcept {
  health::Counters& counters = *received.link->counters;
  counters.timed_frames++;
  counters.timed_bytes += received.length;
  counters.timed_ns += static_cast<uint64_t>(begin.ns_until(Ticks::now()));
}

}  // namespace

// All compact frames but the usual ones: it is not their turn, they are damaged, the time of their
// check is counted, or another thread may be at work.
[[gnu::noinline]] ucs_status_t Delivery::receive_compact_slow(void* data, size_t length,
                                                              unsigned flags,
                                                              bool is_timed) noexcept {
  link::Received received;
  const Ticks begin = is_timed ? Ticks::now() : Ticks();
  if (!hub_->receive_compact(data, length, &received)) return UCS_OK;
  if (is_timed) count_time(begin, received);
  current_ = &UctLink::of(*received.link);
  const ucs_status_t status = upcall(received.am_id, const_cast<uint8_t*>(received.payload),
                                     received.length, flags, &descriptors_.compact);
  hub_->delivered(received, wire::Class::kSync);
  return status;
}

[[gnu::hot]] ucs_status_t Delivery::receive_compact(void* data, size_t length,
                                                    unsigned flags) noexcept {
  prefetch_next(data);
  const bool is_timed = sampler_.is_due();
  if (is_timed || core_.threads.shared) [[unlikely]]
    return receive_compact_slow(data, length, flags, is_timed);
  link::Link* link = hub_->take_compact(data, length);
  if (link == nullptr) [[unlikely]]
    return receive_compact_slow(data, length, flags, false);
  const uint8_t am_id = wire::compact_am_id(data);
  auto* payload = static_cast<uint8_t*>(data) + wire::kCompactHeader;
  length -= wire::kCompactHeader;
  ucs_status_t status;
  if (core_.check_kept || ((observed_ids_ >> am_id) & 1) != 0) [[unlikely]] {
    current_ = &UctLink::of(*link);
    status = upcall(am_id, payload, length, flags, &descriptors_.compact);
  } else {
    descriptors_.offer(payload, flags, &descriptors_.compact);
    const uct_am_handler_t& handler = core_.wrap.am[am_id];
    ++core_.upcalls;
    status = handler.cb(handler.arg, payload, length, flags);
    --core_.upcalls;
  }
  hub_->delivered(*link, wire::Class::kSync);
  return status;
}

ucs_status_t Delivery::receive_frame(wire::Class c, void* data, size_t length,
                                     unsigned flags) noexcept {
  link::Received received;
  const bool is_timed = sampler_.is_due();
  const Ticks begin = is_timed ? Ticks::now() : Ticks();
  if (!hub_->receive(c, data, length, &received)) [[unlikely]]
    return UCS_OK;
  if (is_timed) [[unlikely]]
    count_time(begin, received);
  auto* payload = const_cast<uint8_t*>(received.payload);
  if (must_defer(c, received.am_id)) {
    defer_async(received.am_id, payload, received.length);
    hub_->delivered(received, c);
    return UCS_OK;
  }
  flags = descriptors_.aligned_flags(payload, flags);
  current_ = &UctLink::of(*received.link);
  const ucs_status_t status =
      upcall(received.am_id, payload, received.length, flags, &descriptors_.full);
  hub_->delivered(received, c);
  return status;
}

// A message of remote memory access, or one that the MPI interposer observes first, perhaps with a
// trailer of its sender's. And the one on self that all of a rendezvous follows: within the call
// that sends it, which posts the receive, the receive would end, too. Stock UCX reads the memory
// there, and MPICH 5.0 does not survive that its callback runs before it has the request.
[[gnu::hot]] ucs_status_t Delivery::call_observed(uint8_t am_id, uint8_t* payload, size_t length,
                                                  unsigned flags) noexcept {
  if (am_id == wire::kRmaId) {
    count_upcall(1);
    if (current_ != nullptr) core_.onesided->receive(*current_, payload, length);
    count_upcall(-1);
    return UCS_OK;
  }
  if (core_.is_self && am_id == kRendezvousRtr) {
    if (runs_deferred_) return call_handler(am_id, payload, length, flags);
    defer(am_id, payload, length);
    return UCS_OK;
  }
  Trailed message{am_id, payload, length, nullptr, 0};
  if (wire::is_own_id(am_id) && !split_message(am_id, payload, length, &message)) [[unlikely]]
    return drop_trailed(length);
  // A descriptor leads from the payload to its release hook: not from within it. The upper layer
  // then copies.
  if (am_id == kLeaderId) flags &= ~static_cast<unsigned>(UCT_CB_PARAM_FLAG_DESC);
  const uint64_t* open =
      extensions_.mpi().incoming(core_.wrap.worker, message.am_id, message.message, message.length,
                                 message.trailer, message.trailer_length);
  const ucs_status_t status = call_handler(message.am_id, message.message, message.length, flags);
  if (open != nullptr && *open != 0) extensions_.mpi().handled(core_.wrap.worker);
  return status;
}

ucs_status_t Delivery::drop_trailed(size_t length) noexcept {
  ucs_warn("ucx-verity: %s: a message of %zu bytes with a trailer that is none was dropped",
           core_.lower_name(), length);
  return UCS_OK;
}

void Delivery::deliver(UctLink& l, wire::Class c, uint8_t am_id, const void* payload,
                       size_t length) noexcept {
  if (must_defer(c, am_id)) return defer_async(am_id, payload, length);
  current_ = &l;
  (void)upcall(am_id, static_cast<uint8_t*>(const_cast<void*>(payload)), length, 0, nullptr);
}

// True: not to be delivered now. What was kept before goes first, behind the lower transport's
// progress: within it the handlers' sends may find other connections broken, and tcp aborts the
// process where the same progress has an event of such a one. On self there is no such progress.
// The completions of sends that the message's frame, or an earlier one, acknowledged go first too:
// the message may be the peer's answer to them, after which a caller makes no progress (MPI_Bsend
// of Open MPI behind a barrier). Within a send, as on self, they wait for progress, and so does the
// message where they are left from before the lower transport's, for the same reason as messages.
bool Delivery::is_kept(uint8_t am_id, const void* payload, size_t length) noexcept {
  if (core_.is_self) wakeup_.wake_once();
  // What is acknowledged was applied, also while the interface closes.
  if (am_id == wire::kRmaId) return false;
  if (closing_) return true;
  if (core_.threads.has_async && is_async(am_id) && !defers_async()) return false;
  const bool behind = !core_.is_self && completions_.are_kept();
  if (!idle_ && !core_.is_self && !behind && core_.upcalls == 0) {
    count_upcall(1);  // they too are inside of the lower transport's callback
    (void)completions_.run();
    count_upcall(-1);
  }
  if (!idle_ && core_.is_self) (void)run_deferred();
  // The request for them was deferred (call_observed()), and its handler sends them: the data of a
  // rendezvous, whose order among other messages matters to no one.
  if (runs_deferred_ && core_.is_self && am_id == kRendezvousData && !idle_) return false;
  if (deferred_.empty() && !idle_ && !runs_deferred_ && !behind) return false;
  defer(am_id, payload, length);
  return true;
}

// --- messages that wait ---

void DeferredMessages::add(uint8_t am_id, const void* payload, size_t length) noexcept {
  const auto* bytes = static_cast<const char*>(payload);
  const ucs_status_t status = guarded([&] {
    messages_.push_back({am_id, std::vector<char>(bytes, bytes + length)});
    return UCS_OK;
  });
  if (status != UCS_OK) VERITY_UCX_FATAL("ucx-verity: out of memory for a received message");
  bytes_ += length;
}

std::vector<DeferredMessages::Message> DeferredMessages::take_all() noexcept {
  bytes_ = 0;
  return std::exchange(messages_, {});
}

void Delivery::defer(uint8_t am_id, const void* payload, size_t length) noexcept {
  deferred_.add(am_id, payload, length);
  core_.check_kept = true;
}

// In UCX's thread, perhaps, while the program's sleeps: the lower transport takes the message for
// handled.
void Delivery::defer_async(uint8_t am_id, const void* payload, size_t length) noexcept {
  defer(am_id, payload, length);
  wakeup_.wake_sleeping();
}

unsigned Delivery::run_deferred() noexcept {
  if (runs_deferred_) return 0;
  runs_deferred_ = true;
  unsigned count = 0;
  for (;;) {
    std::vector<DeferredMessages::Message> messages;
    {
      const AsyncGuard guard(core_.threads);
      messages = deferred_.take_all();
      if (messages.empty()) {
        runs_deferred_ = false;
        core_.check_kept = must_check_kept();
        return count;
      }
      current_ = nullptr;  // of remote memory access none waits here
    }
    for (DeferredMessages::Message& message : messages) {
      (void)call(message.am_id, reinterpret_cast<uint8_t*>(message.bytes.data()),
                 message.bytes.size(), 0);
    }
    count += static_cast<unsigned>(messages.size());
  }
}

}  // namespace verity::uct
