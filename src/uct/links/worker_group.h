// SPDX-License-Identifier: BSD-3-Clause
//
// The verified interfaces of one worker, and the uids by which peers know that their addresses
// belong together (wire/address.h). A transport that only reads (cma) finds there the carriers:
// interfaces with a link to the same peer process, over which digests are requested.
#ifndef VERITY_UCT_LINKS_WORKER_GROUP_H
#define VERITY_UCT_LINKS_WORKER_GROUP_H

#include <cstdint>
#include <vector>

#include "uct/compat/ucx.h"
#include "uct/links/lanes.h"

namespace verity::uct {

class OneSided;
struct UctLink;
struct WorkerMembers;

class WorkerGroup {
 public:
  WorkerGroup() = default;
  ~WorkerGroup() { leave(); }
  WorkerGroup(const WorkerGroup&) = delete;
  WorkerGroup& operator=(const WorkerGroup&) = delete;

  // `numbered`: the interface gets a uid of its own, since it has links. Both throw std::bad_alloc.
  void join(uct_worker_h worker, bool numbered);
  void add_carrier(OneSided& onesided);
  void leave() noexcept;

  // Of this interface; no other has it or will have it. Without a number it is the worker's, number
  // 0.
  [[nodiscard]] uint64_t uid() const noexcept { return uid_; }
  // Under the rules of the worker: one thread at a time.
  [[nodiscard]] const std::vector<OneSided*>& carriers() const noexcept;

  // --- the order of operations that travel over several interfaces (onesided/fences.h) ---
  // What leads to that peer. Found or made, which may throw std::bad_alloc; and given back, which
  // ends it when nothing is left there.
  [[nodiscard]] Lanes& lanes(uint64_t peer_worker);
  void give_back(Lanes& lanes) noexcept;
  // Operations are of the epoch in which they came: a fence begins a new one.
  [[nodiscard]] uint32_t epoch() const noexcept;
  void begin_epoch() noexcept;
  // Whether what is done now is of an epoch before the last fence, see InEpoch.
  [[nodiscard]] bool is_before_fence() const noexcept;
  // From here on another thread may be at work on an interface of the worker.
  void share(ucs_async_context_t* async) noexcept;
  // This interface is the program's thread's alone, and has no guard against another one. Upper
  // handlers do not run in UCX's asynchronous thread then: UCP makes endpoints there, of all
  // interfaces of the worker.
  void add_unguarded() noexcept;
  [[nodiscard]] bool has_unguarded() const noexcept;

  // What is done meanwhile is of an earlier epoch: it has waited since. With a link, until that has
  // had its turn: the completion of what was sent then may start what comes behind the last fence.
  class InEpoch {
   public:
    InEpoch(const WorkerGroup& group, uint32_t epoch, const UctLink* turn = nullptr) noexcept;
    ~InEpoch();
    InEpoch(const InEpoch&) = delete;
    InEpoch& operator=(const InEpoch&) = delete;

   private:
    WorkerMembers& group_;
    const uint32_t fences_;
    const uint32_t outer_;
    const UctLink* const outer_turn_;
  };

  // Keeps that other thread out, if there is one, from all interfaces.
  class Guard {
   public:
    explicit Guard(const WorkerGroup& group) noexcept;
    ~Guard();
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

   private:
    ucs_async_context_t* async_;
  };

 private:
  WorkerMembers* group_ = nullptr;
  OneSided* carrier_ = nullptr;
  uint64_t uid_ = 0;
  bool is_unguarded_ = false;
};

}  // namespace verity::uct

#endif
