// SPDX-License-Identifier: BSD-3-Clause
// The memory of this process that peers may reach: one entry for each remote key that was given
// out. An address inside of registered memory is not enough for a peer: it must show the random
// token of that registration.
//
// One for the process; any thread. The lock is shared while an entry is used, so that a
// registration ends only when no thread reads or writes under it.
#ifndef VERITY_RMA_REGIONS_H
#define VERITY_RMA_REGIONS_H

#include <atomic>
#include <cstdint>
#include <mutex>
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
  // Whoever shows the token hereafter is refused. Waits for those that use the memory now, but not
  // for those that have not begun. An unknown token is ignored.
  void revoke(uint64_t token) noexcept;
  // Whether the token was given out here and has been revoked. Of a number that is no token of ours
  // it says so only by a chance of how many were given out in 2^64.
  [[nodiscard]] bool was_revoked(uint64_t token) const noexcept;

  // The same memory for long, in a thread that no other waits for: whoever revokes the token waits
  // for the holds of that one region alone.
  class Hold {
   public:
    Hold(Regions& regions, uint64_t token, uint64_t address, uint64_t length,
         Access access) noexcept;
    ~Hold();
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;
    explicit operator bool() const noexcept { return holds_ != nullptr; }

   private:
    Regions& regions_;
    unsigned* holds_;  // of the region; nullptr: refused
  };

  // Calls use() if `length` bytes at `address` may be accessed with that token. It must not come
  // back to this object.
  template <typename Use>
  [[nodiscard]] wire::RmaStatus with(uint64_t token, uint64_t address, uint64_t length,
                                     Access access, Use&& use) const noexcept {
    const std::shared_lock lock(mutex_);
    const auto it = regions_.find(token);
    if (it == regions_.end()) return wire::RmaStatus::kRefused;
    return it->second.allows(address, length, access) ? use() : wire::RmaStatus::kRefused;
  }

 private:
  struct Region {
    uint64_t base;
    uint64_t length;
    unsigned access;
    unsigned holds = 0;  // under holds_mutex_

    [[nodiscard]] bool allows(uint64_t address, uint64_t bytes, Access wanted) const noexcept {
      return (access & wanted) == wanted && address >= base && bytes <= length &&
             address - base <= length - bytes;
    }
  };

  mutable std::shared_mutex mutex_;
  std::unordered_map<uint64_t, Region> regions_;
  // The n-th token is a random permutation's value of n: none is given twice, and each can be known
  // again when it is revoked.
  const uint64_t offset_;
  const uint64_t mask_;
  uint64_t given_ = 0;
  std::mutex holds_mutex_;            // taken after mutex_
  std::atomic<uint32_t> let_go_ = 0;  // changes when a hold ends
};

}  // namespace verity::rma

#endif
