// SPDX-License-Identifier: BSD-3-Clause
// Finds the links of an interface: by the id that their frames carry, and by their peer.
#ifndef VERITY_LINK_STATE_LINK_TABLE_H
#define VERITY_LINK_STATE_LINK_TABLE_H

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "link/state/link.h"
#include "wire/compact.h"

namespace verity::link {

class LinkTable {
 public:
  // Gives the link an id and an epoch. Throws std::bad_alloc, also when all 2^20 - 1 ids are taken.
  void enter(Link& link);
  // The same, and find(peer_uid, path) knows it from now on.
  void enter(Link& link, uint64_t peer_uid, uint8_t path);
  // False: it is in no table. Its id is not used again soon, so that late frames find no other
  // link.
  bool remove(Link& link) noexcept;

  [[nodiscard]] Link* find(uint32_t local_id) const noexcept {
    Link* link = at(local_id);
    return link != nullptr && link->local_id == local_id ? link : nullptr;
  }
  // By the 24 bits of the local id that a compact frame carries.
  [[nodiscard]] Link* find_compact(uint32_t bits) const noexcept {
    Link* link = at(bits);
    return link != nullptr && (link->local_id & wire::kCompactLinkMask) == bits ? link : nullptr;
  }
  [[nodiscard]] Link* find(uint64_t peer_uid, uint8_t path) const noexcept;

  // The peer of this link may connect anew: Link::reconnected of the next link to it.
  void remember_peer(const Link& link) noexcept;

  // The peer's interface has closed, and does not come back. What it sent on other paths before may
  // still arrive.
  void remember_closed(const Link& link) noexcept;
  // Of the last ones. A frame of theirs that comes once more makes no link: an answer would go to
  // what has their address by then, and UCX's shared memory does not survive that.
  [[nodiscard]] bool has_closed(uint64_t peer_uid, uint8_t path) const noexcept;

  // One place for each link; some are nullptr.
  [[nodiscard]] const std::vector<Link*>& all() const noexcept { return table_; }

 private:
  // A link id is an index, and above it a generation.
  static constexpr uint32_t kIndexBits = 20;
  static constexpr uint32_t kIndexMask = (1u << kIndexBits) - 1;

  [[nodiscard]] Link* at(uint32_t id) const noexcept {
    const uint32_t index = id & kIndexMask;
    return index < size_ ? links_[index] : nullptr;
  }

  std::vector<Link*> table_;
  Link* const* links_ = nullptr;  // table_'s, which a frame finds with fewer instructions
  size_t size_ = 0;
  std::vector<uint32_t> free_ids_;
  std::unordered_map<uint64_t, Link*> by_peer_;
  uint32_t epochs_ = 0;
  // Peers of links that are gone: a Bloom filter with one hash. Some seem to be in it that are not,
  // and pay one more round trip for their first frame.
  uint64_t previous_peers_[64] = {};
  static constexpr size_t kMostClosed = 16;
  uint64_t closed_[kMostClosed] = {};  // keys of peers; the oldest one is replaced
  size_t closed_count_ = 0;
};

}  // namespace verity::link

#endif
