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
    : uid_(uid), numberings_(std::make_unique<Numbering[]>(kNumberings)), chosen_(deferred_.end()) {}

Stamp Departures::number(const void* endpoint, uint64_t tag) noexcept {
  const uint64_t mixed = (tag ^ reinterpret_cast<uintptr_t>(endpoint) * 0x9e3779b97f4a7c15ull) * 0xbf58476d1ce4e5b9ull;
  Numbering& n = numberings_[(mixed >> 32) % kNumberings];
  if (n.endpoint != endpoint || n.tag != tag) n = {endpoint, tag, ++epoch_, 0};
  return {uid_ << 32 | n.epoch, n.next++};
}

void Departures::begin(const void* endpoint, uint64_t tag, const uint8_t* signature, size_t length) noexcept {
  in_call_ = true;
  call_.endpoint = endpoint;
  call_.tag = tag;
  call_.left = false;
  call_.length = length <= kMaxSignature && length >= kStampEnd ? length : 0;
  const Stamp stamp = number(endpoint, tag);
  if (call_.length == 0) return;
  std::memcpy(call_.bytes, signature, length);
  write_stamp(call_.bytes, stamp);
}

void Departures::end(void* request) noexcept {
  in_call_ = false;
  if (request == nullptr || call_.left || call_.length == 0) return;
  try {
    if (deferred_.size() >= kMostDeferred) deferred_.clear();
    deferred_.insert_or_assign(reinterpret_cast<uintptr_t>(request), call_);
  } catch (...) {  // that message carries none
  }
  chosen_ = deferred_.end();
}

void Departures::forget(const void* request) noexcept {
  if (deferred_.empty()) return;
  deferred_.erase(reinterpret_cast<uintptr_t>(request));
  chosen_ = deferred_.end();
}

// The send whose request holds that address.
Departures::Deferred::iterator Departures::find(uint64_t tag, uintptr_t address) noexcept {
  const auto above = deferred_.upper_bound(address);
  if (above == deferred_.end() || above->first - address > request_size_ || above->second.tag != tag) return deferred_.end();
  return above;
}

// One of the sends that wait with that tag, and of this call when it has it, if they are all alike: the one called first leaves
// first.
Departures::Deferred::iterator Departures::find_by_tag(uint64_t tag) noexcept {
  auto found = deferred_.end();
  Stamp first{};
  for (auto it = deferred_.begin(); it != deferred_.end(); ++it) {
    if (it->second.tag != tag) continue;
    Stamp stamp;
    (void)read_stamp(it->second.bytes, it->second.length, &stamp);
    if (found != deferred_.end() && !alike(it->second, found->second)) return deferred_.end();
    if (found == deferred_.end() || stamp.sequence < first.sequence) {
      found = it;
      first = stamp;
    }
  }
  return found;
}

bool Departures::alike(const Send& a, const Send& b) noexcept {
  const auto same = [&](size_t from, size_t to) { return std::memcmp(a.bytes + from, b.bytes + from, to - from) == 0; };
  return a.endpoint == b.endpoint && a.length == b.length && a.length >= kStampEnd && same(0, kUidOffset) &&
         same(kUidOffset + sizeof(uint64_t), kSequenceOffset) && same(kStampEnd, a.length);
}

const Departures::Send* Departures::choose(uint64_t tag, const void* origin) noexcept {
  const bool may_be_call = in_call_ && call_.tag == tag && !call_.left;
  chosen_ = deferred_.end();
  if (deferred_.empty()) return may_be_call ? &call_ : nullptr;
  if (origin != nullptr) {
    chosen_ = find(tag, reinterpret_cast<uintptr_t>(origin));
    if (chosen_ == deferred_.end()) chosen_ = find(tag, first_word(origin));
  } else {
    chosen_ = find_by_tag(tag);
    // One that waits may leave inside of a later call, before that call's own.
    if (may_be_call && chosen_ != deferred_.end() && chosen_->second.endpoint == call_.endpoint) {
      return alike(chosen_->second, call_) ? &chosen_->second : nullptr;
    }
    if (may_be_call) chosen_ = deferred_.end();
  }
  if (chosen_ != deferred_.end()) return &chosen_->second;
  return may_be_call ? &call_ : nullptr;
}

size_t Departures::departs(uint64_t tag, const void* origin, uint8_t* out, size_t room) noexcept {
  const Send* send = choose(tag, origin);
  if (send == nullptr) return 0;
  const size_t length = send->length <= room ? send->length : 0;
  std::memcpy(out, send->bytes, length);
  if (send == &call_) {
    last_request_ = 0;
    call_.left = true;
  } else {
    last_request_ = chosen_->first;
    last_ = chosen_->second;
    deferred_.erase(chosen_);
  }
  return length;
}

void Departures::stayed() noexcept {
  if (last_request_ == 0) {
    call_.left = false;
    return;
  }
  try {
    deferred_.insert_or_assign(last_request_, last_);
  } catch (...) {  // that message carries none
  }
}

}  // namespace verity::mpi
