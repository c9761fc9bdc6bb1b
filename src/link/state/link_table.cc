// SPDX-License-Identifier: BSD-3-Clause
#include "link/state/link_table.h"

#include <algorithm>
#include <new>

#include "merkle/hash.h"

namespace verity::link {

namespace {

uint64_t peer_key(uint64_t uid, uint8_t path) noexcept { return merkle::mix(uid, path); }
uint64_t bit_of(uint64_t key) noexcept { return uint64_t{1} << (key & 63); }

}  // namespace

void LinkTable::enter(Link& link) {
  if (free_ids_.empty()) {
    // More do not fit their ids; the last index is kLinkUnknown's.
    if (table_.size() == kIndexMask) throw std::bad_alloc();
    table_.push_back(nullptr);
    links_ = table_.data();
    size_ = table_.size();
    free_ids_.push_back(static_cast<uint32_t>(table_.size() - 1));
  }
  link.local_id = free_ids_.back();
  free_ids_.pop_back();
  table_[link.local_id & kIndexMask] = &link;
  link.epoch = ++epochs_;
}

void LinkTable::enter(Link& link, uint64_t peer_uid, uint8_t path) {
  const uint64_t key = peer_key(peer_uid, path);
  Link*& found = by_peer_[key];  // the same as before where the next throws
  enter(link);
  found = &link;
  link.reconnected = (previous_peers_[key >> 6 & 63] & bit_of(key)) != 0;
  link.path = path;
}

Link* LinkTable::find(uint64_t peer_uid, uint8_t path) const noexcept {
  const auto it = by_peer_.find(peer_key(peer_uid, path));
  return it == by_peer_.end() ? nullptr : it->second;
}

bool LinkTable::remove(Link& link) noexcept {
  const uint32_t index = link.local_id & kIndexMask;
  if (link.local_id == wire::kLinkUnknown || table_[index] != &link) return false;
  table_[index] = nullptr;
  const auto it = by_peer_.find(peer_key(link.peer_uid, link.path));
  if (it != by_peer_.end() && it->second == &link) by_peer_.erase(it);
  const uint32_t next = link.local_id + (1u << kIndexBits);
  try {
    free_ids_.push_back(next);
  } catch (...) {  // one index is lost
  }
  link.local_id = wire::kLinkUnknown;
  return true;
}

void LinkTable::remember_peer(const Link& link) noexcept {
  const uint64_t key = peer_key(link.peer_uid, link.path);
  previous_peers_[key >> 6 & 63] |= bit_of(key);
}

void LinkTable::remember_closed(const Link& link) noexcept {
  closed_[closed_count_++ % kMostClosed] = peer_key(link.peer_uid, link.path);
}

bool LinkTable::has_closed(uint64_t peer_uid, uint8_t path) const noexcept {
  const uint64_t* end = closed_ + std::min(closed_count_, kMostClosed);
  return std::find(closed_, end, peer_key(peer_uid, path)) != end;
}

}  // namespace verity::link
