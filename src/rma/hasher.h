// SPDX-License-Identifier: BSD-3-Clause
// Other threads that hash, for large digests. Each is cut into slices, which any thread can make;
// the thread that serves the requests finds the results when it comes by again.
#ifndef VERITY_RMA_HASHER_H
#define VERITY_RMA_HASHER_H

#include <atomic>
#include <cstdint>
#include <span>

#include "merkle/hash.h"
#include "merkle/tree.h"
#include "rma/regions.h"
#include "util/list.h"

namespace verity::rma {

class Hasher;

// Filled by the submitter, and the hasher's from submit() until it is done or withdrawn.
struct HashSlice {
  // The hasher's.
  util::ListNode node;
  bool begun = false;
  Hasher* taken_by = nullptr;  // by submit()
  uint64_t token = 0;
  uint64_t address = 0;
  uint32_t length = 0;                            // bytes
  uint32_t segment_size = 0;                      // bytes
  merkle::Digest* leaves = nullptr;               // one for each segment
  wire::RmaStatus status = wire::RmaStatus::kOk;  // meaningful when done
  std::atomic<bool> done = false;
};

class Hasher {
 public:
  virtual ~Hasher() = default;
  // The caller has found nothing done many times: lets the hasher's threads run where it would keep
  // them from that.
  virtual void give_way() noexcept {}
  // All of them, or none: false, the caller hashes itself.
  [[nodiscard]] virtual bool submit(std::span<HashSlice> slices) noexcept = 0;
  // Nobody is at the slice any more when this returns, done or not. Slices of another hasher are
  // left alone: see HashPool.
  virtual void withdraw(HashSlice& slice) noexcept = 0;
};

// In the hasher's thread. look(use): calls use(bytes) with the slice's bytes; false: they cannot be
// read, as the program took them away. The memory's registration does not end before this returns.
template <typename Look>
[[nodiscard]] wire::RmaStatus make(const HashSlice& slice, Regions& regions, Look&& look) noexcept {
  const Regions::Hold hold(regions, slice.token, slice.address, slice.length, kRead);
  if (!hold) return wire::RmaStatus::kRefused;
  const auto use = [&](const uint8_t* bytes) {
    const merkle::Geometry geometry(slice.length, slice.segment_size);
    merkle::leaf_digests(geometry, util::Pieces{{{bytes, slice.length}}},
                         {slice.leaves, geometry.leaf_count()});
  };
  return look(use) ? wire::RmaStatus::kOk : wire::RmaStatus::kUnreadable;
}

}  // namespace verity::rma

#endif
