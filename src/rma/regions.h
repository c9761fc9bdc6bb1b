// SPDX-License-Identifier: BSD-3-Clause
// The memory of this process that peers may reach: one entry for each remote key that was given
// out. An address inside of registered memory is not enough for a peer: it must show the random
// token of that registration.
//
// One for the process; any thread. Whoever uses entries often is a User, which says so in a place
// of its own, without a lock: a registration ends only when no User is at its memory any more.
//
//   User::with()                    revoke()
//     place = odd                     the entry goes
//     revocations as before?          ++revocations
//       yes: the entry is known       wait until each place has changed or is even
//       no:  it is looked up
//     use()
//     place = even
//
// All of it sequentially consistent: a User that still finds the old count of revocations is seen.
#ifndef VERITY_RMA_REGIONS_H
#define VERITY_RMA_REGIONS_H

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

#include "wire/rma.h"

namespace verity::rma {

enum Access : uint8_t { kRead = 1, kWrite = 2, kReadWrite = 3 };

class Regions {
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

  // Of a User; given to another one when that goes.
  struct alignas(64) Place {
    std::atomic<uint32_t> uses = 0;  // odd: it is at some memory
    std::atomic<bool> taken = true;
    Place* next = nullptr;
  };

 public:
  // What revoke() does between two looks at a User that is at its memory; `looks`: so far.
  using Pause = void (*)(unsigned looks) noexcept;
  // `pause` nullptr: it looks again at once.
  explicit Regions(Pause pause = nullptr);
  ~Regions();
  Regions(const Regions&) = delete;
  Regions& operator=(const Regions&) = delete;

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

  // Keeps the entries that it used last. One thread at a time; gone before the Regions are.
  class User {
   public:
    // Throws std::bad_alloc.
    explicit User(Regions& regions);
    ~User();
    User(const User&) = delete;
    User& operator=(const User&) = delete;

    // Calls use() if `length` bytes at `address` may be accessed with that token. It must not come
    // back to this object, nor revoke anything.
    template <typename Use>
    [[nodiscard]] wire::RmaStatus with(uint64_t token, uint64_t address, uint64_t length,
                                       Access access, Use&& use) noexcept {
      const AtWork at_work(place_);
      const Region* region = find(token);
      if (region == nullptr || !region->allows(address, length, access))
        return wire::RmaStatus::kRefused;
      return use();
    }

   private:
    struct Known {
      uint64_t token = 0;  // 0: none
      Region region{};
    };
    class AtWork {
     public:
      explicit AtWork(Place& place) noexcept : place_(place) {
        place_.uses.store(place_.uses.load(std::memory_order_relaxed) + 1);
      }
      ~AtWork() {
        place_.uses.store(place_.uses.load(std::memory_order_relaxed) + 1,
                          std::memory_order_release);
      }
      AtWork(const AtWork&) = delete;
      AtWork& operator=(const AtWork&) = delete;

     private:
      Place& place_;
    };

    [[nodiscard]] const Region* find(uint64_t token) noexcept {
      const Known& known = known_[token % known_.size()];  // tokens are random
      const bool is_current = regions_.revocations_.load() == revocations_;
      return is_current && known.token == token && token != 0 ? &known.region : look_up(token);
    }
    [[nodiscard]] const Region* look_up(uint64_t token) noexcept;

    Regions& regions_;
    Place& place_;
    uint64_t revocations_ = 0;  // when known_ was right
    std::array<Known, 8> known_;
  };

 private:
  [[nodiscard]] Place& take_place();
  void wait_for_users() const noexcept;

  const Pause pause_;
  mutable std::shared_mutex mutex_;
  std::atomic<uint64_t> revocations_ = 0;  // changes under mutex_
  std::atomic<Place*> places_ = nullptr;   // only grows
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
