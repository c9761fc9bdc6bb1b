// SPDX-License-Identifier: BSD-3-Clause
//
// The verified interfaces of one worker, and the uids by which peers know that their addresses belong
// together (wire/address.h). A transport that only reads (cma) finds there a link to the same peer process, over which to
// ask for digests.
#ifndef VERITY_UCT_WORKER_GROUP_H
#define VERITY_UCT_WORKER_GROUP_H

#include <cstdint>
#include <vector>

#include "uct/wrap/compat.h"

namespace verity::uct {

class VerityIface;
struct WorkerMembers;

class WorkerGroup {
 public:
  WorkerGroup() = default;
  ~WorkerGroup() { leave(); }
  WorkerGroup(const WorkerGroup&) = delete;
  WorkerGroup& operator=(const WorkerGroup&) = delete;

  // `iface`: what others of the worker are to find; nullptr for one that is of no use to them. Throws
  // std::bad_alloc.
  void join(uct_worker_h worker, VerityIface* iface);
  void leave() noexcept;

  // Of this interface; nobody else has it or will have it. Without an interface that others can find it is the worker's, number 0.
  [[nodiscard]] uint64_t uid() const noexcept { return uid_; }
  // Under the rules of the worker: whoever uses it has it for himself.
  [[nodiscard]] const std::vector<VerityIface*>& ifaces() const noexcept;

 private:
  WorkerMembers* group_ = nullptr;
  VerityIface* iface_ = nullptr;
  uint64_t uid_ = 0;
};

}  // namespace verity::uct

#endif
