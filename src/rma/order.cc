// SPDX-License-Identifier: BSD-3-Clause
// What waits for what, at the reader's side: fences, and order.h.
#include "rma/order.h"

#include "rma/client.h"

namespace verity::rma {

namespace {

// Of all links to the peer's worker; true as soon as one is.
template <typename Check>
bool any_link(Peer& peer, Check&& check) noexcept {
  if (peer.order == nullptr) return check(peer);
  util::ListNode& all = peer.order->peers;
  for (util::ListNode* node = all.next; node != &all; node = node->next) {
    if (check(static_cast<Peer&>(static_cast<InOrder&>(*node)))) return true;
  }
  return false;
}

Range range_of(const Read& read) noexcept { return {read.address, read.length}; }
Range range_of(const Fetch& fetch) noexcept { return {fetch.address, fetch.length}; }

Read& at(util::ListNode& node, Read*) noexcept {
  return *VERITY_CONTAINER_OF(&node, Read, in_order);
}
Fetch& at(util::ListNode& node, Fetch*) noexcept {
  return static_cast<Fetch&>(static_cast<FetchInOrder&>(node));
}

// `counts`: whether one that overlaps does.
template <typename Operation, typename Counts>
bool any_overlaps(util::ListNode& list, const Range& range, Counts&& counts) noexcept {
  for (util::ListNode* node = list.next; node != &list; node = node->next) {
    const Operation& operation = at(*node, static_cast<Operation*>(nullptr));
    if (range_of(operation).overlaps(range) && counts(operation)) return true;
  }
  return false;
}

}  // namespace

// --- fences
// ---------------------------------------------------------------------------------------------------------------------

void Client::fence(Peer& peer) noexcept {
  if (!puts_done(peer)) {
    peer.fenced = true;
    peer.fence_mark = peer.put_mark;
  }
  peer.before = peer.open;
  ++peer.epoch;
}

void Client::put_sent(Peer& peer, const Range& range) noexcept {
  peer.put_mark = port_.mark(peer);
  peer.written = peer.has_put ? peer.written.with(range) : range;
  peer.has_put = true;
  if (!port_.is_before_fence()) return;
  peer.fenced = true;
  peer.fence_mark = peer.put_mark;
}

bool Client::puts_done(Peer& peer) noexcept {
  if (peer.has_put && port_.has_taken(peer, peer.put_mark)) peer.has_put = false;
  return !peer.has_put;
}

bool Client::fenced_puts_done(Peer& peer) noexcept {
  if (peer.fenced && port_.has_taken(peer, peer.fence_mark)) peer.fenced = false;
  if (peer.fenced) port_.request_ack(peer);
  return !peer.fenced;
}

bool Client::awaits_fenced_puts(Peer& peer) noexcept {
  return any_link(peer, [&](Peer& link) { return !fenced_puts_done(link); });
}

// An operation that waited while a fence came counts with those that were open then: what is behind
// the fence waits for it, too.
void Client::opened(Peer& peer, uint32_t* epoch) noexcept {
  const bool late = port_.is_before_fence();
  ++peer.open;
  peer.before += late;
  *epoch = peer.epoch - late;
}

void Client::closed(Peer& peer, uint32_t epoch) noexcept {
  --peer.open;
  if (epoch != peer.epoch) --peer.before;
}

// --- overlapping ranges
// ---------------------------------------------------------------------------------------------------------

// As if there were a fence, for what is behind the writing that the read overlaps.
void Client::wait_for_writes(Read& read) noexcept {
  const Range range = range_of(read);
  (void)any_link(*read.peer, [&](Peer& link) {
    if (link.has_put && link.written.overlaps(range) && !puts_done(link)) {
      link.fenced = true;
      link.fence_mark = link.put_mark;
    }
    return false;
  });
  if (read.peer->order != nullptr) read.peer->order->reads.push_back(read.in_order);
}

// An atomic operation that waits for room: as writing, and nothing knows of it yet.
bool Client::has_unsent_write(Peer& link, const Range& range) noexcept {
  if (link.waiting == 0 || link.order == nullptr) return false;
  return any_overlaps<Fetch>(link.order->fetches, range, [&](const Fetch& fetch) {
    return fetch.peer == &link && fetch.is_atomic && fetch.waits;
  });
}

bool Client::awaits_unsent_writes(const Read& read) noexcept {
  const Range range = range_of(read);
  return any_link(*read.peer, [&](Peer& link) { return has_unsent_write(link, range); });
}

// It was sent after it had waited. Reads that it overlaps began later, as it would not have been
// started otherwise: they wait until it is applied.
void Client::sent_late(const Fetch& fetch) noexcept {
  Peer& peer = *fetch.peer;
  if (!fetch.is_atomic || peer.order == nullptr) return;
  const auto any = [](const Read&) { return true; };
  if (!any_overlaps<Read>(peer.order->reads, range_of(fetch), any)) return;
  peer.fenced = true;
  peer.fence_mark = peer.put_mark;
}

bool Client::written_elsewhere(const Peer& peer, const Range& range) noexcept {
  if (peer.order == nullptr) return false;
  return any_link(const_cast<Peer&>(peer), [&](Peer& link) {
    if (&link == &peer) return false;
    const bool written = has_unsent_write(link, range) ||
                         (link.has_put && link.written.overlaps(range) && !puts_done(link));
    if (written) port_.request_ack(link);
    return written;
  });
}

bool Client::may_write(Peer& peer, const Range& range) noexcept {
  if (!may_put(peer)) return false;
  Order* order = peer.order;
  if (order == nullptr) return true;
  if (any_overlaps<Read>(order->reads, range, [](const Read&) { return true; })) return false;
  const bool others = order->fetches_open != peer.fetches;
  if (others && any_overlaps<Fetch>(order->fetches, range,
                                    [&](const Fetch& fetch) { return fetch.peer != &peer; }))
    return false;
  return !written_elsewhere(peer, range);
}

bool Client::may_fetch(Peer& peer, const Range& range) noexcept {
  return !written_elsewhere(peer, range);
}

}  // namespace verity::rma
