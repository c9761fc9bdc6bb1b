// SPDX-License-Identifier: BSD-3-Clause
//
// Decides which frames of this process are hit, and counts. One per process, any thread.
#ifndef VERITY_TEST_FAULT_INJECTOR_H
#define VERITY_TEST_FAULT_INJECTOR_H

#include <array>
#include <atomic>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "fault/damage.h"
#include "fault/settings.h"

namespace verity::fault {

struct FrameInfo {
  Op op;
  Side side;
  int am_id;               // of the lower active message; -1 for remote memory access
  uint64_t peer = kUnset;  // its rank, where that is known
};

// What is to happen to one frame. A hit must be followed by record() or retract().
struct Verdict {
  bool hit = false;
  uint64_t number = 0;  // among the frames that passed the filters, from 1
  Kind kind = Kind::kFlip;
  Random random{0};
};

struct Counts {
  uint64_t seen = 0;     // frames, whatever the filters say
  uint64_t matched = 0;  // that passed the filters: what EVERY and FRAMES count
  uint64_t faults = 0;
  uint64_t no_effect = 0;  // hit, but the bytes stayed the same (nothing to repeat, zeros zeroed)
  uint64_t bytes = 0;      // damaged, cut off or lost
  uint64_t bits = 0;
  std::array<uint64_t, kKindCount> by_kind{};
  std::array<uint64_t, 2> by_side{};
  std::array<uint64_t, 3> by_op{};
  uint64_t in_header = 0;  // by the first damaged byte
  uint64_t in_payload = 0;
  uint64_t whole = 0;  // frames lost, replaced, repeated or late
};

class Injector {
 public:
  // Takes new settings; counting goes on.
  void configure(const Settings& settings);
  [[nodiscard]] const Settings& settings() const noexcept { return settings_; }

  // Whether frames of this side and kind of operation need judging at all: no lock.
  [[nodiscard]] bool watches(Op op, Side side) const noexcept {
    return (watched_.load(std::memory_order_relaxed) &
            (1U << (2 * static_cast<unsigned>(op) + static_cast<unsigned>(side)))) != 0;
  }

  // `possible`: the kinds that can be done to this frame here and now.
  [[nodiscard]] Verdict judge(const FrameInfo& info, std::span<const uint8_t> frame,
                              KindMask possible);

  // The frame went out, or up, with this damage. `length` is the frame's before it.
  void record(const FrameInfo& info, const Verdict& verdict, const Damage& damage, size_t length);

  // The lower transport had no room: the frame will come again and be judged anew.
  void retract(const Verdict& verdict);

  // One line of JSON, with its newline.
  [[nodiscard]] std::string report();

 private:
  struct Event {
    uint64_t number;
    FrameInfo info;
    Kind kind;
    size_t length;
    Damage damage;
  };

  [[nodiscard]] bool passes(const FrameInfo& info, std::span<const uint8_t> frame) const;
  [[nodiscard]] bool selected(uint64_t number, Random& random) const;

  std::mutex mutex_;
  std::atomic<unsigned> watched_{0};
  Settings settings_;
  Counts counts_;
  uint64_t hits_ = 0;  // judged so, recorded or not yet: what the limit counts
  std::vector<Event> events_;
};

// The process's injector. Never destroyed.
[[nodiscard]] Injector& injector();

}  // namespace verity::fault

#endif
