// SPDX-License-Identifier: BSD-3-Clause
// From what links and reads say of a fault to its record: who, with whom, over what.
#include "uct/process/fault_log.h"
#include "uct/process/process.h"
#include "uct/iface/verity_ep.h"
#include "wire/rma.h"

namespace verity::uct {

namespace {

health::Operation operation_of(const link::Fault& fault) noexcept {
  if (fault.header.kind != wire::kind_byte(wire::FrameKind::kData) && !fault.sent) return health::Operation::kControl;
  if (fault.header.upper_am_id() != wire::kRmaId || fault.payload == nullptr || fault.header.length == 0) {
    return health::Operation::kMessage;
  }
  switch (static_cast<wire::RmaKind>(fault.payload[0])) {
    case wire::RmaKind::kPut: return health::Operation::kPut;
    case wire::RmaKind::kGot: return health::Operation::kGet;
    case wire::RmaKind::kAtomic: return health::Operation::kAtomic;
    default: return health::Operation::kControl;
  }
}

}  // namespace

void VerityIface::describe(const UctLink* l, health::FaultRecord& record) const {
  record.transport = std::string("v") + lower_tl_name();
  record.device = device_name_;
  record.injected = lower_injects();
  record.interface = uid_;
  record.segment_size = 1u << config_.segment_log2;
  if (l == nullptr) return;
  record.peer = l->peer_uid;
  record.peer_host = process().host_name(l->host);
}

// UCX's asynchronous mode "signal" may interrupt anything, be it the allocation of memory or the making of another record.
bool VerityIface::may_interrupt() const noexcept { return has_async_ && async()->mode == UCS_ASYNC_MODE_SIGNAL; }

void VerityIface::diagnosed(link::Link* link, const link::Fault& fault) noexcept {
  if (process().in_child()) return;
  if (may_interrupt()) return fault_log().count();
  (void)guarded([&] {
    health::FaultRecord record;
    describe(link != nullptr ? &UctLink::of(*link) : nullptr, record);
    record.sent = fault.sent;
    record.operation = operation_of(fault);
    record.kind = fault.kind;
    record.sequence = fault.header.psn;
    record.length = fault.header.length;
    record.attempts = fault.attempts;
    if (fault.syndrome != nullptr) record.syndrome = *fault.syndrome;
    fault_log().tell(record);
    return UCS_OK;
  });
}

void OneSided::diagnosed(const rma::Read& read, const rma::ReadFault& fault) noexcept {
  if (process().in_child()) return;
  if (iface_.may_interrupt()) return fault_log().count();
  (void)guarded([&] {
    health::FaultRecord record;
    iface_.describe(static_cast<const UctLink*>(read.peer), record);
    record.operation = health::Operation::kRead;
    record.kind = fault.kind;
    record.length = fault.length;
    record.offset = fault.offset;
    record.attempts = fault.attempts;
    if (fault.syndrome != nullptr) record.syndrome = *fault.syndrome;
    fault_log().tell(record);
    return UCS_OK;
  });
}

}  // namespace verity::uct
