// SPDX-License-Identifier: BSD-3-Clause
//
// What is known of UCX's transports by their names, which come and go with the releases, and how a
// transport is registered. Their buffers' variables are in segments.h.
#ifndef VERITY_UCT_COMPAT_TRANSPORTS_H
#define VERITY_UCT_COMPAT_TRANSPORTS_H

#include <string_view>

#include "uct/compat/ucx.h"

namespace verity::uct {

// What newer releases let an interface say of itself that does not hold for a wrapper: accelerators
// that send by themselves (1.20), the order of the lower transport's puts and messages (1.22
// alone).
inline constexpr uint64_t kLowerOnlyFlags = 0
#ifdef UCT_IFACE_FLAG_DEVICE_EP
                                            | UCT_IFACE_FLAG_DEVICE_EP
#endif
#ifdef UCT_IFACE_FLAG_DEVICE_LKEY
                                            | UCT_IFACE_FLAG_DEVICE_LKEY
#endif
#ifdef UCT_IFACE_FLAG_PUT_AM_ORDER
                                            | UCT_IFACE_FLAG_PUT_AM_ORDER
#endif
    ;

enum class HasAm { kUnknown, kNo, kYes };

// Whether a transport carries active messages, without which there is nothing to wrap.
[[nodiscard]] HasAm known_active_messages(std::string_view tl) noexcept;

// Without active messages, but with reads of another process's memory; those of the test component
// too.
[[nodiscard]] bool reads_processes(std::string_view tl) noexcept;

using QueryDevices = decltype(uct_tl_t::query_devices);

// From now on UCX finds no device of that transport, so that it makes no use of it. Who knows the
// function that it had before may still open it. Returns false: it was hidden already.
bool hide_devices(uct_tl_t* tl) noexcept;

// Adds a transport to a component. Its options are not listed: `ucx_info -c` lists them already, as
// the lower transport's.
void register_transport(uct_component_t* component, uct_tl_t* tl) noexcept;

}  // namespace verity::uct

#endif
