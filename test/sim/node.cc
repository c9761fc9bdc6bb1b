// SPDX-License-Identifier: BSD-3-Clause
#include "sim/node.h"

#include <algorithm>
#include <sstream>
#include <utility>

#include "sim/world.h"

namespace verity::sim {

namespace {

constexpr unsigned kMaxDepth = 12;  // of upcalls that send

}  // namespace

Node::Node(World& world, unsigned index, uint64_t uid, const link::Config& config)
    : world_(world), index_(index), rng_(world.plan().seed * 131 + index) {
  for (unsigned i = 0; i < world.plan().interfaces; ++i) peers_.push_back(std::make_unique<Peer>());
  hub_ = std::make_unique<link::Hub>(uid, config, *this, counters_);
}

Node::~Node() = default;

void Node::connect_to(unsigned to) {
  Peer& p = peer(to);
  if (p.open) return;
  p.open = true;
  hub_->lifecycle.open(p.link, world_.node(to).uid(), 0, link::Mode::kVerify);
  for (unsigned c = 0; c < wire::kClasses; ++c) {
    p.link.tx[c].start_at(world_.first_psn(index_, to, c));
    p.link.rx[c].start_at(world_.first_psn(to, index_, c));
    p.link.timer.seen_una[c] = p.link.tx[c].una();
  }
}

unsigned Node::index_of(const link::Link& link) const noexcept {
  for (unsigned i = 0; i < peers_.size(); ++i) {
    if (&peers_[i]->link == &link) return i;
  }
  return ~0u;
}

size_t Node::buffers_in_use() const noexcept {
  return static_cast<size_t>(
      std::count_if(buffers_.begin(), buffers_.end(), [](const auto& b) { return !b->completed; }));
}

void Node::progress(uint64_t now, bool tick) {
  if (now < paused_until_) return;
  complete();
  for (unsigned burst = 0; burst < 4; ++burst) {
    const auto to = static_cast<unsigned>(rng_.below(peers_.size()));
    send_next(to, static_cast<wire::Class>(rng_.below(2)));
  }
  if (world_.plan().mutate > 0 && !buffers_.empty()) {
    Buffer& b = *buffers_[rng_.below(buffers_.size())];
    if (!b.completed && b.version + 1 < kVersions && rng_.chance(world_.plan().mutate)) {
      fill_message(b.id, ++b.version, b.bytes.data(), b.bytes.size());
    }
  }
  if (hub_->poll() || tick) hub_->tick(now);
}

// The upper layer's completions run from progress only, never inside a call of the link.
void Node::complete() {
  for (Buffer* b : std::exchange(freed_, {})) {
    b->completed = true;
    std::fill(b->bytes.begin(), b->bytes.end(), uint8_t{0xdd});
    hub_->zero_copy.release(b->slot);
    b->slot = nullptr;
  }
}

bool Node::wants_to_send() const noexcept {
  for (const auto& p : peers_) {
    for (const Stream& s : p->out) {
      if (s.sent < s.planned && s.writable) return true;
    }
  }
  return false;
}

bool Node::all_sent() const noexcept {
  for (const auto& p : peers_) {
    for (const Stream& s : p->out) {
      if (s.sent < s.planned) return false;
    }
  }
  return true;
}

bool Node::send_next(unsigned to, wire::Class c) {
  Stream& s = peer(to).out[static_cast<unsigned>(c)];
  if (s.sent >= s.planned || !s.writable) return false;
  connect_to(to);
  const MessageId id{index_, c, s.sent};
  const uint32_t length = message_length(id, world_.plan().longest);
  const bool zero_copy = length != 0 && (length + 300 > hub_->config().max_frame ||
                                         rng_.chance(world_.plan().zero_copy));
  return zero_copy ? send_zero_copy(to, id, length) : send_copy(to, id, length);
}

bool Node::send_copy(unsigned to, const MessageId& id, uint32_t length) {
  Peer& p = peer(to);
  Stream& s = p.out[static_cast<unsigned>(id.c)];
  if (send_small(to, id, length)) return true;
  link::Slot* slot = hub_->sender.reserve(p.link, id.c, length);
  if (slot == nullptr) return s.writable = false;
  if (rng_.chance(0.02)) {
    hub_->sender.cancel(slot);
    return false;
  }
  fill_message(id, 0, slot->payload(), length);
  s.sent++;
  const bool may_be_compact = !rng_.chance(world_.plan().mixed);
  if (hub_->sender.commit_open(p.link, id.c, slot, length, message_am(id), may_be_compact))
    link::seal(p.link, id.c, slot);
  const util::Piece frame{slot->frame(), slot->size};
  after_send(to, id.c, slot,
             slot->compact ? send_compact(p.link, frame) : send(p.link, id.c, {&frame, 1}));
  return true;
}

// False: not this time, or not this message.
bool Node::send_small(unsigned to, const MessageId& id, uint32_t length) {
  Peer& p = peer(to);
  const bool fits = id.c == wire::Class::kSync && length <= hub_->sender.small_payload();
  if (!fits || !p.link.is_fast() || rng_.chance(0.3)) return false;
  link::Slot* slot = hub_->sender.reserve_small(p.link);
  if (slot == nullptr) return false;
  fill_message(id, 0, slot->payload(), length);
  p.out[static_cast<unsigned>(id.c)].sent++;
  hub_->sender.commit_small(p.link, slot, length, message_am(id));
  const util::Piece frame{slot->frame(), slot->size};
  after_send(to, id.c, slot, send_compact(p.link, frame));
  return true;
}

bool Node::send_zero_copy(unsigned to, const MessageId& id, uint32_t length) {
  Peer& p = peer(to);
  Stream& s = p.out[static_cast<unsigned>(id.c)];
  // The first bytes travel as the upper header; it does not change.
  const uint32_t header = 0;
  link::Slot* slot = hub_->sender.reserve(p.link, id.c, link::ZeroCopy::source_space(header));
  if (slot == nullptr) return s.writable = false;
  buffers_.push_back(std::make_unique<Buffer>());
  Buffer* b = buffers_.back().get();
  b->id = id;
  b->slot = slot;
  b->bytes.resize(length);
  fill_message(id, 0, b->bytes.data(), length);
  link::Source* source = link::ZeroCopy::make_source(slot, nullptr, header);
  buffer_of(*slot) = b;
  const size_t cut = rng_.below(length + 1);
  source->pieces[source->count++] = {b->bytes.data(), cut};
  source->pieces[source->count++] = {b->bytes.data() + cut, length - cut};
  s.sent++;
  hub_->sender.commit_source(p.link, id.c, slot, message_am(id));
  after_send(to, id.c, slot, send_source(p.link, id.c, *slot));
  return true;
}

void Node::after_send(unsigned to, wire::Class c, link::Slot* slot, link::Sent result) {
  if (result == link::Sent::kBusy) {
    hub_->sender.stalled(peer(to).link, c, slot);
  } else {
    hub_->sender.sent(peer(to).link, c);
  }
}

void Node::resume() {
  for (unsigned to = 0; to < peers_.size(); ++to) {
    Peer& p = peer(to);
    if (!p.waits_for_lower || world_.now() < world_.channel(index_, to).busy_until()) continue;
    p.waits_for_lower = !hub_->retransmitter.resume(p.link);
  }
}

void Node::receive(const Packet& packet) {
  // A copy of its own of just this size: reading past it is an error that AddressSanitizer sees.
  std::vector<uint8_t> bytes(packet.bytes);
  link::Received received;
  if (packet.compact ? !hub_->receive_compact(bytes.data(), bytes.size(), &received)
                     : !hub_->receive(packet.c, bytes.data(), bytes.size(), &received)) {
    return;
  }
  on_message(index_of(*received.link), received.am_id, received.payload, received.length);
  hub_->delivered(received, packet.c);
}

void Node::on_message(unsigned from, uint8_t am_id, const void* payload, size_t length) {
  if (from == ~0u) return world_.error("a message of a link that does not exist");
  const bool exact = !world_.plan().faults.any() || peer(from).link.mode() == link::Mode::kVerify;
  if (am_id >= kMessageIds) {  // damaged, in mode observe
    if (exact) world_.error("an active message that no node sends");
    return;
  }
  const wire::Class c = class_of_am(am_id);
  Stream& s = peer(from).in[static_cast<unsigned>(c)];
  const MessageId id{from, c, s.received++};
  received_++;
  if (exact &&
      (am_id != message_am(id) || !is_message(id, payload, length, world_.plan().longest))) {
    world_.error("interface " + std::to_string(index_) + " got from " + std::to_string(from) +
                 " class " + std::to_string(static_cast<unsigned>(c)) +
                 " something else than message " + std::to_string(id.number));
  }
  if (depth_ >= kMaxDepth) return;
  ++depth_;
  if (rng_.chance(world_.plan().replies))
    send_next(from, rng_.chance(0.8) ? c : static_cast<wire::Class>(rng_.below(2)));
  --depth_;
}

std::string Node::broken_rule() {
  for (const auto& p : peers_) {
    const link::Link& l = p->link;
    if (!p->open) continue;
    if (l.control.any() != l.control.node.linked()) return "pending control and queue disagree";
    if (l.in_flight() && !l.timer.deadline.armed()) return "frames in flight without a timer";
    for (unsigned c = 0; c < wire::kClasses; ++c) {
      const link::SendWindow& tx = l.tx[c];
      uint32_t bytes = 0;
      uint32_t count = 0;
      for (const link::Slot* slot = tx.oldest(); slot != nullptr; slot = slot->next, ++count) {
        bytes += slot->weight();
        if (slot->psn != tx.una() + count) return "psn out of order in the window";
      }
      if (count != tx.frames() || bytes != tx.bytes()) return "window count is wrong";
      const bool repair_pending =
          l.control.has(link::Control::kRepair, static_cast<wire::Class>(c));
      for (const link::Slot* slot = tx.oldest(); slot != nullptr; slot = slot->next) {
        if (slot->repair != nullptr && slot->repair->pending && !repair_pending)
          return "a repair that is not pending";
      }
      const link::ReceiveWindow& rx = l.rx[c];
      if (rx.top() - rx.expected() > (1u << 17)) return "top before expected";
      for (const link::QueuedFrame* h = rx.queue().first(); h != nullptr && h->next != nullptr;
           h = h->next) {
        if (static_cast<int32_t>(h->next->header.psn - h->header.psn) <= 0)
          return "queued frames out of order";
      }
      if (rx.queue().first() != nullptr &&
          static_cast<int32_t>(rx.queue().first()->header.psn - rx.expected()) < 0)
        return "a queued frame of the past";
      if (rx.queue().first() != nullptr && rx.queue().first()->good &&
          rx.queue().first()->header.psn == rx.expected())
        return "a queued frame not delivered";
    }
    const bool full = l.tx[0].blocked() || l.tx[1].blocked() || l.failed() || l.peer_closed() ||
                      p->waits_for_lower;
    for (const Stream& s : p->out) {
      if (!s.writable && !full) return "no longer blocked, but writable() was not called";
    }
  }
  return {};
}

std::string Node::describe() const {
  std::ostringstream text;
  text << "interface " << index_ << ":";
  for (size_t to = 0; to < peers_.size(); ++to) {
    const link::Link& l = peers_[to]->link;
    if (!peers_[to]->open) continue;
    text << "\n  to " << to << (l.failed() ? " failed" : "")
         << (l.carries_hello() ? " handshake" : "") << (l.is_fast() ? " fast" : "")
         << (peers_[to]->waits_for_lower ? " waits for the lower" : "") << " pending "
         << unsigned{l.control.bits};
    for (unsigned c = 0; c < wire::kClasses; ++c) {
      const link::SendWindow& tx = l.tx[c];
      const link::ReceiveWindow& rx = l.rx[c];
      const Stream& out = peers_[to]->out[c];
      text << "\n    class " << c << " sent " << out.sent << '/' << out.planned
           << (out.writable ? "" : " refused") << " una " << tx.una() << " next " << tx.next_psn()
           << (tx.blocked() ? " blocked" : "") << (tx.first_unsent() ? " unsent" : "")
           << (tx.oldest() && tx.oldest()->repair
                   ? " repair tries " + std::to_string(tx.oldest()->repair->tries)
                   : "")
           << "; expects " << rx.expected() << " top " << rx.top() << " nacked to "
           << rx.nacked_to();
      for (const link::QueuedFrame* h = rx.queue().first(); h != nullptr; h = h->next) {
        text << " [" << h->header.psn << (h->good ? "" : " bad") << (h->nacked ? " nacked" : "")
             << ' ' << h->header.length << ']';
      }
    }
  }
  return text.str();
}

void Node::remove_links() {
  for (const auto& p : peers_) {
    if (p->open) hub_->lifecycle.remove(p->link);
    p->open = false;
  }
  complete();
}

}  // namespace verity::sim
