// SPDX-License-Identifier: BSD-3-Clause
//
// A link with its UCX objects: the lower endpoint that carries it and the upper endpoints that use
// it. Outlives the upper endpoints.
#ifndef VERITY_UCT_LINKS_UCT_LINK_H
#define VERITY_UCT_LINKS_UCT_LINK_H

#include <memory>

#include "health/files/table.h"
#include "link/hub.h"
#include "rma/peer.h"
#include "uct/extensions/trailers.h"
#include "uct/wrap/lower.h"
#include "util/list.h"

namespace verity::uct {

class LinkSet;
class WrapEp;

// Upper requests that wait for room, those of earlier epochs first. One may come late, from the
// queue of another lane. The link is made of the requests' private bytes.
class PendingQueue {
 public:
  struct Of {
    WrapEp* ep = nullptr;
    uint32_t epoch = 0;  // of the worker, when it came: see onesided/fences.h
  };

  [[nodiscard]] bool empty() const noexcept { return head_ == nullptr; }
  // Behind the others of its epoch, or in front of them.
  void push_back(uct_pending_req_t* request, const Of& of) noexcept;
  void push_front(uct_pending_req_t* request, const Of& of) noexcept;
  // nullptr when empty.
  uct_pending_req_t* pop(Of* of_p) noexcept;
  // Of the oldest one; it must not be empty.
  [[nodiscard]] uint32_t epoch() const noexcept { return node(head_).of.epoch; }
  // Takes the requests of `ep` out.
  [[nodiscard]] PendingQueue take(const WrapEp* ep) noexcept;
  // Gives all of them to `callback`, which may do anything but with this queue.
  void give_back(uct_pending_purge_callback_t callback, void* arg) noexcept;

 private:
  struct Node {
    uct_pending_req_t* next;
    Of of;
  };
  static_assert(sizeof(Node) <= UCT_PENDING_REQ_PRIV_LEN);
  static Node& node(uct_pending_req_t* request) noexcept {
    return *reinterpret_cast<Node*>(request->priv);
  }
  // The last one of that epoch and those before it; nullptr: there is none.
  [[nodiscard]] uct_pending_req_t* last_until(uint32_t epoch) const noexcept;
  // Behind `before`, or as the first one.
  void insert(uct_pending_req_t* request, const Of& of, uct_pending_req_t* before) noexcept;

  uct_pending_req_t* head_ = nullptr;
  uct_pending_req_t* tail_ = nullptr;
};

// Who started a read: an endpoint. It must outlive its open ones. A flush waits for those that were
// open when it began, whatever is started behind it: for the older generation of two.
class ReadOwner {
 public:
  unsigned open = 0;

  // One more; its generation.
  [[nodiscard]] uint32_t start() noexcept {
    ++open;
    return generation_;
  }
  void end(uint32_t generation) noexcept {
    --open;
    older_ -= generation != generation_;
  }
  // What has_ended() is to be called with, for those that are open now.
  [[nodiscard]] uint32_t open_until_now() noexcept {
    if (open == 0) return generation_;
    return older_ == 0 ? next_generation() : generation_ + 1;
  }
  [[nodiscard]] bool has_ended(uint32_t generation) noexcept {
    const auto ahead = static_cast<int32_t>(generation - generation_);
    if (ahead > 0 && older_ == 0) (void)next_generation();
    return ahead < 0 || (generation == generation_ && older_ == 0);
  }

 private:
  uint32_t next_generation() noexcept {
    older_ = open;
    return ++generation_;
  }

  uint32_t generation_ = 0;
  unsigned older_ = 0;  // of `open`, those of the generations before
};

struct UctLink;
struct LowerRequest : uct_pending_req_t {
  UctLink* link = nullptr;
};

// The lists that a link may be in, as bases so that a node leads back to its link.
struct InAll : util::ListNode {};
struct InAttention : util::ListNode {};

// More than 15 fields, mostly flags that pack into one word: an idle link takes at most 1 KiB.
struct UctLink : link::Link, rma::Peer, InAll, InAttention {
  LinkSet* set = nullptr;
  LowerEp lower;
  util::ListNode eps;  // of LinkEp (InLink)
  PendingQueue pending;
  LowerRequest lower_request;  // ours in the lower transport's pending queue
  bool lower_waiting = false;  // lower_request is queued there
  bool lower_refused = false;  // the last send found the lower transport busy
  bool deferred =
      false;  // what comes now waits for other links to the same worker, too: see onesided/fences.h
  bool to_ep = false;   // connect-to-endpoint: the link serves one endpoint
  bool orphan = false;  // its only endpoint is gone (to_ep)
  bool close_sent = false;
  bool finished = false;     // nothing was left to do when the lower transport ended it
  bool reported = false;     // its failure, to the upper endpoints
  uint32_t writes_lost = 0;  // refused, or came too late; see LinkEp::take_loss()
  uint16_t attended = 0;     // upper callbacks of it are on the stack: it is not freed
  ucs_status_t failure = UCS_ERR_ENDPOINT_TIMEOUT;  // meaningful when failed
  uint8_t flush_copies = 0;       // times that a flush sent everything again since flush_since
  uint32_t trailed_ids = 0;       // bitmap of the messages that may get a trailer
  health::HostId host = 0;        // the peer's; 0: not known
  uint32_t flush_mark = 0;        // what was sent and acknowledged at flush_since
  uint32_t received_in = 0;       // poll behind the newest frame, see FrameSender::must_read_on()
  uint64_t unanswered_since = 0;  // ns; the same
  uint64_t reading_since = 0;     // ns; the same of LinkPort::must_read_on(), with what was read
  uint32_t read = 0;
  uint32_t read_in = 0;
  uint32_t pause = 0;  // after which it was read
  uint32_t sent = 0;   // messages, when control frames waited for that
  uint64_t flush_since =
      0;  // ns; since when a flush waits for a peer that acknowledges nothing new. 0: none does
  std::unique_ptr<char[]> addresses;  // device and interface, until a lower endpoint exists

  // The link may be gone afterwards.
  void purge_pending(const WrapEp* ep, uct_pending_purge_callback_t callback, void* arg) noexcept {
    PendingQueue purged = pending.take(ep);
    behind_pending = behind_pending && (deferred || !pending.empty());
    purged.give_back(callback, arg);
  }

  // Nothing is waited for: there will be no answer.
  [[nodiscard]] bool is_lost() const noexcept { return failed() || peer_closed(); }
  [[nodiscard]] bool is_off() const noexcept { return mode() == link::Mode::kOff; }
  // Whether one-sided operations can go over it.
  [[nodiscard]] bool is_usable() const noexcept {
    return !is_lost() && !(to_ep && orphan) && !is_off();
  }

  [[nodiscard]] bool may_trail(uint8_t id) const noexcept { return ((trailed_ids >> id) & 1) != 0; }
  // Bytes that a message with this id needs for its trailer.
  [[nodiscard]] size_t trailer_room(uint8_t id) const noexcept {
    return may_trail(id) ? kTrailerRoom : 0;
  }

  // No frame of either side ever was: neither can have lost anything, whatever ends the connection.
  [[nodiscard]] bool never_used() const noexcept {
    if (hello_epoch != 0 || open != 0 || !pending.empty()) return false;
    for (unsigned c = 0; c < wire::kClasses; ++c) {
      if (tx[c].next_psn() != 0 || rx[c].top() != 0) return false;
    }
    return true;
  }

  // Its end, whatever brought it, loses nothing: no failure to the upper layer.
  [[nodiscard]] bool ended_well() const noexcept {
    return peer_closed() || finished || never_used();
  }

  [[nodiscard]] InAll& all_node() noexcept { return *this; }
  [[nodiscard]] InAttention& attention_node() noexcept { return *this; }

  static UctLink& of(link::Link& link) noexcept { return static_cast<UctLink&>(link); }
  static UctLink& in_all(util::ListNode* node) noexcept {
    return static_cast<UctLink&>(static_cast<InAll&>(*node));
  }
  static UctLink& in_attention(util::ListNode* node) noexcept {
    return static_cast<UctLink&>(static_cast<InAttention&>(*node));
  }
};
static_assert(sizeof(UctLink) + 64 <= 1024, "at most 1 KiB for an idle link");

}  // namespace verity::uct

#endif
