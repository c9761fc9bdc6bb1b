// SPDX-License-Identifier: BSD-3-Clause
#include "uct/links/uct_link.h"

namespace verity::uct {

void PendingQueue::push_back(uct_pending_req_t* request, const Of& of) noexcept {
  node(request) = {nullptr, of};
  (head_ == nullptr ? head_ : node(tail_).next) = request;
  tail_ = request;
}

void PendingQueue::push_front(uct_pending_req_t* request, const Of& of) noexcept {
  node(request) = {head_, of};
  if (head_ == nullptr) tail_ = request;
  head_ = request;
}

uct_pending_req_t* PendingQueue::pop(Of* of_p) noexcept {
  uct_pending_req_t* request = head_;
  if (request != nullptr) {
    head_ = node(request).next;
    *of_p = node(request).of;
  }
  return request;
}

void PendingQueue::purge(WrapEp* ep, uct_pending_purge_callback_t callback, void* arg) noexcept {
  PendingQueue all;
  std::swap(all, *this);
  Of of;
  while (uct_pending_req_t* request = all.pop(&of)) {
    if (of.ep != ep) {
      push_back(request, of);
    } else if (callback != nullptr) {
      callback(request, arg);
    }
  }
}

}  // namespace verity::uct
