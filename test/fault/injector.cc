// SPDX-License-Identifier: BSD-3-Clause
#include "fault/injector.h"

#include <algorithm>
#include <bit>

namespace verity::fault {
namespace {

bool matches(const Pattern& pattern, std::span<const uint8_t> frame) noexcept {
  if (pattern.offset > frame.size() || pattern.mask.size() > frame.size() - pattern.offset) {
    return false;
  }
  for (size_t i = 0; i < pattern.mask.size(); ++i) {
    if ((frame[pattern.offset + i] & pattern.mask[i]) != pattern.value[i]) { return false; }
  }
  return true;
}

unsigned watched_by(const Settings& settings) noexcept {
  unsigned watched = 0;
  for (unsigned op = 0; op < 3; ++op) {
    for (unsigned side = 0; side < 2; ++side) {
      // The side is a choice for active messages: gets are damaged where they land, puts where
      // they start.
      const auto kind = static_cast<Op>(op);
      const unsigned sides = kind == Op::kAm ? settings.sides : kind == Op::kGet ? 2U : 1U;
      if ((settings.ops >> op & 1U) != 0 && (sides >> side & 1U) != 0) {
        watched |= 1U << (2 * op + side);
      }
    }
  }
  return settings.active() ? watched : 0;
}

// The nth of the kinds in the mask.
Kind nth_kind(KindMask kinds, uint64_t n) noexcept {
  for (; n > 0; --n) { kinds &= kinds - 1; }
  return static_cast<Kind>(std::countr_zero(kinds));
}

}  // namespace

void Injector::configure(const Settings& settings) {
  const std::lock_guard lock(mutex_);
  if (settings_ == settings) {
    return;  // the usual case: every context of the process reads the same variables
  }
  settings_ = settings;
  events_.reserve(settings.events);
  watched_.store(watched_by(settings), std::memory_order_relaxed);
}

bool Injector::passes(const FrameInfo& info, std::span<const uint8_t> frame) const {
  return frame.size() >= settings_.min_len && frame.size() <= settings_.max_len &&
         (info.am_id < 0 || contains(settings_.am_ids, static_cast<uint64_t>(info.am_id))) &&
         contains(settings_.peers, info.peer) && !region_of(settings_, frame.size()).empty() &&
         std::all_of(settings_.match.begin(), settings_.match.end(),
                     [&](const Pattern& pattern) { return matches(pattern, frame); });
}

bool Injector::selected(uint64_t number, Random& random) const {
  if (number <= settings_.after || hits_ >= settings_.limit) { return false; }
  if (settings_.by_number) { return contains(settings_.frames, number); }
  return settings_.every > 0 ? number % settings_.every == 0 : random.fraction() < settings_.rate;
}

Verdict Injector::judge(const FrameInfo& info, std::span<const uint8_t> frame, KindMask possible) {
  const std::lock_guard lock(mutex_);
  ++counts_.seen;
  possible &= settings_.kinds;
  Verdict verdict;
  if (possible == 0 || !passes(info, frame)) { return verdict; }
  verdict.number = ++counts_.matched;
  // A stream of its own for each frame: what happens to one does not depend on the others.
  verdict.random = Random(settings_.seed * 0x100000001b3U + verdict.number);
  if (selected(verdict.number, verdict.random)) {
    verdict.hit = true;
    verdict.kind = nth_kind(possible, verdict.random.below(std::popcount(possible)));
    ++hits_;
  }
  return verdict;
}

void Injector::record(const FrameInfo& info, const Verdict& verdict, const Damage& damage,
                      size_t length) {
  const std::lock_guard lock(mutex_);
  if (!damage.any()) {
    ++counts_.no_effect;
    --hits_;
    return;
  }
  ++counts_.faults;
  counts_.bytes += damage.bytes;
  counts_.bits += damage.bits;
  ++counts_.by_kind[static_cast<size_t>(verdict.kind)];
  ++counts_.by_side[static_cast<size_t>(info.side)];
  ++counts_.by_op[static_cast<size_t>(info.op)];
  if ((mask_of(verdict.kind) & kWholeKinds) != 0) {
    ++counts_.whole;
  } else {
    ++(damage.offset < settings_.header_size ? counts_.in_header : counts_.in_payload);
  }
  if (events_.size() < settings_.events) {
    events_.push_back({verdict.number, info, verdict.kind, length, damage});
  }
}

void Injector::retract(const Verdict& verdict) {
  const std::lock_guard lock(mutex_);
  --counts_.seen;
  if (verdict.number != 0 && verdict.number == counts_.matched) { --counts_.matched; }
  if (verdict.hit) { --hits_; }
}

Injector& injector() {
  static auto* instance = new Injector;
  return *instance;
}

}  // namespace verity::fault
