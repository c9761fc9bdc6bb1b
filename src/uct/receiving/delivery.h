// SPDX-License-Identifier: BSD-3-Clause
//
// The path of a received frame: the lower transport's message is verified by the link, in place,
// and then handed up in order, as an upcall of the handler that the upper layer has set for its id.
// On the way
//
//   messages of remote memory access go to OneSided
//   trailers are taken off and given to the MPI interposer, which observes the message first
//   messages that must not go up now are kept (deferred): while the interface is served without its
//   worker's progress, when the message came asynchronously and the upper layer's handler is
//   synchronous, or the worker has an interface without a guard against UCX's thread, in which
//   UCP's handlers make endpoints of all of them, and behind such ones
#ifndef VERITY_UCT_RECEIVING_DELIVERY_H
#define VERITY_UCT_RECEIVING_DELIVERY_H

#include <utility>
#include <vector>

#include "health/sampler.h"
#include "uct/idle/wakeup_timer.h"
#include "uct/onesided/onesided.h"
#include "uct/sending/completions.h"

namespace verity::uct {

// Messages that wait for progress, oldest first.
class DeferredMessages {
 public:
  struct Message {
    uint8_t am_id;
    std::vector<char> bytes;
  };

  [[nodiscard]] bool empty() const noexcept { return messages_.empty(); }
  [[nodiscard]] size_t bytes() const noexcept { return bytes_; }
  // A copy; ends the process where there is no memory, as the message does not come again.
  void add(uint8_t am_id, const void* payload, size_t length) noexcept;
  [[nodiscard]] std::vector<Message> take_all() noexcept;

 private:
  std::vector<Message> messages_;
  size_t bytes_ = 0;
};

class Delivery {
 public:
  Delivery(IfaceCore& core, Completions& completions, const Extensions& extensions,
           WakeupTimer& wakeup) noexcept
      : core_(core), completions_(completions), extensions_(extensions), wakeup_(wakeup) {}

  // The links' hub, and OneSided if there is one, are there.
  void open(const uct_iface_params_t& params) noexcept;

  // An active message of the lower transport.
  [[nodiscard, gnu::hot]] ucs_status_t receive(uint8_t lower_id, void* data, size_t length,
                                               unsigned flags) noexcept {
    if (lower_id == wire::kCompactId) [[likely]]
      return receive_compact(data, length, flags);
    if (lower_id == wire::kSyncId) return receive_frame(wire::Class::kSync, data, length, flags);
    if (lower_id == wire::kAsyncId) return receive_frame(wire::Class::kAsync, data, length, flags);
    return receive_unframed(lower_id, data, length, flags);
  }
  // A message of that link which had waited in the link for an earlier one.
  void deliver(UctLink& l, wire::Class c, uint8_t am_id, const void* payload,
               size_t length) noexcept;

  [[nodiscard]] const DeferredMessages& deferred() const noexcept { return deferred_; }
  // Hands up what was deferred; how many.
  unsigned run_deferred() noexcept;

  // From here on nothing goes up any more.
  void close() noexcept { closing_ = core_.check_kept = true; }
  [[nodiscard]] bool is_closing() const noexcept { return closing_; }
  // While serve() runs nothing goes up: the worker is not being progressed. It may lead here again,
  // where a completion in mode off destroys an endpoint.
  template <typename Serve>
  void without_upcalls(Serve&& serve) noexcept {
    const bool before = std::exchange(idle_, true);
    core_.check_kept = true;
    serve();
    idle_ = before;
    completions_.keep();
    core_.check_kept = must_check_kept();
  }

 private:
  // Received descriptors, which the upper layer may keep; see upcall().
  struct Descriptors {
    struct Release : uct_recv_desc_t {
      Delivery* delivery;
    };
    Release full{};     // of those whose frame has a full header
    Release compact{};  // a compact one
    size_t headroom = 0;
    uintptr_t align_mask = 0;  // what the upper layer wants: (data + offset) & mask == 0
    uintptr_t align_offset = 0;

    // Puts our hook where the upper layer finds it, which may keep the descriptor.
    void offer(uint8_t* payload, unsigned flags, uct_recv_desc_t* release) const noexcept {
      if ((flags & UCT_CB_PARAM_FLAG_DESC) != 0) uct_recv_desc(payload - headroom) = release;
    }
    // Those of a message that may have another header than the one that the lower transport aligns
    // for: data that is not aligned is not offered in a descriptor, and the upper layer copies it.
    [[nodiscard]] unsigned aligned_flags(const void* data, unsigned flags) const noexcept {
      const bool is_aligned =
          ((reinterpret_cast<uintptr_t>(data) + align_offset) & align_mask) == 0;
      return is_aligned ? flags : flags & ~static_cast<unsigned>(UCT_CB_PARAM_FLAG_DESC);
    }
  };
  static void release_desc(uct_recv_desc_t* release, const char* lower_desc) noexcept;

  [[nodiscard]] ucs_status_t receive_compact(void* data, size_t length, unsigned flags) noexcept;
  [[nodiscard]] ucs_status_t receive_compact_slow(void* data, size_t length, unsigned flags,
                                                  bool is_timed) noexcept;
  [[nodiscard]] ucs_status_t receive_frame(wire::Class c, void* data, size_t length,
                                           unsigned flags) noexcept;
  [[nodiscard]] ucs_status_t receive_unframed(uint8_t am_id, void* data, size_t length,
                                              unsigned flags) noexcept;
  [[nodiscard]] bool is_async(uint8_t am_id) const noexcept {
    return (core_.wrap.am[am_id].flags & UCT_CB_FLAG_ASYNC) != 0;
  }
  // UCX lets asynchronous handlers run in its thread, and does not ask for it. A closing interface
  // has left its group.
  [[nodiscard]] bool defers_async() const noexcept {
    return closing_ || (core_.threads.has_async && core_.group.has_unguarded());
  }
  // The sender's handler of that message is asynchronous, and ours is not, or must not run in UCX's
  // thread: it waits for progress.
  [[nodiscard]] bool must_defer(wire::Class c, uint8_t am_id) const noexcept {
    return c == wire::Class::kAsync && (!is_async(am_id) || defers_async());
  }
  [[nodiscard]] bool must_check_kept() const noexcept {
    return closing_ || idle_ || runs_deferred_ || !deferred_.empty() || !completions_.empty() ||
           (core_.is_self && wakeup_.may_sleep());
  }
  [[nodiscard]] bool is_kept(uint8_t am_id, const void* payload, size_t length) noexcept;
  void defer(uint8_t am_id, const void* payload, size_t length) noexcept;
  void defer_async(uint8_t am_id, const void* payload, size_t length) noexcept;
  ucs_status_t upcall(uint8_t am_id, uint8_t* payload, size_t length, unsigned flags,
                      uct_recv_desc_t* release) noexcept;
  // Inline: each does less than a call costs.
  [[gnu::always_inline]] ucs_status_t call(uint8_t am_id, uint8_t* payload, size_t length,
                                           unsigned flags) noexcept;
  [[gnu::always_inline]] ucs_status_t call_handler(uint8_t am_id, uint8_t* payload, size_t length,
                                                   unsigned flags) noexcept;
  ucs_status_t call_observed(uint8_t am_id, uint8_t* payload, size_t length,
                             unsigned flags) noexcept;
  ucs_status_t drop_trailed(size_t length) noexcept;
  // Where a lower transport delivers several messages in one call of progress, each lies a fixed
  // step behind the one before in shared memory, still in the sender's cache: the one after next is
  // fetched while this one is checked. Not from a message that came alone: its successor would be
  // taken from the sender before it is written.
  [[gnu::always_inline]] void prefetch_next(const void* data) noexcept {
    constexpr uintptr_t kMostStep = 256;  // bytes
    const auto at = reinterpret_cast<uintptr_t>(data);
    const uint32_t polls = hub_->control.polls();
    const uintptr_t step = at - last_at_;
    if (polls == last_polls_ && step <= kMostStep)
      __builtin_prefetch(reinterpret_cast<const void*>(at + 2 * step));
    last_at_ = at;
    last_polls_ = polls;
  }
  // A message that had waited is handled outside of the guard, and UCX's asynchronous thread may be
  // at another one then.
  [[gnu::always_inline]] void count_upcall(int change) noexcept {
    if (core_.threads.shared) [[unlikely]]
      count_upcall_shared(change);
    else
      core_.upcalls += static_cast<unsigned>(change);
  }
  void count_upcall_shared(int change) noexcept;

  IfaceCore& core_;
  Completions& completions_;
  const Extensions& extensions_;
  WakeupTimer& wakeup_;
  link::Hub* hub_ = nullptr;
  UctLink* current_ = nullptr;  // whose message is being delivered
  uintptr_t last_at_ = 0;       // where the last compact frame lay
  uint32_t last_polls_ = 0;     // and in which poll it came
  uint32_t observed_ids_ = 0;   // bitmap of the messages that call_observed() looks at
  bool closing_ = false;
  bool idle_ = false;  // in without_upcalls()
  bool runs_deferred_ = false;
  health::Sampler sampler_;  // of received frames
  Descriptors descriptors_;
  DeferredMessages deferred_;
};

}  // namespace verity::uct

#endif
