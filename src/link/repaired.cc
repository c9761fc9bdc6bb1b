// SPDX-License-Identifier: BSD-3-Clause
// The balance of faults: each damaged frame is counted where it is found, and once more when all that it may have carried has arrived.
//
// Frames are delivered in order, and only when they are right. So what was damaged before frame N is repaired once N is delivered and
// no frame before it is missing, whatever the damaged frame was: data, which came again, or an acknowledgement, which the next one
// made good. Only a fault after the last frame of a link is never known to be repaired: it may have hit a frame that nobody needed.
#include <utility>

#include "link/hub.h"

namespace verity::link {

void Hub::count_fault(Link& link, wire::Class c, uint64_t health::Counters::*kind) noexcept {
  link.counters->*kind += 1;
  if (link.mode != Mode::kVerify) return;  // it is delivered as it is
  Receiver& rx = link.receiver(c);
  count_repaired(link, rx);
  rx.damaged_at = rx.expected;
  if (rx.damaged < UINT8_MAX) {
    ++rx.damaged;
  } else {
    ++damaged_;
  }
}

void Hub::count_fault_of_no_link(uint64_t health::Counters::*kind) noexcept {
  counters_.*kind += 1;
  damaged_ += config_.mode == Mode::kVerify;
}

void Hub::count_repaired(Link& link, Receiver& rx) noexcept {
  const bool complete = rx.held == nullptr && rx.expected == rx.top;
  if (!complete || static_cast<int32_t>(rx.expected - rx.damaged_at) <= 0) return;
  link.counters->faults_repaired += std::exchange(rx.damaged, uint8_t{0});
}

// The link ends. One that was given up has missing frames, and is not asked again.
void Hub::count_repaired(Link& link) noexcept {
  if (link.failed) return;
  for (Receiver& rx : link.rx) {
    if (rx.damaged != 0) count_repaired(link, rx);
    unclean_ = unclean_ || rx.held != nullptr || rx.expected != rx.top;
  }
}

// The interface ends. The frames belonged to some of its links, none of which misses any.
void Hub::count_repaired_of_no_link() noexcept {
  if (!unclean_) counters_.faults_repaired += std::exchange(damaged_, 0);
}

}  // namespace verity::link
