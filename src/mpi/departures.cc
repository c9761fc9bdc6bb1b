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

void Departures::begin(const void* endpoint, uint64_t tag, const void* buffer, const uint8_t* signature, size_t length) noexcept {
  const Numbering& numbering = number(endpoint, tag);
  in_call_ = true;
  call_.endpoint = endpoint;
  call_.buffer = buffer;
  call_.tag = tag;
  call_.left = false;
  const auto before = deferred_.empty() ? deferred_.end() : first_of(endpoint, tag);
  call_.doubtful = before != deferred_.end() && before->second.doubtful;
  call_.length = length <= kMaxSignature && length >= kStampEnd && !call_.doubtful ? length : 0;
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
Departures::Deferred::iterator Departures::first_of(const void* endpoint, uint64_t tag) noexcept {
  const auto first = in_order_.lower_bound({endpoint, tag, 0, 0});
  if (first == in_order_.end() || std::get<0>(first->first) != endpoint || std::get<1>(first->first) != tag) return deferred_.end();
  return deferred_.find(first->second);
}

Departures::Deferred::iterator Departures::find_first(const Message& message) noexcept {
  const Known& known = known_[message.serial % kKnown];
  const void* endpoint = known.serial == message.serial ? known.endpoint : only_endpoint(message);
  if (endpoint == nullptr) {
    doubt(message.tag);
    return deferred_.end();
  }
  return first_of(endpoint, message.tag);
}

// For which all sends with that tag wait, or else all of them with that buffer; nullptr: there are several.
const void* Departures::only_endpoint(const Message& message) const noexcept {
  const void* of_tag = nullptr;
  const void* of_buffer = nullptr;
  bool several = false, several_of_buffer = false;
  const auto look_at = [&](const Send& send) {
    if (send.tag != message.tag) return;
    several = several || (of_tag != nullptr && send.endpoint != of_tag);
    of_tag = send.endpoint;
    if (message.data == nullptr || send.buffer != message.data) return;
    several_of_buffer = several_of_buffer || (of_buffer != nullptr && send.endpoint != of_buffer);
    of_buffer = send.endpoint;
  };
  if (in_call_ && !call_.left) look_at(call_);
  for (const auto& [request, send] : deferred_) look_at(send);
  if (of_tag == nullptr) return this;  // nobody's: of this none waits
  if (!several) return of_tag;
  return several_of_buffer ? nullptr : of_buffer;
}

// One of them leaves: which one, and so which ones remain, is not known. Their requests' ends will tell.
void Departures::doubt(uint64_t tag) noexcept {
  for (auto& [request, send] : deferred_) {
    if (send.tag != tag) continue;
    send.doubtful = true;
    send.length = 0;
  }
  if (!in_call_ || call_.tag != tag || call_.left) return;
  call_.doubtful = true;
  call_.length = 0;
}

// ---- leaving ------------------------------------------------------------------------------------------------------------------

Departures::Send* Departures::choose(const Message& message) noexcept {
  chosen_ = deferred_.end();
  // One that waits may leave inside of a later call, before that call's own.
  if (!deferred_.empty()) {
    chosen_ = message.origin != nullptr ? find_by_origin(message.tag, message.origin) : find_first(message);
  }
  if (chosen_ != deferred_.end()) return &chosen_->second;
  return in_call_ && call_.tag == message.tag && !call_.left ? &call_ : nullptr;
}

size_t Departures::departs(const Message& message, uint8_t* out, size_t room) noexcept {
  Send* send = choose(message);
  last_had_one_ = false;
  left_last_ = Last::kNone;
  if (send == nullptr) return 0;
  if (!send->doubtful) known_[message.serial % kKnown] = {message.serial, send->endpoint};
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
