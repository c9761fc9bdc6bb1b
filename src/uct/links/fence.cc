// SPDX-License-Identifier: BSD-3-Clause
// Fences over several lanes. UCP fences each interface of a worker in turn, and then takes the completion of an operation on one lane for
// that of all before the fence on the others: Open MPI's MPI_Rget is a get, a fence, and an atomic operation whose end it waits for. Within
// a link the order is kept (rma/order.h). Between the links to one peer worker each fence begins an epoch: a link is held, for whatever
// comes behind the fence, until what came before it on the other lanes is done. Requests that waited for room when the fence came are of the
// epoch in which they were queued, and go.
//
// An atomic operation is behind such a fence without one: that it is done is taken for the end of what came before, as with stock transports
// on shared memory. Open MPI's accumulates get, put, and give their lock back with a swap.
//
// Nothing tells this link what becomes of the others: a held one is looked at in each progress.
#include "uct/links/lanes.h"
#include "uct/iface/verity_ep.h"

namespace verity::uct {

namespace {

bool is_older(const PendingQueue& pending, uint32_t epoch) noexcept {
  return !pending.empty() && static_cast<int32_t>(pending.epoch() - epoch) < 0;
}

// Nothing is waited for where nobody is left to answer.
bool is_lost(const UctLink& l) noexcept { return l.failed || l.peer_gone; }

UctLink& link_at(util::ListNode& node) noexcept {
  return static_cast<UctLink&>(static_cast<rma::Peer&>(static_cast<rma::InOrder&>(node)));
}

template <typename Check>
bool any_link(Lanes& lanes, Check&& check) noexcept {
  for (util::ListNode* node = lanes.peers.next; node != &lanes.peers; node = node->next) {
    UctLink& l = link_at(*node);
    if (!is_lost(l) && check(l)) return true;
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

// Reads are of the link that their digests come over, be it this one; what else is under way on a link goes in its own order.
bool Lanes::has_older(const UctLink* link, const ReaderLane* reader, uint32_t epoch) noexcept {
  const bool links = any_link(*this, [&](UctLink& l) {
    if (&l == link) return l.before != 0 && reads.linked();
    if (l.before != 0 || is_older(l.pending, epoch)) return true;
    return !l.iface->onesided().client().fenced_puts_done(l) && !l.iface->has_left(l);
  });
  return links || any_reader(*this, [&](const ReaderLane& r) { return &r != reader && is_older(r.pending, epoch); });
}

bool Lanes::is_busy_elsewhere(const UctLink& link) noexcept {
  const bool links = any_link(*this, [&](UctLink& l) {
    if (&l == &link) return l.open != 0 && reads.linked();
    return l.open != 0 || !l.pending.empty() || !l.iface->onesided().client().puts_done(l);
  });
  return links || any_reader(*this, [](const ReaderLane& r) { return !r.pending.empty(); });
}

// Whether an atomic operation may go. Of those that have waited that is_behind_fence() decides, by the epoch that they are queued in: so one
// that will have to wait behind others on its link begins an epoch all the same.
bool VerityIface::follows_other_lanes(UctLink& l) noexcept {
  if (l.order == nullptr || l.trying || is_lost(l)) return true;
  const WorkerGroup::Guard all(group_);
  Lanes& lanes = Lanes::of(l);
  if (!lanes.is_busy_elsewhere(l)) return true;
  group_.begin_epoch();
  (void)any_link(lanes, [](UctLink& other) {
    other.iface->onesided().client().fence(other);
    return false;
  });
  hold(l);
  return false;
}

void VerityIface::fence() noexcept {
  if (onesided_ == nullptr) return;
  const AsyncGuard guard(*this);
  const WorkerGroup::Guard all(group_);
  group_.begin_epoch();
  for (util::ListNode* node = links_.next; node != &links_; node = node->next) {
    UctLink& l = UctLink::in_all(node);
    onesided_->client().fence(l);
    if (l.order != nullptr && Lanes::of(l).is_busy_elsewhere(l)) hold(l);
  }
}

// What comes now waits, and is tried in the next progress.
void VerityIface::hold(UctLink& l) noexcept {
  l.held = l.gated = true;
  want_attention(l);
}

// Whether the oldest of what waits there, or what comes next, is behind a fence and others' operations before it.
bool VerityIface::is_behind_fence(UctLink& l) noexcept {
  if (!l.held || l.order == nullptr || is_lost(l)) return false;
  const WorkerGroup::Guard all(group_);
  return Lanes::of(l).has_older(&l, nullptr, l.pending.empty() ? group_.epoch() : l.pending.epoch());
}

// The peer's worker is known: the link's operations are ordered with those on the other lanes to it. Throws std::bad_alloc.
void VerityIface::join_lanes(UctLink& l) {
  if (onesided_ == nullptr || l.mode != link::Mode::kVerify || l.order != nullptr) return;
  const WorkerGroup::Guard all(group_);
  Lanes& lanes = group_.lanes(wire::worker_of(l.peer_uid));
  l.order = &lanes;
  lanes.peers.push_back(static_cast<rma::InOrder&>(l));
}

void VerityIface::leave_lanes(UctLink& l) noexcept {
  if (l.order == nullptr) return;
  const WorkerGroup::Guard all(group_);
  Lanes& lanes = Lanes::of(l);
  static_cast<rma::InOrder&>(l).unlink();
  l.order = nullptr;
  group_.give_back(lanes);
}

}  // namespace verity::uct
