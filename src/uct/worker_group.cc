// SPDX-License-Identifier: BSD-3-Clause
#include "uct/worker_group.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <random>

#include "wire/address.h"

namespace verity::uct {

struct WorkerMembers {
  uct_worker_h worker;
  uint64_t uid;  // the last one given out
  unsigned members = 0;
  std::vector<VerityIface*> ifaces;
};

namespace {

struct Groups {
  std::mutex mutex;
  std::map<uct_worker_h, WorkerMembers> all;
};

// Never destroyed: interfaces may close after static destructors ran.
Groups& groups() {
  static auto* const instance = new Groups;
  return *instance;
}

uint64_t random_worker() {
  std::random_device device;
  uint64_t worker = 0;
  while (worker == 0) worker = wire::worker_of(uint64_t{device()} << 32 | device());
  return worker;
}

}  // namespace

void WorkerGroup::join(uct_worker_h worker, VerityIface* iface) {
  const uint64_t fresh = random_worker();
  const std::lock_guard lock(groups().mutex);
  WorkerMembers& group = groups().all.try_emplace(worker, WorkerMembers{worker, fresh, 0, {}}).first->second;
  if (iface != nullptr) {
    group.ifaces.push_back(iface);
    // UCP opens fewer. A number is never used again: peers may have a link to the interface that had it.
    if (group.uid - wire::worker_of(group.uid) == wire::kMostInterfaces) group.uid = fresh;
    ++group.uid;
  }
  ++group.members;
  group_ = &group;
  iface_ = iface;
  uid_ = iface != nullptr ? group.uid : wire::worker_of(group.uid);
}

void WorkerGroup::leave() noexcept {
  if (group_ == nullptr) return;
  const std::lock_guard lock(groups().mutex);
  if (iface_ != nullptr) std::erase(group_->ifaces, iface_);
  if (--group_->members == 0) groups().all.erase(group_->worker);
  group_ = nullptr;
}

const std::vector<VerityIface*>& WorkerGroup::ifaces() const noexcept { return group_->ifaces; }

}  // namespace verity::uct
