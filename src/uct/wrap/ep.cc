// SPDX-License-Identifier: BSD-3-Clause
#include "uct/wrap/ep.h"

#include "uct/wrap/iface.h"

namespace verity::uct {

WrapEp::~WrapEp() {
  unlink();
  lower_.reset();
  if (base_ready_) { UCS_CLASS_CLEANUP(uct_base_ep_t, static_cast<uct_base_ep_t*>(this)); }
}

WrapIface& WrapEp::iface() const noexcept { return WrapIface::of(super.iface); }

ucs_status_t WrapEp::open_lower(const uct_ep_params_t& lower_params) {
  return create_lower_ep(lower_params, &lower_);
}

ucs_status_t WrapEp::created(const uct_ep_params_t&) { return UCS_OK; }

ucs_status_t WrapEp::init(WrapIface& iface, const uct_ep_params_t& params) {
  ucs_status_t status = UCS_CLASS_INIT(uct_base_ep_t, static_cast<uct_base_ep_t*>(this), &iface);
  if (status != UCS_OK) { return status; }
  base_ready_ = true;
  uct_ep_params_t lower_params = params;
  lower_params.iface = iface.lower();
  if ((params.field_mask & UCT_EP_PARAM_FIELD_DEV_ADDR) != 0) {
    lower_params.dev_addr = iface.lower_device(params.dev_addr);
    if (iface.iface_addr_extra() != 0 && !iface.is_ours(params.dev_addr, params.iface_addr)) {
      return iface.refuse_raw_peer();
    }
  }
  shorten_addresses(lower_params,
                    {.device = iface.device_addr_extra(), .own = iface.iface_addr_extra()});
  status = open_lower(lower_params);
  if (status != UCS_OK) { return status; }
  iface.add(*this);
  return created(params);
}

ucs_status_t WrapEp::create(const uct_ep_params_t* params, uct_ep_h* ep_p) noexcept {
  return guarded([&] {
    WrapIface& iface = WrapIface::of(params->iface);
    iface.sync_am_handlers();
    auto ep = iface.new_ep();
    const ucs_status_t status = ep->init(iface, *params);
    if (status == UCS_OK) { *ep_p = ep.release()->handle(); }
    return status;
  });
}

void WrapEp::destroy(uct_ep_h ep) noexcept {
  WrapEp& self = of(ep);
  self.destroying();
  delete &self;
}

ucs_status_t WrapEp::get_address(uct_ep_h ep, uct_ep_addr_t* addr) noexcept {
  WrapEp& self = of(ep);
  const ucs_status_t status = uct_ep_get_address(self.lower(), addr);
  if (status == UCS_OK) {
    WrapIface& iface = self.iface();
    iface.write_ep_addr_extra(self, reinterpret_cast<char*>(addr) + iface.lower_attr().ep_addr_len);
  }
  return status;
}

ucs_status_t WrapEp::query(uct_ep_h ep, uct_ep_attr_t* attr) noexcept {
  return uct_ep_query(of(ep).lower(), attr);
}

ucs_status_t WrapEp::invalidate(uct_ep_h ep, unsigned flags) noexcept {
  return invalidate_ep(of(ep).lower(), flags);
}

ucs_status_t WrapEp::connect(uct_ep_h ep, const uct_device_addr_t* device,
                             const uct_ep_addr_t* address, const AddressLengths& lengths) noexcept {
  WrapEp& self = of(ep);
  return self.iface().connect_lower(self.lower(), device, address, lengths);
}

bool WrapEp::is_connected(uct_ep_h ep, const PeerAddress& peer) noexcept {
  WrapEp& self = of(ep);
  return ep_is_connected_to(self.lower(), self.iface().lower_peer(peer));
}

}  // namespace verity::uct
