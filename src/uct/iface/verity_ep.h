// SPDX-License-Identifier: BSD-3-Clause
//
// An upper endpoint: a user of a link.
#ifndef VERITY_UCT_IFACE_VERITY_EP_H
#define VERITY_UCT_IFACE_VERITY_EP_H

#include "uct/iface/verity_iface.h"

namespace verity::uct {

class VerityEp final : public LinkEp {
 public:
  static VerityEp& of(uct_ep_h ep) noexcept { return static_cast<VerityEp&>(WrapEp::of(ep)); }

  [[nodiscard]] VerityIface& verity() const noexcept { return VerityIface::of(super.iface); }
  [[nodiscard]] FrameSender& sender() const noexcept { return verity().sender(); }

  ucs_status_t open_lower(const uct_ep_params_t& lower_params) override;
  void destroying() noexcept override;

 private:
  void detach_link() noexcept;
  void end_sends() noexcept;
};

}  // namespace verity::uct

#endif
