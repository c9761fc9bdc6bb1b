// SPDX-License-Identifier: BSD-3-Clause
//
// UCX_VERITY_THREADS: threads of the process that make large digests for all its interfaces.
#ifndef VERITY_UCT_IDLE_HASH_POOL_H
#define VERITY_UCT_IDLE_HASH_POOL_H

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "rma/hasher.h"

namespace verity::uct {

// Any thread. A child made by fork() has an empty one of its own, which takes nothing.
class HashPool final : public rma::Hasher {
 public:
  // Looks at the slice's memory: see rma::make(). Takes room for a slice's bytes, for the thread
  // alone.
  using Make = wire::RmaStatus (*)(const rma::HashSlice& slice, std::vector<uint8_t>& scratch);
  explicit HashPool(Make make) : make_(make) {}

  // An interface more that may submit, and wants so many threads. They start with the first slice,
  // and end, joined, when the last interface closes.
  void open(unsigned threads) noexcept;
  void close() noexcept;

  [[nodiscard]] bool submit(std::span<rma::HashSlice> slices) noexcept override;
  void withdraw(rma::HashSlice& slice) noexcept override;
  // For a thread of a higher, or the same, fixed priority, which the system would let spin for
  // ever.
  void give_way() noexcept override;

 private:
  // The threads of the time between the first open() and the last close(): another crew may be
  // there before all of them have ended.
  struct Crew {
    std::vector<std::thread> threads;
    bool ends = false;
  };
  void start() noexcept;
  void work(const Crew& crew) noexcept;

  const Make make_;
  std::mutex mutex_;
  std::condition_variable more_;   // slices, or the end
  std::condition_variable fewer_;  // a slice is done
  util::ListNode waiting_;
  std::unique_ptr<Crew> crew_;  // nullptr: none was needed yet
  unsigned users_ = 0;
  unsigned wanted_ = 0;
};

[[nodiscard]] HashPool& hash_pool() noexcept;

}  // namespace verity::uct

#endif
