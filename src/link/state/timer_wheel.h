// SPDX-License-Identifier: BSD-3-Clause
// A wheel of deadlines: setting and cancelling one takes constant time, however many there are.
#ifndef VERITY_LINK_STATE_TIMER_WHEEL_H
#define VERITY_LINK_STATE_TIMER_WHEEL_H

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "util/list.h"

namespace verity::link {

// One timer; it is armed while it is linked.
struct Deadline {
  util::ListNode node;
  uint64_t at = 0;  // ns

  [[nodiscard]] bool armed() const noexcept { return node.linked(); }
};

class TimerWheel {
 public:
  static constexpr unsigned kBuckets = 64;
  static constexpr uint64_t kTick = 64 * 1024;  // ns

  // The tick of a time; a deadline expires in the advance() to its own tick or a later one.
  [[nodiscard]] static constexpr uint64_t tick_of(uint64_t time) noexcept { return time / kTick; }
  // The tick that advance() got to.
  [[nodiscard]] uint64_t tick() const noexcept { return tick_; }

  void set(Deadline& deadline, uint64_t at) noexcept {
    const uint64_t bucket = std::clamp(tick_of(at), tick_ + 1, tick_ + kBuckets - 1);
    deadline.node.unlink();
    deadline.at = at;
    buckets_[bucket % kBuckets].push_back(deadline.node);
  }

  // Calls expire(Deadline&) for each deadline that has come, after it was cancelled; it may set it
  // anew, and set or cancel others. False: the time is still in the same tick.
  template <typename Expire>
  bool advance(uint64_t now, Expire&& expire) noexcept {
    const uint64_t to = tick_of(now);
    if (to == tick_) return false;
    const uint64_t turns = std::min<uint64_t>(to - tick_, kBuckets);
    tick_ = to;
    for (uint64_t i = 0; i < turns; ++i) empty(buckets_[(to - i) % kBuckets], expire);
    return true;
  }

  // The next deadline, ns; UINT64_MAX when there is none. Looks at each of them.
  [[nodiscard]] uint64_t next() const noexcept {
    uint64_t next = UINT64_MAX;
    for (const util::ListNode& bucket : buckets_) {
      for (util::ListNode* node = bucket.next; node != &bucket; node = node->next) {
        next = std::min(next, VERITY_CONTAINER_OF(node, Deadline, node)->at);
      }
    }
    return next;
  }

 private:
  template <typename Expire>
  void empty(util::ListNode& bucket, Expire&& expire) noexcept {
    util::ListNode due;
    while (bucket.linked()) {
      util::ListNode* node = bucket.next;
      node->unlink();
      due.push_back(*node);
    }
    while (due.linked()) {
      Deadline& deadline = *VERITY_CONTAINER_OF(due.next, Deadline, node);
      deadline.node.unlink();
      // The wheel is short: a later deadline comes by more than once.
      tick_of(deadline.at) > tick_ ? set(deadline, deadline.at) : expire(deadline);
    }
  }

  util::ListNode buckets_[kBuckets];
  uint64_t tick_ = 0;
};

}  // namespace verity::link

#endif
