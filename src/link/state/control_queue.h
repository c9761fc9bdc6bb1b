// SPDX-License-Identifier: BSD-3-Clause
// Which links have control frames to send: ACK, NACK, PROBE, REPAIR, BYE. They are bits in the
// state of a link, so that scheduling one never needs memory; ControlSender turns them into frames.
#ifndef VERITY_LINK_STATE_CONTROL_QUEUE_H
#define VERITY_LINK_STATE_CONTROL_QUEUE_H

#include <cstddef>
#include <cstdint>

#include "util/list.h"
#include "wire/frame.h"

namespace verity::link {

// One bit for each class.
enum class Control : uint8_t {
  kAck = 1u << 0,
  kNack = 1u << 2,
  kProbe = 1u << 4,
  kRepair = 1u << 6
};

[[nodiscard]] constexpr uint8_t control_bit(Control what, wire::Class c) noexcept {
  return static_cast<uint8_t>(static_cast<unsigned>(what) << static_cast<unsigned>(c));
}

// What one link has to send. It is in the queue as long as there is something.
struct PendingControl {
  util::ListNode node;
  uint32_t since = 0;        // poll count when it joined the queue
  uint8_t bits = 0;          // of Control
  bool close = false;        // a BYE
  bool urgent = false;       // does not wait for reverse traffic
  bool awaits_room = false;  // of the lower transport, which says when there is some

  [[nodiscard]] bool any() const noexcept { return bits != 0 || close; }
  [[nodiscard]] bool has(Control what, wire::Class c) const noexcept {
    return (bits & control_bit(what, c)) != 0;
  }
  // True, and not pending any more, if it was.
  [[nodiscard]] bool take(Control what, wire::Class c) noexcept {
    const bool had = has(what, c);
    bits &= static_cast<uint8_t>(~control_bit(what, c));
    return had;
  }
  void put_back(Control what, wire::Class c) noexcept { bits |= control_bit(what, c); }
};

class ControlQueue {
 public:
  // An acknowledgement waits for so many polls for a frame that can carry it.
  explicit ControlQueue(uint32_t ack_polls) noexcept : ack_polls_(ack_polls) {}

  // Counts one poll. True when something is due.
  [[nodiscard]] bool poll() noexcept {
    ++polls_;
    return queue_.linked() && is_due(first());
  }
  [[nodiscard]] bool empty() const noexcept { return !queue_.linked(); }
  [[nodiscard]] uint32_t polls() const noexcept { return polls_; }

  // A delayed acknowledgement, or an urgent one.
  void schedule_ack(PendingControl& pending, wire::Class c, bool urgent) noexcept {
    pending.bits |= control_bit(Control::kAck, c);
    if (urgent) {
      put_first(pending);
    } else if (!pending.node.linked()) {
      pending.since = polls_;
      queue_.push_back(pending.node);
    }
  }
  // Goes with the next poll, as all but acknowledgements do.
  void schedule(PendingControl& pending, Control what, wire::Class c) noexcept {
    pending.bits |= control_bit(what, c);
    put_first(pending);
  }
  void schedule_close(PendingControl& pending) noexcept {
    pending.close = true;
    put_first(pending);
  }
  // From serve(), which then returns false: the lower transport is busy, and has_room() will be
  // called. Until then it is tried no more often than an acknowledgement is delayed.
  void await_room(PendingControl& pending) noexcept {
    pending.awaits_room = true;
    pending.urgent = false;
    pending.since = polls_;
  }
  void has_room(PendingControl& pending) noexcept {
    if (!pending.awaits_room) return;
    pending.awaits_room = false;
    if (pending.node.linked()) put_first(pending);
  }
  // A frame of class `c` carries the acknowledgement.
  static void ack_carried(PendingControl& pending, wire::Class c) noexcept {
    pending.bits &= static_cast<uint8_t>(~control_bit(Control::kAck, c));
    if (!pending.any()) leave(pending);
  }
  // Everything but a BYE.
  static void cancel_frames(PendingControl& pending) noexcept {
    pending.bits = 0;
    if (!pending.close) pending.node.unlink();
  }
  static void cancel(PendingControl& pending) noexcept {
    pending.close = false;
    cancel_frames(pending);
  }

  // Calls serve(PendingControl&) for what is due, at most kAtOnce of them: the others have their
  // turn at the next poll. serve() returns false when the lower transport is busy: what it left is
  // kept.
  template <typename Serve>
  void serve_due(Serve&& serve) noexcept {
    // They stand in lists of their own meanwhile: serving may run upcalls, which schedule or
    // cancel.
    util::ListNode due;
    util::ListNode busy;
    unsigned count = 0;
    for (; queue_.linked() && count < kAtOnce && is_due(first()); ++count) move(first(), due);
    while (due.linked()) {
      PendingControl& pending = of(due.next);
      const bool served = serve_one(pending, serve);
      if (pending.node.linked()) move(pending, served || is_delayed(pending) ? queue_ : busy);
    }
    // First at the next poll, unless there are so many that the others would never have their turn.
    while (busy.linked()) move(of(busy.prev), count < kAtOnce ? *queue_.next : queue_);
  }
  // Serves everything, due or not, but at most `limit` times. False: something is left. One that is
  // busy does not hold up the others: its link alone may be.
  template <typename Serve>
  bool flush(size_t limit, Serve&& serve) noexcept {
    util::ListNode busy;
    unsigned count = 0;
    for (; queue_.linked() && limit != 0 && count < kAtOnce; --limit) {
      PendingControl& pending = first();
      if (serve_one(pending, serve)) continue;
      ++count;
      if (pending.node.linked()) move(pending, busy);
    }
    const bool all = !busy.linked() && !queue_.linked();
    while (busy.linked()) {
      PendingControl& pending = of(busy.prev);
      move(pending, is_delayed(pending) ? queue_ : *queue_.next);
    }
    return all;
  }

 private:
  static constexpr unsigned kAtOnce = 32;

  static PendingControl& of(util::ListNode* node) noexcept {
    return *VERITY_CONTAINER_OF(node, PendingControl, node);
  }
  [[nodiscard]] PendingControl& first() const noexcept { return of(queue_.next); }
  [[nodiscard]] bool is_due(const PendingControl& pending) const noexcept {
    return pending.urgent || polls_ - pending.since >= ack_polls_;
  }
  [[nodiscard]] static bool is_delayed(const PendingControl& pending) noexcept {
    return pending.awaits_room && !pending.urgent;
  }
  void put_first(PendingControl& pending) noexcept {
    pending.urgent = true;
    pending.node.unlink();
    queue_.next->push_back(pending.node);
  }
  static void leave(PendingControl& pending) noexcept {
    pending.urgent = false;
    pending.node.unlink();
  }
  static void move(PendingControl& pending, util::ListNode& list) noexcept {
    pending.node.unlink();
    list.push_back(pending.node);
  }
  template <typename Serve>
  bool serve_one(PendingControl& pending, Serve&& serve) noexcept {
    const bool served = serve(pending);
    if (served) pending.awaits_room = false;
    if (!pending.any()) {
      leave(pending);
    } else if (!pending.node.linked()) {
      // An upcall sent a frame that carried all that was pending at that moment.
      pending.urgent = true;
      queue_.push_back(pending.node);
    }
    return served;
  }

  util::ListNode queue_;
  uint32_t polls_ = 0;
  const uint32_t ack_polls_;
};

}  // namespace verity::link

#endif
