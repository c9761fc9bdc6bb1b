// SPDX-License-Identifier: BSD-3-Clause
// The table of links: opening, finding, failing and removing them.
#include "link/hub.h"

#include <algorithm>
#include <new>

namespace verity::link {

namespace {

Config bounded(Config config) noexcept {
  if (config.compact) config.window_frames = std::min(config.window_frames, wire::kCompactWindow);
  return config;
}

uint64_t peer_key(uint64_t uid, uint8_t path) noexcept { return merkle::mix(uid, path); }

}  // namespace

Hub::Hub(uint64_t uid, const Config& config, Port& port, health::Counters& counters)
    : uid_(uid),
      config_(bounded(config)),
      segment_size_(1u << config.segment_log2),
      compact_limit_(config.segment_log2 < wire::kMaxSegmentLog2 ? segment_size_ + segment_size_ / 8 : segment_size_),
      quarter_frames_(std::max(1u, config.window_frames / 4)),
      quarter_bytes_(std::max(1u, config.window_bytes / 4)),
      segment_byte_(wire::segment_byte(config.segment_log2)),
      hello_size_(config.hello_size),
      port_(port),
      counters_(counters),
      pool_(config.max_frame, config.pool_limit) {}

Hub::~Hub() {
  for (Link* link : table_) {
    if (link != nullptr) remove(*link);
  }
  count_repaired_of_no_link();
}

void Hub::enter(Link& link) {
  if (free_ids_.empty()) {
    // More do not fit their ids; the last index is kLinkUnknown's.
    if (table_.size() == kIndexMask) throw std::bad_alloc();
    table_.push_back(nullptr);
    free_ids_.push_back(static_cast<uint32_t>(table_.size() - 1));
  }
  link.local_id = free_ids_.back();
  free_ids_.pop_back();
  table_[link.local_id & kIndexMask] = &link;
  link.epoch = ++epochs_;
  if (link.counters == nullptr) link.counters = &counters_;
  link.counters->links_opened++;
}

void Hub::open(Link& link, uint64_t peer_uid, uint8_t path, Mode peer_mode) {
  const uint64_t key = peer_key(peer_uid, path);
  by_peer_[key] = &link;
  link.reborn = (former_word(key) >> (key & 63) & 1) != 0;
  link.path = path;
  enter(link);
  set_peer(link, peer_uid, peer_mode);
}

void Hub::connect(Link& link, uint64_t peer_uid, uint32_t remote_id, Mode peer_mode) noexcept {
  set_peer(link, peer_uid, peer_mode);
  link.remote_id = remote_id;
  established(link);
}

void Hub::set_peer(Link& link, uint64_t peer_uid, Mode peer_mode) noexcept {
  link.peer_uid = peer_uid;
  link.mode = std::min(config_.mode, peer_mode);
  for (unsigned c = 0; c < wire::kClasses; ++c) {
    link.tx[c].nonce = wire::nonce(uid_, peer_uid, static_cast<wire::Class>(c));
    link.rx[c].nonce = wire::nonce(peer_uid, uid_, static_cast<wire::Class>(c));
  }
}

// Both sides know each other's link id: no more greetings.
void Hub::established(Link& link) noexcept {
  link.greeting = false;
  link.plain = link.mode == Mode::kVerify && !link.failed && !link.peer_gone;
}

Link* Hub::find(uint64_t peer_uid, uint8_t path) const noexcept {
  const auto it = by_peer_.find(peer_key(peer_uid, path));
  return it == by_peer_.end() ? nullptr : it->second;
}

void Hub::remove(Link& link) noexcept {
  shut(link);
  const uint32_t index = link.local_id & kIndexMask;
  if (link.local_id == wire::kLinkUnknown || table_[index] != &link) return;
  table_[index] = nullptr;
  const auto it = by_peer_.find(peer_key(link.peer_uid, link.path));
  if (it != by_peer_.end() && it->second == &link) by_peer_.erase(it);
  // The next link of this index gets another generation, so that late frames of this one are not taken for its own.
  const uint32_t next = link.local_id + (1u << kIndexBits);
  try {
    free_ids_.push_back(next);
  } catch (...) {  // one index is lost
  }
  link.local_id = wire::kLinkUnknown;
}

void Hub::shut(Link& link) noexcept {
  if (!link.peer_gone) {  // an interface that closed does not come back
    const uint64_t key = peer_key(link.peer_uid, link.path);
    former_word(key) |= uint64_t{1} << (key & 63);
  }
  count_repaired(link);
  link.failed = true;
  link.plain = false;
  link.owed = 0;
  link.owe_bye = false;
  link.owed_node.unlink();
  link.timer_node.unlink();
  link.timer_armed = false;
  for (Receiver& rx : link.rx) drop_held(rx);
  retire_all(link);
}

void Hub::fail(Link& link, Failure why) noexcept {
  if (link.failed) return;
  shut(link);
  link.counters->links_failed++;
  port_.failed(link, why);
}

void Hub::say_bye() noexcept {
  for (Link* link : table_) {
    if (link != nullptr) say_bye(*link);
  }
}

bool Hub::is_strange(const Link& link) noexcept {
  return link.remote_id == wire::kLinkUnknown && link.peer_epoch == 0 && !link.in_flight();
}

void Hub::leave(Link& link) noexcept {
  constexpr int kTimes = 3;
  link.leaving = true;
  if (link.failed || link.peer_gone || link.mode != Mode::kVerify || is_strange(link)) return;
  for (int i = 0; i < kTimes; ++i) {
    if (send_control(link, wire::Class::kSync, wire::FrameKind::kAck, {}) == Sent::kOk) continue;
    if (!link.failed) owe_ack(link, wire::Class::kSync, wire::kAckRequest);
    return;
  }
}

void Hub::say_bye(Link& link) noexcept {
  if (link.failed || link.peer_gone || link.mode == Mode::kOff || is_strange(link)) return;
  link.owe_bye = true;
  owe_now(link);
}

bool Hub::quiet() const noexcept {
  if (owed_.linked()) return false;
  return std::none_of(table_.begin(), table_.end(), [](const Link* link) { return link != nullptr && link->in_flight(); });
}

}  // namespace verity::link
