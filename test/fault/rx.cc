// SPDX-License-Identifier: BSD-3-Clause
//
// Damage at the receiver. A frame that is hit goes up as a copy without a descriptor, so the lower
// transport takes its buffer back at once.
#include <algorithm>

#include "fault/iface.h"

namespace verity::fault {
namespace {

ucs_status_t receive_op(void* arg, void* data, size_t length, unsigned flags) noexcept {
  const auto* slot = static_cast<uct::WrapIface::AmSlot*>(arg);
  return uct::guarded([&] {
    return static_cast<FaultIface*>(slot->iface)->receive(slot->id, data, length, flags);
  });
}

bool is_drop_mark(std::span<const uint8_t> frame) noexcept {
  return frame.size() == sizeof(kDropMark) &&
         std::equal(frame.begin(), frame.end(), std::begin(kDropMark));
}

}  // namespace

void FaultIface::fill_ops(uct_iface_ops_t& ops) const noexcept {
  fill_am_ops(ops);
  fill_rma_ops(ops);
  fill_connect_ops(ops);
  const Settings& settings = injector().settings();
  if (settings.complete_after > 0) { fill_progress_ops(ops); }
  if (settings.async_interval > 0) { fill_async_ops(ops); }
}

void FaultIface::map_attr(uct_iface_attr_t& attr) const noexcept {
  WrapIface::map_attr(attr);
  if (injector().settings().async_interval > 0) {
    attr.cap.flags |= UCT_IFACE_FLAG_CB_ASYNC;
    // What was received asynchronously would wake no process by a descriptor.
    attr.cap.event_flags =
        UCT_IFACE_FLAG_EVENT_SEND_COMP | UCT_IFACE_FLAG_EVENT_RECV | UCT_IFACE_FLAG_EVENT_ASYNC_CB;
  }
  if (!connects_ep_only()) { return; }
  attr.cap.flags &= ~static_cast<uint64_t>(UCT_IFACE_FLAG_CONNECT_TO_IFACE);
  attr.iface_addr_len = 0;
}

uct_am_callback_t FaultIface::am_callback() const noexcept { return receive_op; }

ucs_status_t FaultIface::deliver(uint8_t am_id, void* data, size_t length, unsigned flags) {
  if (in_async_ && (am[am_id].flags & UCT_CB_FLAG_ASYNC) == 0) {
    const auto* bytes = static_cast<const uint8_t*>(data);
    waiting_.push_back({am_id, Bytes(bytes, bytes + length)});
    return UCS_OK;
  }
  return uct::invoke_am(this, am_id, data, static_cast<unsigned>(length), flags);
}

// By value: the handler may bring further frames here, nothing shared may be in use meanwhile.
void FaultIface::deliver_copy(OldFrame frame) {
  (void)deliver(frame.am_id, frame.bytes.data(), frame.bytes.size(), 0);
}

void FaultIface::release_held() {
  std::vector<OldFrame> held;
  {
    const std::lock_guard lock(held_mutex_);
    held.swap(held_);
  }
  for (OldFrame& frame : held) { deliver_copy(std::move(frame)); }
}

ucs_status_t FaultIface::receive(uint8_t am_id, void* data, size_t length, unsigned flags) {
  const std::span frame(static_cast<const uint8_t*>(data), length);
  if (injector().settings().uses_queue) { queue_progress(); }
  if (is_drop_mark(frame)) { return UCS_OK; }
  if (!injector().watches(Op::kAm, Side::kRx)) { return deliver(am_id, data, length, flags); }
  Verdict verdict = injector().judge({Op::kAm, Side::kRx, am_id}, frame, kAllKinds);
  if (verdict.hit) {
    deliver_hit(am_id, frame, verdict);
    return UCS_OK;
  }
  history_.remember(am_id, frame);
  const ucs_status_t status = deliver(am_id, data, length, flags);
  release_held();
  return status;
}

// An old frame stands for this one (replace), or comes after it (repeat).
void FaultIface::deliver_old(OldFrame frame, Verdict& verdict) {
  const FrameInfo info{Op::kAm, Side::kRx, frame.am_id};
  const size_t length = frame.bytes.size();
  OldFrame old = frame;  // with nothing remembered yet, repeat repeats the frame itself
  const bool found = history_.pick(verdict.random, -1, SIZE_MAX, &old);
  const bool repeat = verdict.kind == Kind::kRepeat;
  const bool differs = repeat || (found && old.bytes != frame.bytes);
  injector().record(info, verdict, differs ? whole_frame(length, old.bytes.size()) : Damage{},
                    length);
  if (repeat) { deliver_copy(std::move(frame)); }
  deliver_copy(std::move(old));
}

void FaultIface::deliver_hit(uint8_t am_id, std::span<const uint8_t> data, Verdict& verdict) {
  const FrameInfo info{Op::kAm, Side::kRx, am_id};
  OldFrame frame{am_id, Bytes(data.begin(), data.end())};
  switch (verdict.kind) {
    case Kind::kDrop:
      injector().record(info, verdict, whole_frame(data.size(), 0), data.size());
      return;
    case Kind::kSwap: {
      injector().record(info, verdict, whole_frame(data.size(), data.size()), data.size());
      const std::lock_guard lock(held_mutex_);
      held_.push_back(std::move(frame));
      return;
    }
    case Kind::kReplace:
    case Kind::kRepeat: deliver_old(frame, verdict); break;
    default: {
      const Damage done = damage_frame(verdict, frame.bytes);
      injector().record(info, verdict, done, data.size());
      deliver_copy(frame);
    }
  }
  history_.remember(am_id, frame.bytes);
  release_held();
}

}  // namespace verity::fault
