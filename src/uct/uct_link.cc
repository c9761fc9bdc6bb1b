// SPDX-License-Identifier: BSD-3-Clause
#include "uct/uct_link.h"

namespace verity::uct {

void PendingQueue::push_back(uct_pending_req_t* request, WrapEp* ep) noexcept {
  node(request) = {nullptr, ep};
  (head_ == nullptr ? head_ : node(tail_).next) = request;
  tail_ = request;
}

void PendingQueue::push_front(uct_pending_req_t* request, WrapEp* ep) noexcept {
  node(request) = {head_, ep};
  if (head_ == nullptr) tail_ = request;
  head_ = request;
}

uct_pending_req_t* PendingQueue::pop(WrapEp** ep_p) noexcept {
  uct_pending_req_t* request = head_;
  if (request != nullptr) {
    head_ = node(request).next;
    *ep_p = node(request).ep;
  }
  return request;
}

void PendingQueue::purge(WrapEp* ep, uct_pending_purge_callback_t callback, void* arg) noexcept {
  PendingQueue all;
  std::swap(all, *this);
  WrapEp* owner = nullptr;
  while (uct_pending_req_t* request = all.pop(&owner)) {
    if (owner != ep) {
      push_back(request, owner);
    } else if (callback != nullptr) {
      callback(request, arg);
    }
  }
}

}  // namespace verity::uct
