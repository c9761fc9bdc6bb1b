// SPDX-License-Identifier: BSD-3-Clause
//
// Entries for UCX's operation tables, made from the type of the table's member alone, so that no
// operation is written down twice:
//   forward_ep<&uct_iface_ops_t::ep_am_short>      calls the same operation of the lower endpoint
//   forward_iface<&uct_iface_ops_t::iface_flush>   calls the same operation of the lower interface
//   unsupported<&uct_iface_ops_t::ep_put_zcopy>    answers UCS_ERR_UNSUPPORTED
#ifndef VERITY_UCT_WRAP_FORWARD_H
#define VERITY_UCT_WRAP_FORWARD_H

#include <type_traits>

#include "uct/wrap/ep.h"
#include "uct/wrap/iface.h"

namespace verity::uct {

template <auto Op>
struct OpOf;

template <typename R, typename First, typename... Args, R (*uct_iface_ops_t::*Op)(First, Args...)>
struct OpOf<Op> {
  static R to_lower_ep(First ep, Args... args) noexcept {
    uct_ep_h lower = WrapEp::of(ep).lower();
    return (lower->iface->ops.*Op)(lower, args...);
  }

  static R to_lower_iface(First iface, Args... args) noexcept {
    uct_iface_h lower = WrapIface::of(iface).lower();
    return (lower->ops.*Op)(lower, args...);
  }

  static R refuse(First, Args...) noexcept {
    if constexpr (std::is_pointer_v<R>) {
      return UCS_STATUS_PTR(UCS_ERR_UNSUPPORTED);
    } else if constexpr (!std::is_void_v<R>) {
      return static_cast<R>(UCS_ERR_UNSUPPORTED);
    }
  }
};

template <auto Op>
inline constexpr auto forward_ep = OpOf<Op>::to_lower_ep;
template <auto Op>
inline constexpr auto forward_iface = OpOf<Op>::to_lower_iface;
template <auto Op>
inline constexpr auto unsupported = OpOf<Op>::refuse;

}  // namespace verity::uct

#endif
