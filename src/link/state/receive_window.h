// SPDX-License-Identifier: BSD-3-Clause
// What this side receives in one class: the next psn to deliver, and the out-of-order queue of the
// frames that wait for it.
//
//   expected        nacked_to            top
//    |  NACK sent   |  missing, no NACK  |   nothing is known of what follows
//
// Frames in between that did arrive stand in the queue: good ones, which are not missing, and
// damaged ones, which are being repaired.
#ifndef VERITY_LINK_STATE_RECEIVE_WINDOW_H
#define VERITY_LINK_STATE_RECEIVE_WINDOW_H

#include <cstddef>
#include <cstdint>
#include <utility>

#include "health/faults/fault_kind.h"
#include "health/faults/syndrome.h"
#include "wire/frame.h"

namespace verity::link {

struct Link;

// A frame in the queue. Its payload follows it in memory.
struct QueuedFrame {
  QueuedFrame* next;
  wire::FrameHeader header;
  uint8_t repaired[wire::kMaxFrameLeaves / 8];  // bitmap of the leaves that were retransmitted
  bool good;
  bool nacked;     // a NACK was sent, or the answer is arriving
  bool ambiguous;  // single-hash frame: header or payload is damaged; the right frame will tell
                   // which
  bool uncounted;  // as a fault: the right frame also says whether the program changed it
  bool rebuilt;    // nothing of it had arrived: it consists of repairs alone
  bool faulty;     // it came damaged, which is yet to be reported; what follows is for the report
  health::FaultKind kind;
  wire::Class c;
  uint32_t rounds;  // times that bytes of it were retransmitted
  Link* link;
  health::Syndrome syndrome;  // of what was repaired so far

  [[nodiscard]] uint8_t* payload() noexcept { return reinterpret_cast<uint8_t*>(this + 1); }
  [[nodiscard]] size_t footprint() const noexcept { return sizeof(QueuedFrame) + header.length; }
};

// The memory of all out-of-order queues of an interface, which is bounded.
class OutOfOrderPool {
 public:
  explicit OutOfOrderPool(size_t limit) noexcept : limit_(limit) {}

  [[nodiscard]] bool has_room(size_t length) const noexcept {
    return bytes_ + sizeof(QueuedFrame) + length <= limit_;
  }
  // Also above the limit. A copy of the frame; with `payload` nullptr its bytes are zero. nullptr:
  // the system has no memory.
  [[nodiscard]] QueuedFrame* copy(const wire::FrameHeader& header, const uint8_t* payload) noexcept;
  void free(QueuedFrame* frame) noexcept;
  [[nodiscard]] size_t bytes() const noexcept { return bytes_; }

 private:
  size_t bytes_ = 0;
  const size_t limit_;
};

// Frames of one class that arrived before their turn, or damaged, in ascending order of their psn.
class OutOfOrderQueue {
 public:
  // Where the frame `psn` stands, or belongs.
  [[nodiscard]] QueuedFrame** place_of(uint32_t psn) noexcept;
  [[nodiscard]] static bool is_at(QueuedFrame* const* place, uint32_t psn) noexcept {
    return *place != nullptr && (*place)->header.psn == psn;
  }
  static void insert(QueuedFrame** place, QueuedFrame* frame) noexcept {
    frame->next = *place;
    *place = frame;
  }
  // Takes the frame out.
  static QueuedFrame* remove(QueuedFrame** place) noexcept {
    return std::exchange(*place, (*place)->next);
  }
  QueuedFrame* remove_first() noexcept { return head_ != nullptr ? remove(&head_) : nullptr; }
  [[nodiscard]] QueuedFrame* first() const noexcept { return head_; }

 private:
  QueuedFrame* head_ = nullptr;
};

class ReceiveWindow {
 public:
  // No honest peer is further ahead: its window is smaller.
  static constexpr uint32_t kMaxAhead = 1u << 16;

  // --- in order ---
  // Whether the frame `psn` may be delivered at once.
  [[nodiscard]] bool is_next(uint32_t psn) const noexcept {
    return queue_.first() == nullptr && psn == expected_;
  }
  // The expected frame is delivered.
  void accept() noexcept {
    if (top_ == expected_) ++top_;
    ++expected_;
  }
  // Mode observe: everything before `psn` is taken as delivered.
  void skip_to(uint32_t psn) noexcept { expected_ = top_ = psn; }
  // All frames before `end` were sent. Returns how many of them were not known of.
  uint32_t extend(uint32_t end) noexcept {
    const auto more = static_cast<int32_t>(end - top_);
    if (more <= 0) return 0;
    top_ = end;
    return static_cast<uint32_t>(more);
  }
  // Nothing is missing.
  [[nodiscard]] bool complete() const noexcept {
    return queue_.first() == nullptr && expected_ == top_;
  }

  // --- the out-of-order queue ---
  [[nodiscard]] OutOfOrderQueue& queue() noexcept { return queue_; }
  [[nodiscard]] const OutOfOrderQueue& queue() const noexcept { return queue_; }
  // The frame that is delivered next, or nullptr: it is missing or damaged.
  [[nodiscard]] QueuedFrame* take_next() noexcept {
    const QueuedFrame* first = queue_.first();
    const bool ready = first != nullptr && first->good && first->header.psn == expected_;
    return ready ? queue_.remove_first() : nullptr;
  }
  // Delivering may bring further frames of this class, which are not to deliver what is queued.
  bool begin_delivery() noexcept { return !std::exchange(delivering_, true); }
  void end_delivery() noexcept { delivering_ = false; }

  // --- NACKs ---
  // psns wrap: a nacked_to_ more than 2^31 behind would look as if it were ahead, so it follows
  // expected_.
  void refresh_nacked_to() noexcept {
    if (nacked_to_ - expected_ > top_ - expected_) nacked_to_ = expected_;
  }
  void nacked(uint32_t end) noexcept { nacked_to_ = end; }
  // The frame `psn` is missing, whatever NACKs were sent: the next ones begin with it.
  void nack_again(uint32_t psn) noexcept {
    if (static_cast<int32_t>(nacked_to_ - psn) > 0) nacked_to_ = psn;
  }
  // A PROBE of the peer. True: the answer to our last NACK is lost, or the NACK was, and NACKs are
  // sent for all that is missing. The lower transport keeps the order: if the peer has seen our
  // last NACK, its answer would be here by now. If it has not, the NACK may still be on its way,
  // and is repeated at the next probe only.
  bool on_probe(const wire::ProbeBody& probe) noexcept;
  // The serial of the probe that makes us repeat NACKs; 0: they are new.
  [[nodiscard]] uint16_t probe_serial() const noexcept { return probe_serial_; }
  // All that is missing has its NACK again.
  void end_repetition() noexcept { probe_serial_ = 0; }
  [[nodiscard]] uint16_t nack_serial() const noexcept { return nack_serial_; }
  void nack_sent() noexcept { ++nack_serial_; }

  // --- faults that were counted and are not known to be repaired (faults.h) ---
  // False: no more can be remembered.
  bool remember_fault() noexcept {
    fault_at_ = expected_;
    if (faults_ == UINT8_MAX) return false;
    ++faults_;
    return true;
  }
  [[nodiscard]] bool has_faults() const noexcept { return faults_ != 0; }
  // How many are known to be repaired now.
  [[nodiscard]] uint8_t take_repaired() noexcept {
    const bool after = static_cast<int32_t>(expected_ - fault_at_) > 0;
    return complete() && after ? std::exchange(faults_, uint8_t{0}) : uint8_t{0};
  }

  [[nodiscard]] uint32_t expected() const noexcept { return expected_; }
  [[nodiscard]] uint32_t top() const noexcept { return top_; }
  [[nodiscard]] uint32_t nacked_to() const noexcept { return nacked_to_; }
  [[nodiscard]] uint64_t nonce() const noexcept { return nonce_; }
  void set_nonce(uint64_t nonce) noexcept { nonce_ = nonce; }
  void start_at(uint32_t psn) noexcept { expected_ = top_ = nacked_to_ = psn; }

 private:
  uint32_t expected_ = 0;  // the next psn to deliver
  uint32_t top_ = 0;       // one past the highest psn known to have been sent
  uint32_t nacked_to_ = 0;
  uint16_t nack_serial_ = 0;        // of our last NACK
  uint16_t nack_seen_by_peer_ = 0;  // as its last probe said
  uint16_t probe_serial_ = 0;
  bool delivering_ = false;
  uint8_t faults_ = 0;     // counted here and not known to be repaired
  uint32_t fault_at_ = 0;  // `expected` at the last of them
  OutOfOrderQueue queue_;
  uint64_t nonce_ = 0;
};

}  // namespace verity::link

#endif
