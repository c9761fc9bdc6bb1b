// SPDX-License-Identifier: BSD-3-Clause
#include "link/retransmit_timer.h"

#include <algorithm>
#include <utility>

namespace verity::link {

namespace {

// Since the last call. A peer whose frames come, but acknowledge nothing, has lost something:
// the interval backs off only where none come.
bool has_received(Link& link) noexcept {
  bool received = std::exchange(link.timer.received, false);
  for (unsigned c = 0; c < wire::kClasses; ++c) {
    received |=
        link.rx[c].expected() != std::exchange(link.timer.seen_expected[c], link.rx[c].expected());
  }
  return received;
}

}  // namespace

// The clock may be stale here: the caller may not have polled for long. The first expiry therefore
// only takes note of where the link stands; the next one can tell that nothing was acknowledged.
void RetransmitTimer::arm(Link& link) noexcept {
  link.timer.observed = false;
  wheel_.set(link.timer.deadline,
             now_ + std::min(iface_.config.copy_after, iface_.config.probe_after));
  iface_.port.deadline_set();
}

bool RetransmitTimer::advance(uint64_t now) noexcept {
  now_ = now;
  return wheel_.advance(now, [this](Deadline& deadline) { expire(Link::of(deadline)); });
}

void RetransmitTimer::expire(Link& link) noexcept {
  if (!link.in_flight()) return;
  RetransmitState& timer = link.timer;
  bool stuck = false;
  for (unsigned c = 0; c < wire::kClasses; ++c) {
    const uint32_t seen = std::exchange(timer.seen_una[c], link.tx[c].una());
    stuck |= link.tx[c].in_flight() && link.tx[c].una() == seen;
  }
  if (stuck && timer.observed) return on_timeout(link);
  timer.observed = true;
  timer.probe_interval = iface_.config.probe_after;
  timer.probe_at = now_ + timer.probe_interval;
  timer.bounce_at = now_ + iface_.config.copy_after;
  wheel_.set(timer.deadline, std::min(timer.bounce_at, timer.probe_at));
}

[[gnu::hot]] void RetransmitTimer::probe_soon(Link& link) noexcept {
  RetransmitState& timer = link.timer;
  if (!timer.deadline.armed() || timer.probe_at <= now_ + iface_.config.probe_after) return;
  timer.probe_interval = iface_.config.probe_after;
  timer.probe_at = now_ + timer.probe_interval;
  wheel_.set(timer.deadline, timer.probe_at);
}

void RetransmitTimer::on_timeout(Link& link) noexcept {
  const Config& config = iface_.config;
  RetransmitState& timer = link.timer;
  const bool bounces = wheel_.tick() >= TimerWheel::tick_of(timer.bounce_at);
  if (bounces) zero_copy_.bounce_all(link);
  if (now_ >= timer.probe_at) {
    if (has_received(link)) timer.probe_interval = config.probe_after / 4;
    // One class at a time: a peer that sends nothing is probed as rarely with both in flight as
    // with one.
    if (link.tx[0].in_flight() && link.tx[1].in_flight()) timer.probe_class ^= 1;
    if (!link.tx[timer.probe_class].in_flight()) timer.probe_class ^= 1;
    control_.schedule(link.control, Control::kProbe, static_cast<wire::Class>(timer.probe_class));
    timer.probe_interval =
        std::clamp(timer.probe_interval * 4, config.probe_after, config.probe_limit);
    timer.probe_at = now_ + timer.probe_interval;
  }
  wheel_.set(timer.deadline, bounces ? timer.probe_at : std::min(timer.bounce_at, timer.probe_at));
}

}  // namespace verity::link
