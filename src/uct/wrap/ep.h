// SPDX-License-Identifier: BSD-3-Clause
#ifndef VERITY_UCT_WRAP_EP_H
#define VERITY_UCT_WRAP_EP_H

#include "uct/compat/internal_ops.h"
#include "uct/wrap/lower.h"
#include "util/list.h"

namespace verity::uct {

class WrapIface;

// An endpoint and the lower one that carries its data. Derive to add state; the interface's
// new_ep() says which class to make. The list node belongs to the interface.
class WrapEp : public uct_base_ep_t, public util::ListNode {
 public:
  WrapEp() : uct_base_ep_t{} {}
  virtual ~WrapEp();

  static WrapEp& of(uct_ep_h ep) noexcept {
    return static_cast<WrapEp&>(*reinterpret_cast<uct_base_ep_t*>(ep));
  }

  [[nodiscard]] uct_ep_h handle() noexcept { return &super; }
  [[nodiscard]] uct_ep_h lower() const noexcept { return lower_.get(); }
  [[nodiscard]] WrapIface& iface() const noexcept;

  // Makes the lower endpoint. A derived class whose endpoints share lower ones does without.
  virtual ucs_status_t open_lower(const uct_ep_params_t& lower_params);

  // Last step of creation, lower() exists. `params` is what the upper layer gave (null for none):
  // params->iface_addr, if set, is the peer's interface address with the extra bytes at its end.
  virtual ucs_status_t created(const uct_ep_params_t& params);

  // First step of destruction, while lower() still exists. Links that must outlive the endpoint
  // are handed over here.
  virtual void destroying() noexcept {}

  // Entries for UCX's tables.
  static ucs_status_t create(const uct_ep_params_t* params, uct_ep_h* ep_p) noexcept;
  static void destroy(uct_ep_h ep) noexcept;
  static ucs_status_t get_address(uct_ep_h ep, uct_ep_addr_t* addr) noexcept;
  static ucs_status_t query(uct_ep_h ep, uct_ep_attr_t* attr) noexcept;
  static ucs_status_t invalidate(uct_ep_h ep, unsigned flags) noexcept;
  static ucs_status_t connect(uct_ep_h ep, const uct_device_addr_t* device,
                              const uct_ep_addr_t* address, const AddressLengths& lengths) noexcept;
  static bool is_connected(uct_ep_h ep, const PeerAddress& peer) noexcept;

 private:
  ucs_status_t init(WrapIface& iface, const uct_ep_params_t& params);

  bool base_ready_ = false;
  LowerEp lower_;
};

}  // namespace verity::uct

#endif
