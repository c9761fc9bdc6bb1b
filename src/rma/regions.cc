// SPDX-License-Identifier: BSD-3-Clause
#include "rma/regions.h"

#include <mutex>
#include <random>
#include <utility>

namespace verity::rma {

namespace {

uint64_t random_key() {
  std::random_device device;
  return uint64_t{device()} << 32 | device();
}

// A permutation of the 64-bit numbers (the end of splitmix64), and its inverse.
constexpr uint64_t kFirst = 0xbf58476d1ce4e5b9;
constexpr uint64_t kSecond = 0x94d049bb133111eb;
constexpr uint64_t kFirstInverse = 0x96de1b173f119089;
constexpr uint64_t kSecondInverse = 0x319642b2d24d8ec3;
static_assert(kFirst * kFirstInverse == 1 && kSecond * kSecondInverse == 1);

uint64_t scatter(uint64_t x) noexcept {
  x = (x ^ x >> 30) * kFirst;
  x = (x ^ x >> 27) * kSecond;
  return x ^ x >> 31;
}

uint64_t gather(uint64_t x) noexcept {
  x = (x ^ x >> 31 ^ x >> 62) * kSecondInverse;
  x = (x ^ x >> 27 ^ x >> 54) * kFirstInverse;
  return x ^ x >> 30 ^ x >> 60;
}

}  // namespace

Regions::Regions(Pause pause) : pause_(pause), offset_(random_key()), mask_(random_key()) {}

Regions::~Regions() {
  for (const Place* place = places_; place != nullptr;) delete std::exchange(place, place->next);
}

uint64_t Regions::add(uint64_t base, uint64_t length, unsigned access) {
  const std::unique_lock lock(mutex_);
  for (;;) {
    const uint64_t token = scatter(offset_ + given_) ^ mask_;
    ++given_;
    if (token == 0) continue;
    regions_.try_emplace(token, Region{base, length, access});
    return token;
  }
}

bool Regions::was_revoked(uint64_t token) const noexcept {
  const std::shared_lock lock(mutex_);
  return token != 0 && gather(token ^ mask_) - offset_ < given_ && !regions_.contains(token);
}

void Regions::revoke(uint64_t token) noexcept {
  decltype(regions_)::node_type gone;
  {
    const std::unique_lock lock(mutex_);
    gone = regions_.extract(token);
    if (gone.empty()) return;
    ++revocations_;
  }
  wait_for_users();
  for (;;) {
    const uint32_t seen = let_go_.load();
    {
      const std::lock_guard lock(holds_mutex_);
      if (gone.mapped().holds == 0) return;
    }
    let_go_.wait(seen);
  }
}

// A use is a copy or a digest of some pages: not worth a wake-up in every one of them.
void Regions::wait_for_users() const noexcept {
  for (const Place* place = places_; place != nullptr; place = place->next) {
    const uint32_t uses = place->uses;
    for (unsigned looks = 0; uses % 2 != 0 && place->uses == uses; ++looks) {
      if (pause_ != nullptr) pause_(looks);
    }
  }
}

// --- users
// ------------------------------------------------------------------------------------------------

// Without a lock, as a child of fork() may end a User while a thread that it does not have held it.
Regions::Place& Regions::take_place() {
  for (Place* place = places_; place != nullptr; place = place->next) {
    if (!place->taken.exchange(true)) return *place;
  }
  auto* place = new Place;
  place->next = places_;
  while (!places_.compare_exchange_weak(place->next, place)) {}
  return *place;
}

Regions::User::User(Regions& regions) : regions_(regions), place_(regions.take_place()) {}
Regions::User::~User() { place_.taken = false; }

const Regions::Region* Regions::User::look_up(uint64_t token) noexcept {
  const std::shared_lock lock(regions_.mutex_);
  if (const uint64_t now = regions_.revocations_; now != revocations_) {
    known_ = {};
    revocations_ = now;
  }
  const auto it = regions_.regions_.find(token);
  if (it == regions_.regions_.end()) return nullptr;
  Known& known = known_[token % known_.size()];
  known = {token, it->second};
  return &known.region;
}

// --- holds
// ------------------------------------------------------------------------------------------------

Regions::Hold::Hold(Regions& regions, uint64_t token, uint64_t address, uint64_t length,
                    Access access) noexcept
    : regions_(regions), holds_(nullptr) {
  const std::shared_lock lock(regions.mutex_);
  const auto it = regions.regions_.find(token);
  if (it == regions.regions_.end() || !it->second.allows(address, length, access)) return;
  const std::lock_guard holds_lock(regions.holds_mutex_);
  holds_ = &it->second.holds;
  ++*holds_;
}

Regions::Hold::~Hold() {
  if (holds_ == nullptr) return;
  {
    const std::lock_guard lock(regions_.holds_mutex_);
    --*holds_;  // the region may be gone behind this
  }
  ++regions_.let_go_;
  regions_.let_go_.notify_all();
}

}  // namespace verity::rma
