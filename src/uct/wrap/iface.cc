// SPDX-License-Identifier: BSD-3-Clause
#include "uct/wrap/iface.h"

#include "uct/compat/transports.h"
#include "uct/wrap/devices.h"
#include "uct/wrap/passthrough.h"

namespace verity::uct {
namespace {

ucs_status_t deliver_unchanged(void* arg, void* data, size_t length, unsigned flags) noexcept {
  const auto* slot = static_cast<WrapIface::AmSlot*>(arg);
  // Received descriptors go up as they are: the lower transport's own release hook is in them.
  return invoke_am(slot->iface, slot->id, data, static_cast<unsigned>(length), flags);
}

ucs_status_t lower_error(void* arg, uct_ep_h lower_ep, ucs_status_t status) noexcept {
  auto* iface = static_cast<WrapIface*>(arg);
  WrapEp* ep = iface->find_ep(lower_ep);
  return ep != nullptr ? iface->ep_failed(*ep, status) : iface->unknown_ep_failed(lower_ep, status);
}

constexpr uint64_t kRmaFlags = UCT_IFACE_FLAG_PUT_SHORT | UCT_IFACE_FLAG_PUT_BCOPY |
                               UCT_IFACE_FLAG_PUT_ZCOPY | UCT_IFACE_FLAG_GET_SHORT |
                               UCT_IFACE_FLAG_GET_BCOPY | UCT_IFACE_FLAG_GET_ZCOPY |
                               UCT_IFACE_FLAG_ATOMIC_CPU | UCT_IFACE_FLAG_ATOMIC_DEVICE;
constexpr uint64_t kTagFlags = UCT_IFACE_FLAG_TAG_EAGER_SHORT | UCT_IFACE_FLAG_TAG_EAGER_BCOPY |
                               UCT_IFACE_FLAG_TAG_EAGER_ZCOPY | UCT_IFACE_FLAG_TAG_RNDV_ZCOPY;

void clear_rma(uct_iface_attr_t& attr) noexcept {
  attr.cap.flags &= ~(kRmaFlags | UCT_IFACE_FLAG_ERRHANDLE_REMOTE_MEM);
  attr.cap.put = {};
  attr.cap.get = {};
  attr.cap.atomic32 = {};
  attr.cap.atomic64 = {};
}

}  // namespace

WrapIface::~WrapIface() {
  lower_.reset();
  if (base_ready_) { UCS_CLASS_CLEANUP(uct_base_iface_t, static_cast<uct_base_iface_t*>(this)); }
}

bool WrapIface::lower_injects() const noexcept {
  return std::strcmp(entry_->lower->md_config.name, kInjectorTitle) == 0;
}

const char* WrapIface::lower_tl_name() const noexcept { return entry_->lower_name; }

void WrapIface::fill_ops(uct_iface_ops_t&) const noexcept {}
void WrapIface::fill_internal_ops(InternalOps&) const noexcept {}
uct_am_callback_t WrapIface::am_callback() const noexcept { return deliver_unchanged; }

void WrapIface::map_attr(uct_iface_attr_t& attr) const noexcept {
  attr.cap.flags &= ~(kTagFlags | kLowerOnlyFlags | UCT_IFACE_FLAG_CONNECT_TO_SOCKADDR);
  attr.cap.tag = {};
  if (memory_domain().spec().passes_rma) { return; }
  clear_rma(attr);
  if ((attr.cap.flags & UCT_IFACE_FLAG_CONNECT_TO_IFACE) != 0) {
    attr.cap.flags &= ~UCT_IFACE_FLAG_CONNECT_TO_EP;
    attr.ep_addr_len = 0;
  }
}

ucs_status_t WrapIface::opened(const uct_iface_params_t&, const uct_iface_config_t&) {
  return UCS_OK;
}

ucs_status_t WrapIface::ep_failed(WrapEp& ep, ucs_status_t status) noexcept {
  return uct_iface_handle_ep_err(handle(), ep.handle(), status);
}

ucs_status_t WrapIface::unknown_ep_failed(uct_ep_h lower_ep, ucs_status_t status) noexcept {
  ucs_debug("%s: lower endpoint %p, which is not ours, failed: %s", entry_->uct.name,
            static_cast<void*>(lower_ep), ucs_status_string(status));
  return UCS_OK;
}

const uct_device_addr_t* WrapIface::lower_device(const uct_device_addr_t* address) const noexcept {
  if (device_addr_extra() == 0 || !has_mark(address)) { return address; }
  return reinterpret_cast<const uct_device_addr_t*>(reinterpret_cast<const uint8_t*>(address) +
                                                    kDeviceMark.size());
}

bool WrapIface::lower_reaches(const PeerAddress& peer) const noexcept {
  return iface_reaches(lower(), lower_peer(peer),
                       {.device = device_addr_extra(), .own = iface_addr_extra()});
}

ucs_status_t WrapIface::connect_lower(uct_ep_h lower_ep, const uct_device_addr_t* device,
                                      const uct_ep_addr_t* address,
                                      const AddressLengths& lengths) const noexcept {
  return connect_ep(lower_ep, lower_device(device), address, lengths,
                    {.device = device_addr_extra(), .own = ep_addr_extra()});
}

bool WrapIface::is_ours(const uct_device_addr_t* device, const void* own,
                        size_t length) const noexcept {
  if (device_addr_extra() == 0 || has_mark(device)) { return true; }
  return own != nullptr && is_packed_length(own, length);
}

WrapEp* WrapIface::find_ep(uct_ep_h lower_ep) noexcept {
  for (util::ListNode* node = eps_.next; node != &eps_; node = node->next) {
    auto* ep = static_cast<WrapEp*>(node);
    if (ep->lower() == lower_ep) { return ep; }
  }
  return nullptr;
}

// UCX fills an unused handler with a stub marked asynchronous: the upper layer did not choose that.
uint32_t WrapIface::wanted_am_flags(uint8_t id) const noexcept {
  if ((lower_attr_.cap.flags & UCT_IFACE_FLAG_CB_SYNC) == 0) { return UCT_CB_FLAG_ASYNC; }
  return am[id].cb == stub_am_callback_ ? 0 : am[id].flags & UCT_CB_FLAG_ASYNC;
}

ucs_status_t WrapIface::set_lower_am_handler(uint8_t id, uint32_t flags) noexcept {
  am_slots_[id] = {this, id};
  lower_am_flags_[id] = flags;
  return uct_iface_set_am_handler(lower(), id, am_callback(), &am_slots_[id], flags);
}

void WrapIface::sync_am_handlers() noexcept {
  for (uint8_t id = 0; id < UCT_AM_ID_MAX; ++id) {
    const uint32_t flags = wanted_am_flags(id);
    if (flags != lower_am_flags_[id]) {
      // Cannot fail: the same call with other flags worked at open.
      (void)set_lower_am_handler(id, flags);
    }
  }
}

ucs_status_t WrapIface::open_lower(uct_worker_h worker_handle, const uct_iface_params_t& params,
                                   const uct_iface_config_t& iface_config) {
  uct_iface_params_t lower_params = params;
  lower_params.mode.device.tl_name = entry_->lower_name;
  lower_params.field_mask |=
      UCT_IFACE_PARAM_FIELD_ERR_HANDLER | UCT_IFACE_PARAM_FIELD_ERR_HANDLER_ARG;
  lower_params.field_mask &= ~static_cast<uint64_t>(UCT_IFACE_PARAM_FIELD_STATS_ROOT);
  lower_params.stats_root = nullptr;
  lower_params.err_handler = lower_error;
  lower_params.err_handler_arg = this;
  if (am_header_size() != 0 && (params.field_mask & UCT_IFACE_PARAM_FIELD_AM_ALIGNMENT) != 0) {
    const bool given = (params.field_mask & UCT_IFACE_PARAM_FIELD_AM_ALIGN_OFFSET) != 0;
    lower_params.am_align_offset =
        ((given ? params.am_align_offset : 0) + am_header_size()) & (params.am_alignment - 1);
    lower_params.field_mask |= UCT_IFACE_PARAM_FIELD_AM_ALIGN_OFFSET;
  }
  const LowerConfig given{&iface_config, entry_->uct.config};
  const ucs_status_t status = open_lower_iface(memory_domain().lower(), worker_handle, lower_params,
                                               &given, am_room(), &lower_);
  return status == UCS_OK ? query_lower_iface(lower(), entry_->lower_name, &lower_attr_) : status;
}

ucs_status_t WrapIface::init(uct_md_h md_handle, uct_worker_h worker_handle,
                             const uct_iface_params_t& params,
                             const uct_iface_config_t& iface_config) {
  uct_iface_ops_t ops = passthrough_ops(WrapMd::of(md_handle).spec().passes_rma);
  fill_ops(ops);
  InternalOps answers = passthrough_internal_ops();
  fill_internal_ops(answers);
  internal_ops_ = InternalTable(answers);
  ucs_status_t status = UCS_CLASS_INIT(uct_base_iface_t, static_cast<uct_base_iface_t*>(this), &ops,
                                       internal_ops_.ucx(), md_handle, worker_handle, &params,
                                       &iface_config VERITY_UCX_STATISTICS_ARGS(nullptr, "verity"));
  if (status != UCS_OK) { return status; }
  base_ready_ = true;
  stub_am_callback_ = am[0].cb;
  if (wants_lower_worker()) {
    status = make_lower_worker(*worker, &lower_worker_);
    if (status != UCS_OK) { return status; }
    worker_handle = lower_worker_.get();
  }
  status = open_lower(worker_handle, params, iface_config);
  for (uint8_t id = 0; id < UCT_AM_ID_MAX && status == UCS_OK; ++id) {
    status = set_lower_am_handler(id, wanted_am_flags(id));
  }
  return status == UCS_OK ? opened(params, iface_config) : status;
}

ucs_status_t WrapIface::open(uct_md_h md, uct_worker_h worker, const uct_iface_params_t* params,
                             const uct_iface_config_t* config, uct_iface_h* iface_p) noexcept {
  return guarded([&] {
    if ((params->open_mode & UCT_IFACE_OPEN_MODE_DEVICE) == 0) { return UCS_ERR_UNSUPPORTED; }
    Component& wrapper = WrapMd::of(md).wrapper();
    const TlEntry* entry = wrapper.find_tl(params->mode.device.tl_name);
    if (entry == nullptr) { return UCS_ERR_NO_DEVICE; }
    const WrapSpec& spec = wrapper.spec();
    auto iface = spec.make_iface != nullptr ? spec.make_iface(entry->lower_name)
                                            : std::make_unique<WrapIface>();
    iface->entry_ = entry;
    const ucs_status_t status = iface->init(md, worker, *params, *config);
    if (status == UCS_OK) { *iface_p = iface.release()->handle(); }
    return status;
  });
}

void WrapIface::close(uct_iface_h iface) noexcept {
  WrapIface& self = of(iface);
  self.closing();
  self.lower_
      .reset();  // its thread may call back until now: nothing of ours may be destroyed before
  delete &self;
}

ucs_status_t WrapIface::query(uct_iface_h iface, uct_iface_attr_t* attr) noexcept {
  WrapIface& self = of(iface);
  const ucs_status_t status = query_lower_iface(self.lower(), self.lower_tl_name(), attr);
  if (status != UCS_OK) { return status; }
  self.map_attr(*attr);
  attr->device_addr_len += self.device_addr_extra();
  attr->iface_addr_len += self.iface_addr_extra();
  if ((attr->cap.flags & UCT_IFACE_FLAG_CONNECT_TO_EP) != 0) {
    attr->ep_addr_len += self.ep_addr_extra();
  }
  return UCS_OK;
}

}  // namespace verity::uct
