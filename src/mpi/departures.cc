// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/departures.h"

#include <cstring>

namespace verity::mpi {

namespace {

// Stale entries (requests that ended without leaving here, on a lane past this layer) must not pile up.
constexpr size_t kMostDeferred = 1 << 16;

// `origin` may be the address of a struct that begins with the request's.
uintptr_t first_word(const void* origin) noexcept {
  uintptr_t word;
  std::memcpy(&word, origin, sizeof(word));
  return word;
}

}  // namespace

Departures::Departures(uint32_t uid)
    : uid_(uid),
      numberings_(std::make_unique<Numbering[]>(kNumberings)),
      known_(std::make_unique<Known[]>(kKnown)),
      chosen_(deferred_.end()) {}

// Counts one more message.
Departures::Numbering& Departures::number(const void* endpoint, uint64_t tag) noexcept {
  const uint64_t mixed = (tag ^ reinterpret_cast<uintptr_t>(endpoint) * 0x9e3779b97f4a7c15ull) * 0xbf58476d1ce4e5b9ull;
  const size_t home = (mixed ^ mixed >> 29) >> 20 & (kNumberings - 1) & ~(kPlaces - 1);
  for (size_t i = home; i < home + kPlaces; ++i) {
    Numbering& n = numberings_[i];
    if (n.endpoint != endpoint || n.tag != tag) continue;
    ++n.next;
    return n;
  }
  ++epoch_;
  return numberings_[home + epoch_ % kPlaces] = {endpoint, tag, epoch_, 1};
}

void Departures::begin(const void* endpoint, uint64_t tag, const uint8_t* signature, size_t length) noexcept {
  const Numbering& numbering = number(endpoint, tag);
  in_call_ = true;
  call_.endpoint = endpoint;
  call_.tag = tag;
  call_.left = false;
  call_.length = length <= kMaxSignature && length >= kStampEnd ? length : 0;
  call_.epoch = numbering.epoch;
  call_.sequence = numbering.next - 1;
  if (call_.length == 0) return;
  std::memcpy(call_.bytes, signature, length);
  write_stamp(call_.bytes, {uint64_t{uid_} << 32 | call_.epoch, call_.sequence});
}

void Departures::end(void* request) noexcept {
  in_call_ = false;
  if (request == nullptr || call_.left) return;
  defer(reinterpret_cast<uintptr_t>(request), call_);
}

// ---- sends that have returned -------------------------------------------------------------------------------------------------

void Departures::defer(uintptr_t request, const Send& send) noexcept {
  try {
    if (deferred_.size() >= kMostDeferred) {
      deferred_.clear();
      in_order_.clear();
    }
    const auto old = deferred_.find(request);
    if (old != deferred_.end()) erase(old);
    in_order_.emplace(order_of(send), request);
    deferred_.emplace(request, send);
  } catch (...) {  // that message carries none
  }
  chosen_ = deferred_.end();
}

void Departures::erase(Deferred::iterator place) noexcept {
  in_order_.erase(order_of(place->second));
  deferred_.erase(place);
  chosen_ = deferred_.end();
}

void Departures::forget(const void* request) noexcept {
  if (deferred_.empty()) return;
  const auto place = deferred_.find(reinterpret_cast<uintptr_t>(request));
  if (place != deferred_.end()) erase(place);
}

// The send whose request holds that address.
Departures::Deferred::iterator Departures::find(uint64_t tag, uintptr_t address) noexcept {
  const auto above = deferred_.upper_bound(address);
  if (above == deferred_.end() || above->first - address > request_size_ || above->second.tag != tag) return deferred_.end();
  return above;
}

Departures::Deferred::iterator Departures::find_by_origin(uint64_t tag, const void* origin) noexcept {
  const auto found = find(tag, reinterpret_cast<uintptr_t>(origin));
  return found != deferred_.end() ? found : find(tag, first_word(origin));
}

// Of those that wait with that tag for that endpoint the one called first.
Departures::Deferred::iterator Departures::find_first(uint64_t serial, uint64_t tag) noexcept {
  const Known& known = known_[serial % kKnown];
  if (known.serial != serial) return deferred_.end();
  const auto first = in_order_.lower_bound({known.endpoint, tag, 0, 0});
  if (first == in_order_.end() || std::get<0>(first->first) != known.endpoint || std::get<1>(first->first) != tag) {
    return deferred_.end();
  }
  return deferred_.find(first->second);
}

// ---- leaving ------------------------------------------------------------------------------------------------------------------

Departures::Send* Departures::choose(uint64_t serial, uint64_t tag, const void* origin) noexcept {
  chosen_ = deferred_.end();
  // One that waits may leave inside of a later call, before that call's own.
  if (!deferred_.empty()) chosen_ = origin != nullptr ? find_by_origin(tag, origin) : find_first(serial, tag);
  if (chosen_ != deferred_.end()) return &chosen_->second;
  return in_call_ && call_.tag == tag && !call_.left ? &call_ : nullptr;
}

size_t Departures::departs(uint64_t serial, uint64_t tag, const void* origin, uint8_t* out, size_t room) noexcept {
  Send* send = choose(serial, tag, origin);
  last_had_one_ = false;
  left_last_ = Last::kNone;
  if (send == nullptr) return 0;
  known_[serial % kKnown] = {serial, send->endpoint};
  const size_t length = send->length <= room ? send->length : 0;
  std::memcpy(out, send->bytes, length);
  last_had_one_ = length != 0;
  if (send == &call_) {
    left_last_ = Last::kCall;
    call_.left = true;
  } else {
    left_last_ = Last::kDeferred;
    last_request_ = chosen_->first;
    last_ = *send;
    erase(chosen_);
  }
  return length;
}

bool Departures::stayed() noexcept {
  if (left_last_ == Last::kCall) call_.left = false;
  if (left_last_ == Last::kDeferred) defer(last_request_, last_);
  return last_had_one_;
}

}  // namespace verity::mpi
