// SPDX-License-Identifier: BSD-3-Clause
//
// The transport entries of a wrapping component. UCX asks a transport for its devices with the
// memory domain as only argument, so each entry needs a function of its own: a table of small
// trampolines, one per slot.
#ifndef VERITY_UCT_WRAP_DEVICES_H
#define VERITY_UCT_WRAP_DEVICES_H

#include <atomic>
#include <string>

#include "uct/compat/transports.h"
#include "uct/wrap/registry.h"

namespace verity::uct {

struct TlEntry {
  uct_tl_t uct{};
  uct_component_h lower = nullptr;
  // The lower transport's own function: UCX may find another one there by now (hide_devices).
  QueryDevices query_lower = nullptr;
  char lower_name[UCT_TL_NAME_MAX] = {};
  // Settled by opening the transport once if the name says nothing; by several threads, maybe, with
  // the same answer.
  std::atomic<HasAm> has_am = HasAm::kUnknown;
  std::string config_title;
};

// Makes the entry that wraps `lower_tl` and registers it with `component`; null (after a debug
// line) when the trampoline table is full. Owned by the process.
[[nodiscard]] TlEntry* register_tl(Component& component, uct_component_h lower,
                                   const uct_tl_t& lower_tl, const std::string& name);

}  // namespace verity::uct

#endif
