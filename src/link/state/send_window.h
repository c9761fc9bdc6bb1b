// SPDX-License-Identifier: BSD-3-Clause
// What this side sends in one class. The frames in flight stand in a list, oldest first. The window
// is bounded in frames and in bytes, and holds no memory when the link is idle.
//
//   una                  first_unsent            next_psn
//    |  sent, not acked  |  stored, lower busy   |
#ifndef VERITY_LINK_STATE_SEND_WINDOW_H
#define VERITY_LINK_STATE_SEND_WINDOW_H

#include <algorithm>
#include <cstdint>

#include "link/state/slot.h"

namespace verity::link {

struct WindowLimits {
  uint32_t frames;
  uint32_t bytes;
  // An acknowledgement is requested each time that so much was sent without one.
  uint32_t ack_every_frames;
  uint32_t ack_every_bytes;
};

// More functions than other classes have, since each field has its own reader: they are one line
// each.
class SendWindow {
 public:
  // --- the fast path: enter() numbers a frame, append() stores it ---
  // Counts a frame of `size` bytes.
  void enter(Slot* slot, uint32_t size, bool compact) noexcept {
    slot->next = nullptr;
    slot->psn = next_psn_++;
    slot->set_frame(size, compact);
    sent_bytes_ += compact ? size : slot->weight();
  }
  // The flags that this frame is to carry.
  [[nodiscard]] uint8_t flags(const WindowLimits& limits) noexcept {
    if (frames_since_request() < limits.ack_every_frames &&
        bytes_since_request() < limits.ack_every_bytes) [[likely]]
      return 0;
    restart_requests();
    return wire::kAckRequest;
  }
  void append(Slot* slot, const WindowLimits& limits) noexcept {
    link_last(slot);
    if (is_full(limits)) blocked_ = true;
    small_allowed_ = 0;
  }
  // Takes back the newest frame, which the lower transport refused. `before` is the one before it;
  // `requested`: it was to carry a request, which the next one does then.
  void undo(const Slot& slot, Slot* before, bool requested, const WindowLimits& limits) noexcept {
    (before == nullptr ? oldest_ : before->next) = nullptr;
    newest_ = before;
    --next_psn_;
    sent_bytes_ -= slot.size;
    if (requested) request_psn_ = next_psn_ - limits.ack_every_frames;
    blocked_ = false;
  }
  // The size of a frame in flight changes: it gets another header, or loses its HELLO. What was
  // sent since the last request stays what it was.
  void resize(Slot& slot, uint32_t size) noexcept {
    const uint32_t before = slot.weight();
    slot.size = size;
    const uint32_t change = slot.weight() - before;
    sent_bytes_ += change;
    request_bytes_ += change;
  }

  // --- small frames: so many are allowed at a time that no limit can be reached ---
  // Bytes of the largest one.
  static constexpr uint32_t kSmall = 128;
  // False: the next one is entered like all others.
  [[nodiscard]] bool may_append_small(const WindowLimits& limits) noexcept {
    return small_allowed_ != 0 || allow_small(limits);
  }
  // enter() and append() of a compact one that carries no flags.
  void append_small(Slot* slot, uint32_t size) noexcept {
    --small_allowed_;
    slot->next = nullptr;
    slot->psn = next_psn_++;
    slot->set_frame(size, true);
    sent_bytes_ += size;
    link_last(slot);
  }

  // --- acknowledgements ---
  // Releases the frames before `ack`. One that is older than una, or of frames never sent, is
  // ignored.
  template <typename Release>
  bool acknowledge(uint32_t ack, Release&& release) noexcept {
    if (ack - una_ > frames()) return false;
    while (una_ != ack && oldest_ != first_unsent_) release(pop());
    // Acknowledged without a request, as in a ping-pong: a request would cost an extra frame.
    if (oldest_ == nullptr) restart_requests();
    return true;
  }
  // Releases everything; no frame is taken any more.
  template <typename Release>
  void complete_all(Release&& release) noexcept {
    first_unsent_ = nullptr;
    block();
    while (oldest_ != nullptr) release(pop());
    newest_ = nullptr;
  }
  // One request at a time. False: there is nothing to be acknowledged, or the last request is open.
  [[nodiscard]] bool request_ack() noexcept {
    if (oldest_ == nullptr || oldest_ == first_unsent_) return false;
    const uint32_t open = ack_requested_psn_ - una_;
    if (open != 0 && open <= unsent_psn() - una_) return false;
    ack_requested_psn_ = unsent_psn();
    return true;
  }

  // --- frames that the lower transport did not take yet ---
  void stall(Slot* slot) noexcept {
    if (first_unsent_ == nullptr) first_unsent_ = slot;
    block();
  }
  // The oldest of them, or nullptr. It counts as sent: a transport that delivers inside the send
  // may acknowledge it there and then. put_back() when it was not taken.
  [[nodiscard]] Slot* take_unsent() noexcept {
    Slot* slot = first_unsent_;
    if (slot != nullptr) first_unsent_ = slot->next;
    return slot;
  }
  void put_back(Slot* slot) noexcept { first_unsent_ = slot; }
  [[nodiscard]] bool has_unsent() const noexcept { return first_unsent_ != nullptr; }
  // The same of the frames before that psn.
  [[nodiscard]] bool has_unsent_before(uint32_t psn) const noexcept {
    return first_unsent_ != nullptr && static_cast<int32_t>(psn - first_unsent_->psn) > 0;
  }
  // One past the newest frame that was sent.
  [[nodiscard]] uint32_t unsent_psn() const noexcept {
    return first_unsent_ != nullptr ? first_unsent_->psn : next_psn_;
  }

  // --- no new frame: the window is full, no memory, one waits for the lower transport, or no link
  // ---
  void block() noexcept {
    blocked_ = true;
    small_allowed_ = 0;
  }
  // True when there is room again.
  [[nodiscard]] bool unblock(const WindowLimits& limits) noexcept {
    if (first_unsent_ != nullptr || is_full(limits)) return false;
    blocked_ = false;
    return true;
  }
  [[nodiscard]] bool blocked() const noexcept { return blocked_; }

  // --- probes and NACKs ---
  // The serial that the next PROBE carries. 0 means none.
  uint16_t next_probe() noexcept {
    if (++probe_serial_ == 0) probe_serial_ = 1;
    return probe_serial_;
  }
  [[nodiscard]] uint16_t probe_serial() const noexcept { return probe_serial_; }
  void nack_seen(uint16_t serial) noexcept { nacks_seen_ = serial; }
  [[nodiscard]] uint16_t nacks_seen() const noexcept { return nacks_seen_; }

  [[nodiscard]] Slot* oldest() const noexcept { return oldest_; }
  [[nodiscard]] Slot* newest() const noexcept { return oldest_ == nullptr ? nullptr : newest_; }
  [[nodiscard]] Slot* first_unsent() const noexcept { return first_unsent_; }
  [[nodiscard]] bool in_flight() const noexcept { return oldest_ != nullptr; }
  [[nodiscard]] bool in_flight_before(uint32_t psn) const noexcept {
    return in_flight() && static_cast<int32_t>(psn - una_) > 0;
  }
  [[nodiscard]] bool contains(uint32_t psn) const noexcept { return psn - una_ < frames(); }
  [[nodiscard]] uint32_t frames() const noexcept { return next_psn_ - una_; }
  [[nodiscard]] uint32_t bytes() const noexcept { return sent_bytes_ - acked_bytes_; }
  [[nodiscard]] uint32_t una() const noexcept { return una_; }
  [[nodiscard]] uint32_t next_psn() const noexcept { return next_psn_; }
  [[nodiscard]] uint64_t nonce() const noexcept { return nonce_; }
  void set_nonce(uint64_t nonce) noexcept { nonce_ = nonce; }
  // Of an empty window: the first frame gets this number.
  void start_at(uint32_t psn) noexcept { next_psn_ = una_ = request_psn_ = psn; }

 private:
  [[nodiscard]] bool is_full(const WindowLimits& limits) const noexcept {
    return frames() >= limits.frames || bytes() >= limits.bytes;
  }
  [[nodiscard]] uint32_t frames_since_request() const noexcept { return next_psn_ - request_psn_; }
  [[nodiscard]] uint32_t bytes_since_request() const noexcept {
    return sent_bytes_ - request_bytes_;
  }
  void restart_requests() noexcept {
    request_psn_ = next_psn_;
    request_bytes_ = sent_bytes_;
  }
  void link_last(Slot* slot) noexcept {
    (oldest_ == nullptr ? oldest_ : newest_->next) = slot;
    newest_ = slot;
  }
  [[gnu::noinline]] bool allow_small(const WindowLimits& limits) noexcept {
    const auto below = [](uint32_t limit, uint32_t used) {
      return used < limit ? limit - used - 1 : 0;
    };
    const uint32_t frames_left = std::min(below(limits.frames, frames()),
                                          below(limits.ack_every_frames, frames_since_request()));
    const uint32_t bytes_left = std::min(below(limits.bytes, bytes()),
                                         below(limits.ack_every_bytes, bytes_since_request()));
    small_allowed_ = blocked_ ? 0 : std::min(frames_left, bytes_left / kSmall);
    return small_allowed_ != 0;
  }
  Slot* pop() noexcept {
    Slot* slot = oldest_;
    oldest_ = slot->next;
    ++una_;
    acked_bytes_ += slot->weight();
    return slot;
  }

  Slot* oldest_ = nullptr;
  Slot* newest_ = nullptr;
  Slot* first_unsent_ = nullptr;
  uint32_t next_psn_ = 0;
  uint32_t una_ = 0;
  // What frames take of the window, all of them since the beginning; the numbers wrap.
  uint32_t sent_bytes_ = 0;
  uint32_t acked_bytes_ = 0;
  uint32_t request_psn_ = 0;  // next_psn_ and sent_bytes_ when a frame last carried a request
  uint32_t request_bytes_ = 0;
  uint32_t small_allowed_ = 0;
  uint32_t ack_requested_psn_ = 0;  // request_ack() covered the frames before it
  uint16_t nacks_seen_ = 0;         // serial of the last NACK processed
  uint16_t probe_serial_ = 0;       // of the last PROBE sent
  bool blocked_ = false;
  uint64_t nonce_ = 0;
};

}  // namespace verity::link

#endif
