// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "fault/iface.h"

namespace verity::fault {
namespace {
constexpr size_t kRemembered = 8;
}

void History::remember(uint8_t am_id, std::span<const uint8_t> frame) {
  if ((injector().settings().kinds & (mask_of(Kind::kReplace) | mask_of(Kind::kRepeat))) == 0) {
    return;
  }
  const std::lock_guard lock(mutex_);
  if (frames_.size() == kRemembered) { frames_.pop_front(); }
  frames_.push_back({am_id, Bytes(frame.begin(), frame.end())});
}

bool History::pick(Random& random, int am_id, size_t max_length, OldFrame* frame_p) {
  const std::lock_guard lock(mutex_);
  for (size_t tries = 0; tries < kRemembered && !frames_.empty(); ++tries) {
    const OldFrame& frame = frames_[random.below(frames_.size())];
    if (frame.bytes.size() <= max_length && (am_id < 0 || am_id == frame.am_id)) {
      *frame_p = frame;
      return true;
    }
  }
  return false;
}

Damage damage_frame(Verdict& verdict, Bytes& frame) {
  const Damage done = damage(injector().settings(), verdict.kind, frame, verdict.random);
  if (done.any()) { frame.resize(done.new_length); }
  return done;
}

Damage whole_frame(size_t length, size_t new_length) noexcept {
  return {.offset = 0, .bytes = length, .bits = 0, .new_length = new_length};
}

Bytes gather(const uct_iov_t* iov, size_t count) {
  Bytes out;
  for (const uct_iov_t& entry : std::span(iov, count)) {
    const auto* from = static_cast<const uint8_t*>(entry.buffer);
    for (unsigned i = 0; i < entry.count && entry.length > 0; ++i, from += entry.stride) {
      out.insert(out.end(), from, from + entry.length);
    }
  }
  return out;
}

}  // namespace verity::fault
