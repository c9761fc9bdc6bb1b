// SPDX-License-Identifier: BSD-3-Clause
//
// How long acknowledgements are waited for: by flushes, and by what is ordered behind a peer's last
// word.
#ifndef VERITY_UCT_LINKS_PATIENCE_H
#define VERITY_UCT_LINKS_PATIENCE_H

#include "uct/links/link_set.h"

namespace verity::uct {

// ns. A lower transport that is too busy to take what is sent again is not waited for longer.
inline constexpr uint64_t kBusyPatience = 10'000'000'000;

// Whether all that was sent is acknowledged, or its acknowledgement is waited for no longer. Asks
// for it.
[[nodiscard]] bool is_settled(UctLink& l) noexcept;

// The peer's last acknowledgement may be what was lost: nothing more is waited for.
[[nodiscard]] inline bool is_detached_for_good(UctLink& l) noexcept {
  return l.peer_detached && is_settled(l);
}

}  // namespace verity::uct

#endif
