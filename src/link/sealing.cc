// SPDX-License-Identifier: BSD-3-Clause
#include "link/sealing.h"

#include <algorithm>

namespace verity::link {

void seal_stored(Slot& slot, uint64_t nonce) noexcept {
  const StoredPayload stored(slot);
  wire::FrameHeader* header = slot.header();
  if ((header->flags & wire::kTree) != 0) {
    wire::seal_tree(header, stored.pieces(), nonce);
  } else if (slot.source == nullptr) {
    wire::seal_single(header, slot.size, nonce);
  } else {
    util::Piece rest[kMaxSourcePieces + 1];
    std::copy(stored.pieces().begin(), stored.pieces().end(), rest);
    rest[stored.pieces().size()] = slot.source->hello;
    wire::seal_single(header, util::Pieces(rest, stored.pieces().size() + 1), nonce);
  }
}

}  // namespace verity::link
