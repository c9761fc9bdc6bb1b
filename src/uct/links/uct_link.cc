// SPDX-License-Identifier: BSD-3-Clause
#include "uct/links/uct_link.h"

#include <utility>

namespace verity::uct {

namespace {

bool is_older(uint32_t epoch, uint32_t than) noexcept {
  return static_cast<int32_t>(epoch - than) < 0;
}

}  // namespace

void PendingQueue::push_back(uct_pending_req_t* request, const Of& of) noexcept {
  const bool is_newest = tail_ == nullptr || !is_older(of.epoch, node(tail_).of.epoch);
  insert(request, of, is_newest ? tail_ : last_until(of.epoch));
}

void PendingQueue::push_front(uct_pending_req_t* request, const Of& of) noexcept {
  insert(request, of, last_until(of.epoch - 1));
}

uct_pending_req_t* PendingQueue::last_until(uint32_t epoch) const noexcept {
  uct_pending_req_t* last = nullptr;
  for (uct_pending_req_t* r = head_; r != nullptr && !is_older(epoch, node(r).of.epoch);
       r = node(r).next)
    last = r;
  return last;
}

void PendingQueue::insert(uct_pending_req_t* request, const Of& of,
                          uct_pending_req_t* before) noexcept {
  uct_pending_req_t*& next = before == nullptr ? head_ : node(before).next;
  node(request) = {next, of};
  next = request;
  if (tail_ == before) tail_ = request;
}

uct_pending_req_t* PendingQueue::pop(Of* of_p) noexcept {
  uct_pending_req_t* request = head_;
  if (request != nullptr) {
    head_ = node(request).next;
    if (head_ == nullptr) tail_ = nullptr;
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
