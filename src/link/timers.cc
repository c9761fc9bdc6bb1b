// SPDX-License-Identifier: BSD-3-Clause
// Silence: a wheel of deadlines, one per link with frames in flight. A peer that computes is silent too: it is asked now and then,
// with growing pauses, and never given up here.
#include <algorithm>

#include "link/hub.h"

namespace verity::link {

namespace {

constexpr uint64_t kTrimEvery = 1'000'000'000;  // ns
constexpr size_t kKeepIdle = 1 << 20;           // bytes of an idle pool that are kept

}  // namespace

// The clock may be stale here: the caller may not have polled for long. The first firing therefore only takes note of where the
// link stands; silence is told by the next.
void Hub::arm_timer(Link& link) noexcept {
  link.timer_armed = true;
  link.observed = false;
  set_deadline(link, now_ + std::min(config_.copy_after, config_.probe_after));
}

void Hub::set_deadline(Link& link, uint64_t deadline) noexcept {
  const uint64_t bucket = std::clamp(deadline / kTick, last_bucket_ + 1, last_bucket_ + kBuckets - 1);
  link.deadline = deadline;
  wheel_[bucket % kBuckets].push_back(link.timer_node);
}

void Hub::tick(uint64_t now) noexcept {
  if (pool_.wants_refill()) pool_.refill();
  const uint64_t bucket = now / kTick;
  now_ = now;
  if (bucket == last_bucket_) return;
  const uint64_t turns = std::min<uint64_t>(bucket - last_bucket_, kBuckets);
  last_bucket_ = bucket;
  for (uint64_t i = 0; i < turns; ++i) fire_bucket(wheel_[(bucket - i) % kBuckets]);
  if (now - trimmed_at_ > kTrimEvery) {
    trimmed_at_ = now;
    pool_.trim(kKeepIdle);
    if (late_copies_ == copies_at_trim_) copies_.trim();
    copies_at_trim_ = late_copies_;
  }
}

void Hub::fire_bucket(util::ListNode& bucket) noexcept {
  util::ListNode due;
  while (bucket.linked()) {
    util::ListNode* node = bucket.next;
    node->unlink();
    due.push_back(*node);
  }
  while (due.linked()) {
    Link* link = VERITY_CONTAINER_OF(due.next, Link, timer_node);
    link->timer_node.unlink();
    if (link->deadline / kTick > last_bucket_) {
      set_deadline(*link, link->deadline);
    } else {
      fire(*link);
    }
  }
}

void Hub::fire(Link& link) noexcept {
  if (!link.in_flight()) {
    link.timer_armed = false;
    return;
  }
  bool stuck = false;
  for (unsigned c = 0; c < wire::kClasses; ++c) {
    stuck |= link.tx[c].oldest != nullptr && link.tx[c].una == link.seen_una[c];
    link.seen_una[c] = link.tx[c].una;
  }
  if (stuck && link.observed) return on_silence(link);
  link.observed = true;
  link.probe_interval = config_.probe_after;
  link.probe_at = now_ + link.probe_interval;
  link.copy_at = now_ + config_.copy_after;
  set_deadline(link, std::min(link.copy_at, link.probe_at));
}

// A peer that can be heard, but does not acknowledge, has lost something: pauses grow for silent ones only.
bool Hub::heard_since(Link& link) noexcept {
  bool heard = link.heard;
  for (unsigned c = 0; c < wire::kClasses; ++c) {
    heard |= link.rx[c].expected != link.seen_expected[c];
    link.seen_expected[c] = link.rx[c].expected;
  }
  link.heard = false;
  return heard;
}

// A peer that had been silent for long, computing perhaps, can be heard: it is asked soon, not after the pause that had grown.
[[gnu::hot]] void Hub::hasten(Link& link) noexcept {
  if (!link.timer_armed || link.probe_at <= now_ + config_.probe_after) return;
  link.probe_interval = config_.probe_after;
  link.probe_at = now_ + config_.probe_after;
  link.timer_node.unlink();
  set_deadline(link, link.probe_at);
}

void Hub::on_silence(Link& link) noexcept {
  const bool copies = last_bucket_ >= link.copy_at / kTick;
  if (copies) own_sources(link);
  if (now_ >= link.probe_at) {
    if (heard_since(link)) link.probe_interval = config_.probe_after / 4;
    // One class at a time: a silent peer is asked as rarely with both in flight as with one.
    link.probe_class ^= link.tx[0].oldest != nullptr && link.tx[1].oldest != nullptr ? 1 : 0;
    if (link.tx[link.probe_class].oldest == nullptr) link.probe_class ^= 1;
    owe_probe(link, static_cast<wire::Class>(link.probe_class));
    link.probe_interval = std::clamp(link.probe_interval * 4, config_.probe_after, config_.probe_limit);
    link.probe_at = now_ + link.probe_interval;
  }
  set_deadline(link, copies ? link.probe_at : std::min(link.copy_at, link.probe_at));
}

// One question at a time: whoever waits calls this again and again. What becomes of it, the timer sees.
void Hub::ask(Link& link) noexcept {
  for (unsigned c = 0; c < wire::kClasses; ++c) {
    Sender& tx = link.tx[c];
    if (tx.oldest == nullptr || tx.oldest == tx.first_unsent) continue;
    const uint32_t next = tx.first_unsent != nullptr ? tx.first_unsent->psn : tx.next_psn;
    const uint32_t open = tx.asked_to - tx.una;  // of what was asked for
    if (open != 0 && open <= next - tx.una) continue;
    tx.asked_to = next;
    owe_probe(link, static_cast<wire::Class>(c));
  }
}

uint64_t Hub::next_deadline() const noexcept {
  uint64_t next = UINT64_MAX;
  for (const util::ListNode& bucket : wheel_) {
    for (const util::ListNode* node = bucket.next; node != &bucket; node = node->next) {
      next = std::min(next, VERITY_CONTAINER_OF(const_cast<util::ListNode*>(node), Link, timer_node)->deadline);
    }
  }
  return next;
}

}  // namespace verity::link
