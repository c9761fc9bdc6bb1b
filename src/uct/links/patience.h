// SPDX-License-Identifier: BSD-3-Clause
//
// How long acknowledgements are waited for: by flushes, and by what is ordered behind a peer's last
// word.
#ifndef VERITY_UCT_LINKS_PATIENCE_H
#define VERITY_UCT_LINKS_PATIENCE_H

#include "uct/links/link_set.h"

namespace verity::uct {

// ns. Neither a lower transport that is too busy to take what is sent again, nor what a peer
// without endpoints applies of ours, is waited for longer.
inline constexpr uint64_t kBusyPatience = 10'000'000'000;
// ns that the lower transport may take for a send that it is in the middle of, as the peer reads
// nothing, when the send is to end.
inline constexpr uint64_t kLetGo = 500'000'000;

// Whether the frames before those psns are acknowledged, or their acknowledgement is waited for no
// longer. Asks for it.
[[nodiscard]] bool is_settled(UctLink& l, const link::Psns& psn) noexcept;

// The peer has no endpoint, and its last acknowledgement may be what was lost: nothing more is
// waited for. It may also compute, and have memory that is written to without an endpoint of its
// own: so not soon.
[[nodiscard]] bool is_detached_for_good(UctLink& l) noexcept;

}  // namespace verity::uct

#endif
