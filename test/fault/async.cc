// SPDX-License-Identifier: BSD-3-Clause
//
// The transport as InfiniBand's ud is: it receives in UCX's asynchronous thread too. Messages for
// asynchronous handlers go up there and then, the others wait for the next call of progress. All
// operations exclude that thread, as ud's own do. Failures of endpoints that show in that thread
// wait, too. A process that sleeps is woken by a call of the upper layer's, for which its interface
// is armed. And completions of zero-copy sends may be late, as those of ud and rc are.
#include <algorithm>
#include <string_view>
#include <utility>

#include "fault/iface.h"
#include "uct/compat/callbacks.h"

namespace verity::fault {
namespace {

using Ops = uct_iface_ops_t;

class Block {
 public:
  explicit Block(uct_iface_h iface) noexcept : async_(FaultIface::of(iface).worker->async) {
    uct::block_async(async_);
  }
  ~Block() { uct::unblock_async(async_); }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

 private:
  ucs_async_context_t* async_;
};

// The operation that the table had, with the asynchronous thread excluded.
template <auto Op>
struct Locked;

template <typename R, typename... Args, R (*Ops::*Op)(uct_ep_h, Args...)>
struct Locked<Op> {
  static inline R (*inner)(uct_ep_h, Args...);
  static R call(uct_ep_h ep, Args... args) noexcept {
    const Block block(ep->iface);
    return inner(ep, args...);
  }
};

template <typename R, typename... Args, R (*Ops::*Op)(uct_iface_h, Args...)>
struct Locked<Op> {
  static inline R (*inner)(uct_iface_h, Args...);
  static R call(uct_iface_h iface, Args... args) noexcept {
    const Block block(iface);
    return inner(iface, args...);
  }
};

template <auto... Op>
void lock(Ops& ops) noexcept {
  ((Locked<Op>::inner = ops.*Op, ops.*Op = Locked<Op>::call), ...);
}

ucs_status_t ep_create_op(const uct_ep_params_t* params, uct_ep_h* ep_p) noexcept {
  const Block block(params->iface);
  return uct::WrapEp::create(params, ep_p);
}

unsigned progress_op(uct_iface_h iface) noexcept { return FaultIface::of(iface).progress(); }

unsigned progress_cb(void* arg) noexcept { return static_cast<FaultIface*>(arg)->progress(); }

void enable_op(uct_iface_h iface, unsigned) noexcept { FaultIface::of(iface).enable_progress(); }

void disable_op(uct_iface_h iface, unsigned) noexcept { FaultIface::of(iface).disable_progress(); }

ucs_status_t arm_op(uct_iface_h iface, unsigned) noexcept { return FaultIface::of(iface).arm(); }

}  // namespace

void fill_progress_ops(Ops& ops) noexcept {
  ops.iface_progress = progress_op;
  ops.iface_progress_enable = enable_op;
  ops.iface_progress_disable = disable_op;
}

void fill_async_ops(Ops& ops) noexcept {
  ops.iface_event_arm = arm_op;
  lock<&Ops::ep_am_short, &Ops::ep_am_short_iov, &Ops::ep_am_bcopy, &Ops::ep_am_zcopy,
       &Ops::ep_pending_add, &Ops::ep_pending_purge, &Ops::ep_flush, &Ops::ep_fence, &Ops::ep_check,
       &Ops::ep_destroy, &Ops::ep_get_address, &Ops::ep_connect_to_ep, &Ops::iface_flush,
       &Ops::iface_fence, &Ops::iface_event_arm>(ops);
  ops.ep_create = ep_create_op;
  fill_progress_ops(ops);
}

// Runs in the asynchronous thread, or when the thread that had excluded it is done.
void FaultIface::on_timer(int, ucs_event_set_types_t, void* arg) noexcept {
  auto* self = static_cast<FaultIface*>(arg);
  self->in_async_ = true;
  const unsigned count = uct_iface_progress(self->lower());
  self->in_async_ = false;
  const bool has_come = count != 0 || !self->waiting_.empty() || !self->failures_.empty();
  if (has_come && std::exchange(self->armed_, false)) { self->event_cb_(self->event_arg_, 0); }
}

ucs_status_t FaultIface::arm() noexcept {
  if (!waiting_.empty() || !failures_.empty() || !late_.empty()) { return UCS_ERR_BUSY; }
  armed_ = event_cb_ != nullptr;
  return UCS_OK;
}

ucs_status_t FaultIface::opened(const uct_iface_params_t& params, const uct_iface_config_t&) {
  if ((params.field_mask & UCT_IFACE_PARAM_FIELD_ASYNC_EVENT_CB) != 0) {
    const bool has_arg = (params.field_mask & UCT_IFACE_PARAM_FIELD_ASYNC_EVENT_ARG) != 0;
    event_cb_ = params.async_event_cb;
    event_arg_ = has_arg ? params.async_event_arg : nullptr;
  }
  const double interval = injector().settings().async_interval;
  // A transport that only reads (cma) progresses itself, in the program's thread alone.
  const bool receives =
      (lower_attr().cap.flags & (UCT_IFACE_FLAG_AM_SHORT | UCT_IFACE_FLAG_AM_BCOPY)) != 0;
  if (interval <= 0 || !receives) { return UCS_OK; }
  if (std::string_view(lower_tl_name()) == "tcp" && !connects_ep_only()) {
    // An endpoint that a handler makes there takes over the connection whose buffer tcp is reading.
    ucs_error(
        "UCX_FAULT_ASYNC over tcp, whose handlers cannot connect, needs UCX_FAULT_CONNECT=ep");
    return UCS_ERR_UNSUPPORTED;
  }
  return ucs_async_add_timer(worker->async->mode, uct::timer_interval(interval), on_timer, this,
                             worker->async, &timer_id_);
}

void FaultIface::closing() noexcept {
  leave_queue();
  disable_progress();
  if (timer_id_ >= 0) { (void)ucs_async_remove_handler(timer_id_, 1); }
}

unsigned FaultIface::progress() noexcept {
  const Block block(handle());
  unsigned count = 0;
  for (; !waiting_.empty(); ++count) {
    const OldFrame frame = std::move(waiting_.front());
    waiting_.pop_front();
    (void)uct::invoke_am(this, frame.am_id, const_cast<uint8_t*>(frame.bytes.data()),
                         static_cast<unsigned>(frame.bytes.size()), 0);
  }
  while (!failures_.empty()) {
    const Failure failure = failures_.front();
    failures_.pop_front();
    (void)WrapIface::ep_failed(*failure.ep, failure.status);
  }
  count += complete_late();
  return count + uct_iface_progress(lower());
}

ucs_status_t FaultIface::complete_later(const uct::WrapEp& ep, uct_completion_t* comp) {
  const std::chrono::duration<double> delay(injector().settings().complete_after);
  const auto now = std::chrono::steady_clock::now();
  late_.push_back({&ep, comp, now + std::chrono::duration_cast<decltype(now)::duration>(delay)});
  return UCS_INPROGRESS;
}

unsigned FaultIface::complete_late() noexcept {
  unsigned count = 0;
  for (; !late_.empty() && late_.front().due <= std::chrono::steady_clock::now(); ++count) {
    uct_completion_t* comp = late_.front().comp;
    late_.pop_front();
    uct::invoke_completion(comp, UCS_OK);
  }
  return count;
}

// As rc does with what its endpoint has outstanding.
void FaultIface::cancel_late(const uct::WrapEp& ep) noexcept {
  const auto is_of = [&](const Late& late) { return late.ep == &ep; };
  for (;;) {
    const auto late = std::find_if(late_.begin(), late_.end(), is_of);
    if (late == late_.end()) { return; }
    uct_completion_t* comp = late->comp;
    late_.erase(late);
    uct::invoke_completion(comp, UCS_ERR_CANCELED);
  }
}

ucs_status_t FaultIface::ep_failed(uct::WrapEp& ep, ucs_status_t status) noexcept {
  if (!in_async_) { return WrapIface::ep_failed(ep, status); }
  return uct::guarded([&] {
    failures_.push_back({&ep, status});
    return UCS_OK;
  });
}

void FaultIface::forget_failure(const uct::WrapEp& ep) noexcept {
  std::erase_if(failures_, [&](const Failure& failure) { return failure.ep == &ep; });
}

void FaultEp::destroying() noexcept {
  auto& own = static_cast<FaultIface&>(iface());
  own.forget_failure(*this);
  own.cancel_late(*this);
}

void FaultIface::enable_progress() noexcept {
  if (progress_id_ == UCS_CALLBACKQ_ID_NULL) {
    progress_id_ = uct::add_callback(worker, progress_cb, this, uct::CallbackFrom::kAnyThread);
  }
}

void FaultIface::disable_progress() noexcept {
  if (progress_id_ != UCS_CALLBACKQ_ID_NULL) {
    uct::remove_callback(worker, progress_id_, uct::CallbackFrom::kAnyThread);
    progress_id_ = UCS_CALLBACKQ_ID_NULL;
  }
}

}  // namespace verity::fault
