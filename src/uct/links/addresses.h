// SPDX-License-Identifier: BSD-3-Clause
//
// What the plugin adds to the lower transports' addresses (wire/address.h).
#ifndef VERITY_UCT_LINKS_ADDRESSES_H
#define VERITY_UCT_LINKS_ADDRESSES_H

#include "link/state/link.h"
#include "uct/compat/ucx.h"
#include "wire/address.h"

namespace verity::uct {

[[nodiscard]] inline link::Mode link_mode(const wire::AddressTail& tail) noexcept {
  return static_cast<link::Mode>(wire::mode_of(tail));
}
[[nodiscard]] wire::AddressTail make_tail(link::Mode mode, uint8_t extensions,
                                          uint64_t uid) noexcept;

// What a peer's address says; false: something else made it, or another version.
[[nodiscard]] bool read_tail(const void* address, size_t offset, wire::AddressTail* tail) noexcept;
// Says why on stderr, once per process and reason; for the caller to return.
[[nodiscard]] ucs_status_t refuse_address(const wire::AddressTail& tail) noexcept;
// The same of a raw transport of the same name (WrapIface::is_ours).
[[nodiscard]] ucs_status_t refuse_raw_peer() noexcept;

}  // namespace verity::uct

#endif
