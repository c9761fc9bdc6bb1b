// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/matching/pending_sends.h"

#include <iterator>

namespace verity::mpi {

namespace {

uintptr_t first_word(const void* origin) noexcept {
  uintptr_t word;
  std::memcpy(&word, origin, sizeof(word));
  return word;
}

}  // namespace

void PendingSends::add(uintptr_t request, const Send& send) noexcept {
  try {
    // Old sends whose messages bypassed the plugin must not pile up. Nor may they be dropped:
    // they may yet be transmitted, and would be taken for others.
    if (sends_.size() >= kMost) return disable_all();
    const auto old = sends_.find(request);
    if (old != sends_.end()) erase(old);
    Send& kept = sends_.emplace(request, send).first->second;
    if (kept.order == 0) kept.order = ++last_order_;
    in_order_.emplace(order_of(kept), request);
    if (send.length != 0) send.copy_signature(kept.bytes, Stamp{0, 0});
    kept.head = nullptr;
    released_ += kept.released;
    in_own_memory_ += kept.in_own_memory;
    if (in_own_memory_ > kMostInOwnMemory)
      disable_tags_of([](const Send& one) { return one.in_own_memory; });
  } catch (...) { disable_all(); }
}

PendingSends::ByRequest::iterator PendingSends::erase(ByRequest::const_iterator place) noexcept {
  released_ -= place->second.released;
  in_own_memory_ -= place->second.in_own_memory;
  in_order_.erase(order_of(place->second));
  return sends_.erase(place);
}

void PendingSends::remove(const void* request) noexcept {
  const auto place = sends_.find(reinterpret_cast<uintptr_t>(request));
  if (place != sends_.end()) erase(place);
}

void PendingSends::remove(const Entry& entry) noexcept { erase(sends_.find(entry.first)); }

void PendingSends::release(const void* request) noexcept {
  const auto found = sends_.find(reinterpret_cast<uintptr_t>(request));
  if (found == sends_.end() || found->second.released) return;
  found->second.released = true;
  if (++released_ > kMostReleased) disable_tags_of([](const Send& one) { return one.released; });
}

void PendingSends::reuse(const void* request) noexcept {
  remove(request);
  if (in_own_memory_ == 0 || request_size_ == 0) return;
  const auto end = reinterpret_cast<uintptr_t>(request);
  auto place = sends_.upper_bound(end - request_size_);
  while (place != sends_.end() && place->first < end + request_size_)
    place = place->second.in_own_memory ? erase(place) : std::next(place);
}

// Else each later message would search all of them.
template <typename Predicate>
void PendingSends::disable_tags_of(Predicate&& is_one) noexcept {
  try {
    for (const auto& [request, send] : sends_) {
      if (is_one(send)) disabled_tags_.insert(send.tag);
    }
  } catch (...) { return disable_all(); }
  if (disabled_tags_.size() > kMostDisabled) return disable_all();
  disabled_ = Disabled::kSome;
  for (auto place = sends_.begin(); place != sends_.end();) {
    place = disabled_tags_.contains(place->second.tag) ? erase(place) : std::next(place);
  }
}

void PendingSends::disable_all() noexcept {
  disabled_ = Disabled::kAll;
  sends_.clear();
  in_order_.clear();
  disabled_tags_.clear();
  released_ = 0;
  in_own_memory_ = 0;
}

PendingSends::Entry* PendingSends::find_around(uint64_t tag, uintptr_t address) noexcept {
  const auto above = sends_.upper_bound(address);
  if (above == sends_.end() || above->first - address > request_size_ || above->second.tag != tag)
    return nullptr;
  return &*above;
}

// What lies where a request of the caller's was, on the stack, may be a struct whose first word is
// another request.
PendingSends::Entry* PendingSends::find_by_origin(uint64_t tag, const void* origin,
                                                  bool* is_certain) noexcept {
  Entry* around = find_around(tag, reinterpret_cast<uintptr_t>(origin));
  *is_certain = true;
  if (around != nullptr && !around->second.in_own_memory) return around;
  Entry* named = find_around(tag, first_word(origin));
  *is_certain = around == nullptr || named == nullptr || named == around;
  return around != nullptr ? around : named;
}

PendingSends::Entry* PendingSends::find_first(const void* endpoint, uint64_t tag) noexcept {
  const auto first = in_order_.lower_bound({endpoint, tag, 0});
  if (first == in_order_.end() || std::get<0>(first->first) != endpoint ||
      std::get<1>(first->first) != tag)
    return nullptr;
  const auto found = sends_.find(first->second);
  return found != sends_.end() ? &*found : nullptr;
}

}  // namespace verity::mpi
