// SPDX-License-Identifier: BSD-3-Clause
// One direction of the simulated wire: a queue of frames in which anything may happen to any of
// them.
#ifndef VERITY_TEST_SIM_CHANNEL_H
#define VERITY_TEST_SIM_CHANNEL_H

#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "sim/rng.h"
#include "wire/frame.h"

namespace verity::sim {

// How often each thing happens to a frame, 0 to 1.
struct Faults {
  double drop = 0;
  double duplicate = 0;
  double flip = 0;   // 1 to 4 bits anywhere
  double burst = 0;  // up to 64 bytes overwritten
  double truncate = 0;
  double extend = 0;
  double replay = 0;      // an older frame is delivered once more
  double swap = 0;        // overtakes the frame before it
  double misdeliver = 0;  // goes to another interface
  double delay = 0;       // it and all behind it
  double busy = 0;        // the lower transport has no resources for some time

  [[nodiscard]] static Faults mixed(Rng& rng, double total);
  // Whether a frame can come to harm.
  [[nodiscard]] bool any() const noexcept {
    return drop + duplicate + flip + burst + truncate + extend + replay + swap + misdeliver > 0;
  }
};

struct Packet {
  std::vector<uint8_t> bytes;
  wire::Class c;
  uint64_t at;  // ns; not delivered before
  unsigned to;  // interface
  std::function<void(Packet&)>
      finish;  // a zero-copy send: reads what is missing, tells the sender that its buffer was read
  bool compact = false;  // the lower active message of compact frames
};

class Channel {
 public:
  // `forget`: how readily an old frame, kept to be replayed, makes room for a newer one.
  Channel(const Faults& faults, uint64_t seed, unsigned interfaces, double forget = 0.2)
      : faults_(faults), rng_(seed), interfaces_(interfaces), forget_(forget) {}

  // Whether the lower transport refuses a frame at `now`.
  bool busy(uint64_t now);
  [[nodiscard]] uint64_t busy_until() const noexcept { return busy_until_; }
  void set_faults(const Faults& faults) noexcept { faults_ = faults; }

  // Takes a frame; damage happens when it leaves.
  void push(Packet packet, uint64_t now);
  // What leaves the channel at `now`: several for one frame, or none for a lost one. False when
  // nothing is due.
  bool pop(uint64_t now, std::vector<Packet>& out);
  // Damages `packet` as if it had passed: for delivery inside the send.
  void pass(Packet packet, std::vector<Packet>& out);

  [[nodiscard]] bool empty() const noexcept { return queue_.empty(); }
  [[nodiscard]] size_t size() const noexcept { return queue_.size(); }
  [[nodiscard]] uint64_t next_at() const noexcept {
    return queue_.empty() ? UINT64_MAX : queue_.front().at;
  }
  [[nodiscard]] uint64_t damaged() const noexcept { return damaged_; }

  // Test scripts: sees each frame before the dice are thrown; true = the frame is lost.
  std::function<bool(Packet&)> hook;

 private:
  void damage(Packet& packet);

  Faults faults_;
  Rng rng_;
  unsigned interfaces_;
  double forget_;
  std::deque<Packet> queue_;
  std::vector<Packet> old_;  // candidates for replay
  uint64_t busy_until_ = 0;
  uint64_t last_at_ = 0;
  uint64_t damaged_ = 0;
};

}  // namespace verity::sim

#endif
