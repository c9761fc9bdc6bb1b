// SPDX-License-Identifier: BSD-3-Clause
//
// The active-message ids of UCP that the plugin has to know. The table of all ids is wire/am_ids.h.
#ifndef VERITY_UCT_COMPAT_UCP_IDS_H
#define VERITY_UCT_COMPAT_UCP_IDS_H

#include "uct/compat/ucx.h"
#include "wire/am_ids.h"

namespace verity::uct {

// The highest one, in releases up to 1.23: 26 up to 1.20, 28 from 1.21 on.
inline constexpr uint8_t kLastUcpId = 28;
static_assert(kLastUcpId < wire::kFirstOwnId);
static_assert(UCT_AM_ID_MAX == wire::kAmIds);

// UCP_AM_ID_RNDV_RTR: the receiver of a rendezvous has its buffer.
inline constexpr uint8_t kRendezvousRtr = 11;
// UCP_AM_ID_RNDV_DATA: the data of a rendezvous. The sender must make progress to receive the
// peer's RTR, with stock transports as well, so these sends need not complete without progress, and
// are not copied for it.
inline constexpr uint8_t kRendezvousData = 12;

}  // namespace verity::uct

#endif
