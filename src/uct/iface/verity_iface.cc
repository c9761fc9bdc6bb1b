// SPDX-License-Identifier: BSD-3-Clause
// Opening and closing.
#include "uct/iface/verity_iface.h"

#include "uct/iface/verity_ep.h"
#include "uct/process/process.h"
#include "uct/process/ucx_log.h"

namespace verity::uct {

namespace {

// The least that a message needs of the lower transport: a control frame with a HELLO, and the
// smallest payload UCP wants (UCP_MIN_BCOPY).
constexpr size_t kLeastBcopy = 512;

}  // namespace

VerityIface::VerityIface() noexcept
    : core_(*this),
      links_(core_, extensions_),
      sender_(links_, extensions_),
      completions_(core_),
      fences_(links_),
      delivery_(core_, completions_, extensions_, wakeup_),
      port_(sender_, completions_, delivery_, wakeup_, check_time_),
      flusher_(links_, delivery_),
      upkeep_(sender_, fences_, flusher_),
      idle_(*this, core_.threads) {}

VerityIface::~VerityIface() {
  spent_.take();  // the lower interface has closed
  idle_.close();
  onesided_.reset();
  core_.hub.reset();  // while the port is still there
}

std::unique_ptr<WrapEp> VerityIface::new_ep() { return std::make_unique<VerityEp>(); }

// --- opening ---

ucs_status_t VerityIface::open_links(const uct_iface_params_t& params) {
  const uct_iface_attr_t& attr = lower_attr();
  link::Config& settings = core_.config;
  core_.to_ep = (attr.cap.flags & UCT_IFACE_FLAG_CONNECT_TO_IFACE) == 0;
  core_.is_self = std::string_view(lower_tl_name()).ends_with("self");
  core_.is_tcp = std::string_view(lower_tl_name()).ends_with("tcp");
  if (attr.cap.am.max_bcopy < kLeastBcopy || attr.device_addr_len > wire::kMaxDeviceAddress ||
      attr.iface_addr_len > wire::kMaxIfaceAddress) {
    ucs_error(
        "ucx-verity: %s sends at most %zu bytes and has addresses of %zu and %zu bytes: it "
        "cannot be wrapped",
        lower_tl_name(), attr.cap.am.max_bcopy, attr.device_addr_len, attr.iface_addr_len);
    return UCS_ERR_UNSUPPORTED;
  }
  settings.hello_size = sizeof(wire::HelloExt) + attr.device_addr_len + attr.iface_addr_len + 8;
  settings.compact = true;
  settings.max_send = attr.cap.am.max_bcopy;
  const bool needs_handles = (memory_domain().lower_attr().flags() & UCT_MD_FLAG_NEED_MEMH) != 0;
  const FrameLimits limits =
      limits_of(attr, settings, core_.to_ep ? 0 : settings.hello_size,
                {.is_self = core_.is_self, .reads_any_memory = !needs_handles});
  settings.max_frame = limits.max_frame;
  settings.max_large = limits.max_large;
  extensions_.open(worker, limits.trailer_room != 0);
  core_.group.join(&worker->super, true);
  core_.uid = core_.group.uid();
  core_.hub = std::make_unique<link::Hub>(core_.uid, settings, port_, core_.counters());
  sender_.open(limits);
  if (!core_.is_off()) {
    onesided_ = std::make_unique<OneSided>(sender_);
    core_.onesided = onesided_.get();
    core_.group.add_carrier(*onesided_);
  }
  delivery_.open(params);
  return UCS_OK;
}

ucs_status_t VerityIface::opened(const uct_iface_params_t& params, const uct_iface_config_t&) {
  core_.stub = am[wire::kAsyncId].cb;
  core_.threads.set_async(worker->async, (lower_attr().cap.flags & UCT_IFACE_FLAG_CB_ASYNC) != 0);
  if ((params.open_mode & UCT_IFACE_OPEN_MODE_DEVICE) != 0)
    core_.device_name = params.mode.device.dev_name;
  core_.rows = process().open_rows(lower_tl_name(), params, lower_injects());
  const ucs_status_t status = open_links(params);
  if (status != UCS_OK) return status;
  const bool lower_calls = (lower_attr().cap.event_flags & UCT_IFACE_FLAG_EVENT_ASYNC_CB) != 0;
  wakeup_.open(params, lower_calls || wakes_itself(), worker->async);
  { const QuietLower first; }  // what it locks only once is not for the data path
  if (const verity_interposer* mpi = extensions_.table(); mpi != nullptr)
    process().count_types(*mpi);
  check_time_ = true;  // by the first progress: until then nothing shows which thread progresses it
  if (!core_.is_off()) idle_.open(worker);
  process().opened(core_.config.mode);
  process().add_interface(core_.uid);
  if (core_.threads.shared) core_.group.share(worker->async);
  const ucs_status_t received = start_receiving();
  if (!core_.threads.shared) core_.group.add_unguarded();
  return received;
}

// The thread progresses the lower interface, and tcp puts callbacks that receive into its worker's
// queue: they run where the thread is kept out.
bool VerityIface::wants_lower_worker() const noexcept {
  return core_.options.progress_thread && !core_.is_off() &&
         IdleProgress::is_thread(worker->async->mode);
}

// From here on the asynchronous thread may be at work here. What was written so far is there for
// it, as it takes the same lock.
ucs_status_t VerityIface::start_receiving() noexcept {
  {
    const AsyncGuard guard(core_.threads);
    const ucs_status_t status =
        core_.threads.has_async ? set_lower_am_handler(wire::kAsyncId, UCT_CB_FLAG_ASYNC) : UCS_OK;
    if (status != UCS_OK) return status;
  }
  if (!core_.options.progress_thread || core_.is_off() || !idle_.has_thread()) return UCS_OK;
  core_.group.share(worker->async);
  idle_.start_thread();
  return UCS_OK;
}

namespace {

[[gnu::hot]] ucs_status_t receive_op(void* arg, void* data, size_t length,
                                     unsigned flags) noexcept {
  const auto* slot = static_cast<const WrapIface::AmSlot*>(arg);
  return static_cast<VerityIface*>(slot->iface)->delivery().receive(slot->id, data, length, flags);
}

}  // namespace

uct_am_callback_t VerityIface::am_callback() const noexcept { return receive_op; }

ucs_status_t VerityIface::refuse_id(uint8_t id) const noexcept {
  ucs_error(
      "ucx-verity: v%s: active message %u: numbers from %u on are used by the transport itself",
      lower_tl_name(), id, wire::kFirstOwnId);
  return UCS_ERR_UNSUPPORTED;
}

// UCX does not say when a handler is set.
void VerityIface::check_handlers() const noexcept {
  for (uint8_t id = wire::kFirstOwnId; id < UCT_AM_ID_MAX; ++id) {
    if (am[id].cb != core_.stub) (void)refuse_id(id);
  }
}

// --- failures and closing ---

ucs_status_t VerityIface::ep_failed(WrapEp& ep, ucs_status_t status) noexcept {
  const AsyncGuard guard(core_.threads);
  links_.give_up(static_cast<LinkEp&>(ep).link(), status);
  return UCS_OK;
}

// The lower endpoints belong to the links.
ucs_status_t VerityIface::unknown_ep_failed(uct_ep_h lower_ep, ucs_status_t status) noexcept {
  const AsyncGuard guard(core_.threads);
  if (UctLink* l = links_.of_lower(lower_ep); l != nullptr) links_.give_up(*l, status);
  return UCS_OK;
}

void VerityIface::closing() noexcept {
  if (core_.hub == nullptr) return;
  if (core_.is_inherited()) return;  // the parent's links are not ours to close
  process().closing(core_.uid);
  idle_.detach_siblings();
  {
    // What is sent or comes while the interface closes sets no timer and wakes nothing any more.
    const AsyncGuard guard(core_.threads);
    wakeup_.close();
  }
  wakeup_.stop(true);
  idle_.stop_thread();
  {
    // The asynchronous thread receives until the lower transport is closed; from here on it makes
    // no links.
    const AsyncGuard guard(core_.threads);
    delivery_.close();
  }
  if (onesided_ != nullptr) onesided_->end_all();
  const QuietLower quiet;
  if (!links_.empty() && !core_.is_off() && !LingeringClose(links_, idle_).run()) spent_.note();
  {
    const AsyncGuard guard(core_.threads);
    while (!links_.empty()) upkeep_.drop(links_.first());
    (void)completions_.run();  // slots of failed sends; no endpoint is left
  }
  if (onesided_ != nullptr) (void)onesided_->complete_all();  // of endpoints that only read
  core_.group.leave();
  callback_.remove(0);
}

}  // namespace verity::uct
