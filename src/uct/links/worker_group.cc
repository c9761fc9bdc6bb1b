// SPDX-License-Identifier: BSD-3-Clause
#include "uct/links/worker_group.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <random>
#include <unordered_map>

#include "uct/process/per_process.h"
#include "wire/address.h"

namespace verity::uct {

struct WorkerMembers {
  uct_worker_h worker;
  uint64_t uid;  // the last one given out
  unsigned members = 0;
  std::vector<OneSided*> carriers;
  std::unordered_map<uint64_t, Lanes> peers;  // by worker
  uint32_t fences = 0;
  uint32_t epoch = 0;  // of what is started now
  std::atomic<unsigned> unguarded = 0;
  const UctLink* turn = nullptr;  // the link whose turn it is to send what is of that epoch
  ucs_async_context_t* async = nullptr;
};

namespace {

struct Groups {
  std::mutex mutex;
  std::map<uct_worker_h, WorkerMembers> all;
};

Groups& groups() noexcept { return PerProcess<Groups>::get(); }

uint64_t random_worker() {
  std::random_device device;
  uint64_t worker = 0;
  while (worker == 0) worker = wire::worker_of(uint64_t{device()} << 32 | device());
  return worker;
}

}  // namespace

void WorkerGroup::join(uct_worker_h worker, bool numbered) {
  const uint64_t fresh = random_worker();
  const std::lock_guard lock(groups().mutex);
  WorkerMembers& group = groups().all.try_emplace(worker).first->second;
  if (group.members == 0) {
    group.worker = worker;
    group.uid = fresh;
  }
  if (numbered) {
    // UCP opens fewer. A number is never used again: peers may have a link to the interface that
    // had it.
    if (group.uid - wire::worker_of(group.uid) == wire::kMostInterfaces) group.uid = fresh;
    ++group.uid;
  }
  ++group.members;
  group_ = &group;
  uid_ = numbered ? group.uid : wire::worker_of(group.uid);
}

void WorkerGroup::add_carrier(OneSided& onesided) {
  const std::lock_guard lock(groups().mutex);
  group_->carriers.push_back(&onesided);
  carrier_ = &onesided;
}

void WorkerGroup::leave() noexcept {
  if (group_ == nullptr) return;
  const std::lock_guard lock(groups().mutex);
  if (carrier_ != nullptr) std::erase(group_->carriers, carrier_);
  if (is_unguarded_) --group_->unguarded;
  auto& all = groups().all;
  const auto found = all.find(group_->worker);
  // In a child made by fork() the parent's groups are not among them.
  if (--group_->members == 0 && found != all.end() && &found->second == group_) all.erase(found);
  group_ = nullptr;
}

const std::vector<OneSided*>& WorkerGroup::carriers() const noexcept { return group_->carriers; }

Lanes& WorkerGroup::lanes(uint64_t peer_worker) {
  const Guard guard(*this);
  Lanes& lanes = group_->peers.try_emplace(peer_worker).first->second;
  lanes.worker = peer_worker;
  return lanes;
}

void WorkerGroup::give_back(Lanes& lanes) noexcept {
  const Guard guard(*this);
  if (!lanes.in_use()) group_->peers.erase(lanes.worker);
}

uint32_t WorkerGroup::epoch() const noexcept {
  const UctLink* turn = group_->turn;
  return turn == nullptr || turn->has_turn() ? group_->epoch : group_->fences;
}

bool WorkerGroup::is_before_fence() const noexcept { return group_->epoch != group_->fences; }

void WorkerGroup::begin_epoch() noexcept { group_->epoch = ++group_->fences; }

// The first interface that says so sets it, before it has a thread: others must not write what that
// one reads.
void WorkerGroup::share(ucs_async_context_t* async) noexcept {
  if (group_->async == nullptr) group_->async = async;
}

void WorkerGroup::add_unguarded() noexcept {
  ++group_->unguarded;
  is_unguarded_ = true;
}

bool WorkerGroup::has_unguarded() const noexcept {
  return group_->unguarded.load(std::memory_order_relaxed) != 0;
}

WorkerGroup::InEpoch::InEpoch(const WorkerGroup& group, uint32_t epoch,
                              const UctLink* turn) noexcept
    : group_(*group.group_),
      fences_(group_.fences),
      outer_(group_.epoch),
      outer_turn_(group_.turn) {
  group_.epoch = epoch;
  group_.turn = turn;
}

WorkerGroup::InEpoch::~InEpoch() {
  group_.turn = outer_turn_;
  group_.epoch = group_.fences == fences_ ? outer_ : group_.fences;
}

WorkerGroup::Guard::Guard(const WorkerGroup& group) noexcept : async_(group.group_->async) {
  if (async_ != nullptr) block_async(async_);
}

WorkerGroup::Guard::~Guard() {
  if (async_ != nullptr) unblock_async(async_);
}

}  // namespace verity::uct
