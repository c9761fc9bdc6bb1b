// SPDX-License-Identifier: BSD-3-Clause
//
// An upper endpoint as its link knows it. Its own lower endpoint is the link's.
#ifndef VERITY_UCT_LINKS_LINK_EP_H
#define VERITY_UCT_LINKS_LINK_EP_H

#include <utility>

#include "uct/links/uct_link.h"
#include "uct/wrap/ep.h"

namespace verity::uct {

struct InLink : util::ListNode {};  // in UctLink::eps

class LinkEp : public WrapEp, public InLink, public ReadOwner {
 public:
  static LinkEp& of(uct_ep_h ep) noexcept { return static_cast<LinkEp&>(WrapEp::of(ep)); }
  static LinkEp& in_link(util::ListNode* node) noexcept {
    return *static_cast<LinkEp*>(static_cast<InLink*>(node));
  }

  [[nodiscard]] UctLink& link() const noexcept { return *link_; }
  [[nodiscard]] uct_ep_h carrier() const noexcept { return link_->lower.get(); }
  [[nodiscard]] InLink& link_node() noexcept { return *this; }
  // A number that no other endpoint of the process ever has, from 1 on.
  [[nodiscard]] uint64_t serial() const noexcept { return serial_; }
  // Whether a write of the link was lost since the last take_loss() of this endpoint. Which
  // endpoint's it was is not known: each of them reports it in its next flush, once.
  [[nodiscard]] bool has_loss() const noexcept { return losses_seen_ != link_->writes_lost; }
  [[nodiscard]] bool take_loss() noexcept {
    return std::exchange(losses_seen_, link_->writes_lost) != link_->writes_lost;
  }
  // ns; when a flush that ends what is under way waits for the lower transport no longer. 0: none
  // waits.
  uint64_t let_go_at = 0;

 protected:
  [[nodiscard]] static uint64_t next_serial() noexcept;
  void use(UctLink& link) noexcept {
    link_ = &link;
    losses_seen_ = link.writes_lost;
    link.eps.push_back(link_node());
  }

  UctLink* link_ = nullptr;

 private:
  const uint64_t serial_ = next_serial();
  uint32_t losses_seen_ = 0;  // of UctLink::writes_lost
};

}  // namespace verity::uct

#endif
