// SPDX-License-Identifier: BSD-3-Clause
//
// From what links and reads say of a fault to its record: who, with whom, over what.
#ifndef VERITY_UCT_LINKS_FAULT_REPORT_H
#define VERITY_UCT_LINKS_FAULT_REPORT_H

#include "health/faults/fault_record.h"
#include "uct/links/iface_core.h"
#include "uct/links/uct_link.h"
#include "uct/process/fault_log.h"
#include "uct/process/process.h"

namespace verity::uct {

// Between whom, as far as the interface and that link (or nullptr) know. Throws std::bad_alloc.
inline void describe(const IfaceCore& core, const UctLink* l, health::FaultRecord& record) {
  record.transport = std::string("v") + core.lower_name();
  record.device = core.device_name;
  record.injected = core.wrap.lower_injects();
  record.interface = core.uid;
  record.segment_size = 1u << core.config.segment_log2;
  if (l == nullptr) return;
  record.peer = l->peer_uid;
  record.peer_host = process().host_name(l->host);
}

// Records one fault; fill(record) adds what was wrong.
template <typename Fill>
void report_fault(const IfaceCore& core, const UctLink* l, Fill&& fill) noexcept {
  if (core.is_inherited()) return;
  (void)guarded([&] {
    health::FaultRecord record;
    describe(core, l, record);
    fill(record);
    fault_log().record(record);
    return UCS_OK;
  });
}

}  // namespace verity::uct

#endif
