// SPDX-License-Identifier: BSD-3-Clause
// The memory of this process that peers may reach: one entry for each remote key that was given out. An address inside of
// registered memory is not enough for a peer: it must show the random token of that registration.
//
// One for the process; any thread. The lock is shared while an entry is used, so that a registration ends only when nobody reads
// or writes under it.
#pragma once

#include <cstdint>
#include <random>
#include <shared_mutex>
#include <unordered_map>

#include "wire/rma.h"

namespace verity::rma {

enum Access : uint8_t { kRead = 1, kWrite = 2, kReadWrite = 3 };

class Regions {
 public:
  Regions();

  // Returns the token, never 0. Throws std::bad_alloc. `access`: Access bits.
  [[nodiscard]] uint64_t add(uint64_t base, uint64_t length, unsigned access);
  // Whoever shows the token hereafter is refused. Waits for those that use the memory now. An unknown token is ignored.
  void revoke(uint64_t token) noexcept;

  // Calls use() if `length` bytes at `address` may be accessed with that token. It must not come back to this object.
  template <typename Use>
  [[nodiscard]] wire::RmaStatus with(uint64_t token, uint64_t address, uint64_t length, Access access, Use&& use) const noexcept {
    const std::shared_lock lock(mutex_);
    const auto it = regions_.find(token);
    if (it == regions_.end()) return wire::RmaStatus::kRefused;
    const Region& r = it->second;
    if ((r.access & access) != access || address < r.base || length > r.length || address - r.base > r.length - length) {
      return wire::RmaStatus::kRefused;
    }
    return use();
  }

 private:
  struct Region {
    uint64_t base;
    uint64_t length;
    unsigned access;
  };

  mutable std::shared_mutex mutex_;
  std::unordered_map<uint64_t, Region> regions_;
  std::mt19937_64 tokens_;
};

}  // namespace verity::rma
