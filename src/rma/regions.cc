// SPDX-License-Identifier: BSD-3-Clause
#include "rma/regions.h"

#include <mutex>

namespace verity::rma {

namespace {

uint64_t random_seed() {
  std::random_device device;
  return uint64_t{device()} << 32 | device();
}

}  // namespace

Regions::Regions() : tokens_(random_seed()) {}

uint64_t Regions::add(uint64_t base, uint64_t length, unsigned access) {
  const std::unique_lock lock(mutex_);
  for (;;) {
    const uint64_t token = tokens_();
    if (token != 0 && regions_.try_emplace(token, Region{base, length, access}).second) return token;
  }
}

void Regions::revoke(uint64_t token) noexcept {
  decltype(regions_)::node_type gone;
  {
    const std::unique_lock lock(mutex_);
    gone = regions_.extract(token);
  }
  if (gone.empty()) return;
  for (;;) {
    const uint32_t seen = let_go_.load();
    {
      const std::lock_guard lock(holds_mutex_);
      if (gone.mapped().holds == 0) return;
    }
    let_go_.wait(seen);
  }
}

Regions::Hold::Hold(Regions& regions, uint64_t token, uint64_t address, uint64_t length, Access access) noexcept
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
