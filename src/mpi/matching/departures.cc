// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/matching/departures.h"

#include <cstring>
#include <iterator>

namespace verity::mpi {

namespace {

// Stale entries (requests that ended without leaving here, on a lane past this layer) must not pile up. Nor may they be forgotten, as
// they may yet leave, and would be taken for others.
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
      last_number_(numberings_.get()),
      known_(std::make_unique<Known[]>(kKnown)),
      chosen_(deferred_.end()) {}

// Counts one more message.
Departures::Numbering& Departures::search_number(const void* endpoint, uint64_t tag) noexcept {
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

// Sends with that tag wait for that endpoint, and it is not known which ones.
bool Departures::doubts(const void* endpoint, uint64_t tag) noexcept {
  const auto before = first_of(endpoint, tag);
  return before != deferred_.end() && before->second.doubtful;
}

// ---- sends that have returned -------------------------------------------------------------------------------------------------

void Departures::defer(uintptr_t request, const Send& send) noexcept {
  try {
    if (deferred_.size() >= kMostDeferred) return give_up_all();
    const auto old = deferred_.find(request);
    if (old != deferred_.end()) erase(old);
    in_order_.emplace(order_of(send), request);
    Send& kept = deferred_.emplace(request, send).first->second;
    if (send.length != 0) send.copy(kept.bytes, Stamp{0, 0});
    kept.head = nullptr;
    released_ += kept.released;
  } catch (...) {  // that message carries none
  }
  chosen_ = deferred_.end();
}

void Departures::erase(Deferred::iterator place) noexcept {
  released_ -= place->second.released;
  in_order_.erase(order_of(place->second));
  deferred_.erase(place);
  chosen_ = deferred_.end();
}

void Departures::release_deferred(const void* request) noexcept {
  const auto found = deferred_.find(reinterpret_cast<uintptr_t>(request));
  if (found == deferred_.end() || found->second.released) return;
  found->second.released = true;
  if (++released_ > kMostReleased) give_up_released();
}

// Each message would look through all of them, for ever.
void Departures::give_up_released() noexcept {
  try {
    for (const auto& [request, send] : deferred_) {
      if (send.released) given_up_tags_.insert(send.tag);
    }
  } catch (...) {
    return give_up_all();
  }
  if (given_up_tags_.size() > kMostGivenUp) return give_up_all();
  given_up_ = GivenUp::kSome;
  for (auto place = deferred_.begin(); place != deferred_.end();) {
    const auto next = std::next(place);
    if (given_up_tags_.contains(place->second.tag)) erase(place);
    place = next;
  }
}

void Departures::give_up_all() noexcept {
  given_up_ = GivenUp::kAll;
  deferred_.clear();
  in_order_.clear();
  given_up_tags_.clear();
  released_ = 0;
  chosen_ = deferred_.end();
}

void Departures::forget_deferred(const void* request) noexcept {
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

// nullptr: it cannot be told.
const void* Departures::endpoint_of(const Message& message) const noexcept {
  const Known& known = known_[message.serial % kKnown];
  return known.serial == message.serial ? known.endpoint : only_endpoint(message);
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

bool Departures::same_but_stamp(const Send& a, const Send& b) noexcept {
  if (a.length != b.length) return false;
  uint8_t one[kMaxSignature], other[kMaxSignature];
  if (a.length != 0) a.copy(one, Stamp{0, 0});
  if (a.length != 0) b.copy(other, Stamp{0, 0});
  return std::memcmp(one, other, a.length) == 0;
}

// One of them leaves: which one, and so which ones remain, is not known. Their requests' ends will tell.
Departures::Send* Departures::doubt(uint64_t tag) noexcept {
  const Send* any = nullptr;
  bool are_alike = true;
  const auto of_all = [&](auto&& visit) {
    for (auto& [request, send] : deferred_) {
      if (send.tag == tag) visit(send);
    }
    if (in_call_ && call_.tag == tag && !call_.left) visit(call_);
  };
  of_all([&](Send& send) {
    are_alike = are_alike && (any == nullptr || same_but_stamp(send, *any));
    any = &send;
  });
  of_all([&](Send& send) {
    send.doubtful = true;
    if (!are_alike) send.length = 0;
  });
  doubtful_ = *any;
  return &doubtful_;
}

// ---- leaving ------------------------------------------------------------------------------------------------------------------

Departures::Send* Departures::choose(const Message& message) noexcept {
  chosen_ = deferred_.end();
  if (is_given_up(message.tag)) return nullptr;
  // One that waits may leave inside of a later call, before that call's own.
  if (!deferred_.empty() && message.origin != nullptr) {
    chosen_ = find_by_origin(message.tag, message.origin);
    // The memory of a request that nobody tells the end of may be the call's by now.
    const bool may_be_calls = in_call_ && call_.tag == message.tag && !call_.left;
    if (chosen_ != deferred_.end() && chosen_->second.released && may_be_calls) return doubt(message.tag);
  } else if (!deferred_.empty()) {
    const void* endpoint = endpoint_of(message);
    if (endpoint == nullptr) return doubt(message.tag);
    chosen_ = first_of(endpoint, message.tag);
    const bool may_have_left = chosen_ != deferred_.end() && (chosen_->second.doubtful || chosen_->second.released);
    if (may_have_left) return doubt(message.tag);
  }
  if (chosen_ != deferred_.end()) return &chosen_->second;
  return in_call_ && call_.tag == message.tag && !call_.left ? &call_ : nullptr;
}

size_t Departures::departs(const Message& message, uint8_t* out, size_t room) noexcept {
  if (is_of_call(message.tag)) return departs_from_call(message.serial, out, room);
  Send* send = choose(message);
  last_had_one_ = false;
  left_last_ = Last::kNone;
  if (send == nullptr) return 0;
  if (!send->doubtful) known_[message.serial % kKnown] = {message.serial, send->endpoint};
  const size_t length = in_words(send->length) <= room ? send->length : 0;
  if (length != 0) {
    send->copy(out, stamp_of(*send));
  }
  last_had_one_ = length != 0;
  if (send == &doubtful_) return length;
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
  if (left_last_ == Last::kCall) {
    call_.left = false;
    alone_ = in_call_ && deferred_.empty();
  }
  if (left_last_ == Last::kDeferred && !is_given_up(last_.tag)) defer(last_request_, last_);
  return last_had_one_;
}

}  // namespace verity::mpi
