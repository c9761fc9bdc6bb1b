// SPDX-License-Identifier: BSD-3-Clause
//
// All links of one interface: makes them, gives them their lower endpoints, finds them, and keeps
// the list of those that need attention in the next progress (progress/link_upkeep.h). A link
// outlives the upper endpoints that use it.
#ifndef VERITY_UCT_LINKS_LINK_SET_H
#define VERITY_UCT_LINKS_LINK_SET_H

#include <unordered_map>

#include "uct/extensions/extensions.h"
#include "uct/links/iface_core.h"
#include "uct/links/link_ep.h"
#include "wire/address.h"

namespace verity::uct {

class LinkSet {
 public:
  LinkSet(IfaceCore& core, const Extensions& extensions) noexcept
      : core_(core), extensions_(extensions) {}

  [[nodiscard]] IfaceCore& core() const noexcept { return core_; }

  // --- making ---
  // The link to an interface's address, found or made; nullptr, with the reason: none.
  [[nodiscard]] UctLink* link_to(const uct_ep_params_t& params, ucs_status_t* status_p);
  // For connect-to-endpoint: it sends nothing before connect() says with whom.
  [[nodiscard]] UctLink* make_to_ep(LowerEp lower);
  [[nodiscard]] ucs_status_t connect(UctLink& l, const wire::EpAddressTail& peer) noexcept;
  // A peer has sent a HELLO, for which there is no link. Throws std::bad_alloc.
  [[nodiscard]] UctLink* link_of_hello(const wire::HelloView& hello);
  // Its peer is on that host: it counts in that row from now on.
  void set_host(UctLink& l, health::HostId host) noexcept;
  // Makes the lower endpoint, when the peer's HELLO came before an endpoint was made here.
  [[nodiscard]] ucs_status_t ensure_lower(UctLink& l) noexcept;

  // --- ending ---
  // The lower transport's word: everything in flight is over.
  void give_up(UctLink& l, ucs_status_t status) noexcept;
  // Destroys the lower endpoint, and with it what it still reads. Completions of sends in mode off
  // are the upper layer's, and run in here.
  void close_lower(UctLink& l) noexcept;
  // Only from progress and closing: nothing on the stack may hold the link. One-sided operations
  // must be over, or are not waited for.
  void remove(UctLink& l) noexcept;

  // --- finding ---
  [[nodiscard]] UctLink* of_lower(uct_ep_h lower) const noexcept;
  // A link to that worker that can be used; nullptr: none.
  [[nodiscard]] UctLink* to_worker(uint64_t peer_worker) noexcept;
  [[nodiscard]] bool empty() const noexcept { return !all_.linked(); }
  [[nodiscard]] UctLink& first() noexcept { return UctLink::in_all(all_.next); }
  // Calls visit(link) for each; it must not remove links.
  template <typename Visit>
  void for_each(Visit&& visit) noexcept {
    for (util::ListNode* node = all_.next; node != &all_; node = node->next)
      visit(UctLink::in_all(node));
  }
  template <typename Check>
  [[nodiscard]] bool any_of(Check&& check) noexcept {
    for (util::ListNode* node = all_.next; node != &all_; node = node->next) {
      if (check(UctLink::in_all(node))) return true;
    }
    return false;
  }
  // Some peer is in mode off: its pending requests and completions are the lower transport's and
  // the upper layer's alone.
  [[nodiscard]] bool has_off_links() const noexcept { return has_off_links_; }

  // --- attention ---
  void request_attention(UctLink& l) noexcept {
    if (!l.attention_node().linked()) attention_.push_back(l.attention_node());
  }
  void wake_pending() noexcept;
  // What comes now waits, and is tried in the next progress.
  void defer(UctLink& l) noexcept {
    l.deferred = l.behind_pending = true;
    request_attention(l);
  }
  [[nodiscard]] bool needs_attention() const noexcept { return attention_.linked(); }
  [[nodiscard]] util::ListNode& attention() noexcept { return attention_; }

 private:
  [[nodiscard]] UctLink* make();
  template <typename Open>
  [[nodiscard]] UctLink* make(Open&& open);
  [[nodiscard]] UctLink* open_link(const wire::AddressTail& peer, uint8_t path);
  void adopt_lower(UctLink& l, LowerEp lower);
  void keep_addresses(UctLink& l, const void* device, const void* iface);
  void attach_lanes(UctLink& l);
  void detach_lanes(UctLink& l) noexcept;

  IfaceCore& core_;
  const Extensions& extensions_;
  util::ListNode all_;
  util::ListNode attention_;
  std::unordered_map<uct_ep_h, UctLink*> by_lower_;
  bool has_off_links_ = false;
};

}  // namespace verity::uct

#endif
