// SPDX-License-Identifier: BSD-3-Clause
#include "uct/links/uct_link.h"

#include <utility>

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

PendingQueue PendingQueue::take(const WrapEp* ep) noexcept {
  PendingQueue all;
  PendingQueue taken;
  std::swap(all, *this);
  Of of;
  while (uct_pending_req_t* request = all.pop(&of))
    (of.ep == ep ? taken : *this).push_back(request, of);
  return taken;
}

void PendingQueue::give_back(uct_pending_purge_callback_t callback, void* arg) noexcept {
  Of of;
  while (uct_pending_req_t* request = pop(&of)) {
    if (callback != nullptr) callback(request, arg);
  }
}

}  // namespace verity::uct
