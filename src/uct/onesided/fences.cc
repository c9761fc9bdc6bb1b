// SPDX-License-Identifier: BSD-3-Clause
#include "uct/onesided/fences.h"

#include "uct/links/lanes.h"
#include "uct/links/patience.h"
#include "uct/onesided/onesided.h"

namespace verity::uct {

namespace {

bool is_older(const PendingQueue& pending, uint32_t epoch) noexcept {
  return !pending.empty() && static_cast<int32_t>(pending.epoch() - epoch) < 0;
}

UctLink& link_at(util::ListNode& node) noexcept {
  return static_cast<UctLink&>(static_cast<rma::Peer&>(static_cast<rma::InOrder&>(node)));
}

template <typename Check>
bool any_link(Lanes& lanes, Check&& check) noexcept {
  for (util::ListNode* node = lanes.peers.next; node != &lanes.peers; node = node->next) {
    UctLink& l = link_at(*node);
    if (!l.is_lost() && check(l)) return true;
  }
  return false;
}

template <typename Check>
bool any_reader(Lanes& lanes, Check&& check) noexcept {
  for (util::ListNode* node = lanes.readers.next; node != &lanes.readers; node = node->next) {
    if (check(static_cast<const ReaderLane&>(*node))) return true;
  }
  return false;
}

}  // namespace

// Reads are of the link that their digests come over, be it this one; what else is under way on a
// link goes in its own order, once it has been sent.
bool Lanes::has_older(const UctLink* link, const ReaderLane* reader, uint32_t epoch) noexcept {
  const bool links = any_link(*this, [&](UctLink& l) {
    if (&l == link) return l.waiting != 0 || (l.before != 0 && reads.linked());
    if (l.before != 0 || is_older(l.pending, epoch)) return true;
    return !l.set->core().onesided->client().fenced_puts_done(l) && !is_detached_for_good(l);
  });
  return links || any_reader(*this, [&](const ReaderLane& r) {
           return &r != reader && is_older(r.pending, epoch);
         });
}

bool Lanes::is_busy_elsewhere(const UctLink& link) noexcept {
  const bool links = any_link(*this, [&](UctLink& l) {
    if (&l == &link) return l.open != 0 && reads.linked();
    return l.open != 0 || !l.pending.empty() || !l.set->core().onesided->client().puts_done(l);
  });
  return links || any_reader(*this, [](const ReaderLane& r) { return !r.pending.empty(); });
}

// Of those that have waited is_behind_fence() decides, by the epoch that they are queued in: so one
// that will have to wait behind others on its link begins an epoch all the same.
bool Fences::follows_other_lanes(UctLink& l) noexcept {
  if (l.order == nullptr || l.has_turn() || l.is_lost()) return true;
  WorkerGroup& group = links_.core().group;
  const WorkerGroup::Guard all(group);
  Lanes& lanes = Lanes::of(l);
  if (!lanes.is_busy_elsewhere(l)) return true;
  group.begin_epoch();
  (void)any_link(lanes, [](UctLink& other) {
    other.set->core().onesided->client().fence(other);
    return false;
  });
  links_.defer(l);
  return false;
}

void Fences::fence() noexcept {
  const IfaceCore& core = links_.core();
  if (core.onesided == nullptr) return;
  const AsyncGuard guard(core.threads);
  const WorkerGroup::Guard all(core.group);
  links_.core().group.begin_epoch();
  links_.for_each([&](UctLink& l) {
    core.onesided->client().fence(l);
    const bool defers = l.waiting != 0 || (l.order != nullptr && Lanes::of(l).is_busy_elsewhere(l));
    if (defers) links_.defer(l);
  });
}

void Fences::fence(UctLink& l) noexcept {
  const AsyncGuard guard(links_.core().threads);
  if (links_.core().onesided == nullptr) return;
  const WorkerGroup::Guard all(links_.core().group);
  links_.core().onesided->client().fence(l);
  const bool reads = l.before != 0 && l.order != nullptr && l.order->reads.linked();
  if (l.waiting != 0 || reads) links_.defer(l);
}

bool Fences::is_behind_fence(UctLink& l) const noexcept {
  if (!l.deferred || l.order == nullptr || l.is_lost()) return false;
  const WorkerGroup& group = links_.core().group;
  const WorkerGroup::Guard all(group);
  return Lanes::of(l).has_older(&l, nullptr, l.pending.empty() ? group.epoch() : l.pending.epoch());
}

}  // namespace verity::uct
