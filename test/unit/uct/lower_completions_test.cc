// SPDX-License-Identifier: BSD-3-Clause
// An operation that the lower transport completes ends once: in progress, or with its upper
// endpoint.
#include "uct/progress/lower_completions.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <vector>

#include "uct/links/flush_queue.h"

namespace verity::uct {

// Of idle_progress.cc; no interface has siblings here.
constinit std::atomic<ThreadId> only_thread{0};
constinit std::atomic<bool> several_threads{false};
void note_other_thread() noexcept {}

namespace {

// A lower endpoint whose flushes and checks wait until they are completed here.
class Lower {
 public:
  Lower() {
    iface_.ops.ep_flush = iface_.ops.ep_check = start;
    ep_.handle.iface = &iface_;
    ep_.self = this;
  }
  [[nodiscard]] uct_ep_h handle() { return &ep_.handle; }
  void complete(ucs_status_t status) {
    const std::vector<uct_completion_t*> all = std::move(waiting_);
    waiting_.clear();
    for (uct_completion_t* comp : all) invoke_completion(comp, status);
  }
  ucs_status_t answer = UCS_INPROGRESS;
  unsigned flags = 0;
  std::function<void()> on_start = [] {};

 private:
  struct Ep {
    uct_ep_t handle;
    Lower* self;
  };
  static ucs_status_t start(uct_ep_h ep, unsigned flags, uct_completion_t* comp) {
    Lower& self = *reinterpret_cast<Ep*>(ep)->self;
    self.flags = flags;
    self.on_start();
    if (self.answer == UCS_INPROGRESS && comp != nullptr) self.waiting_.push_back(comp);
    return self.answer;
  }
  uct_iface_t iface_{};
  Ep ep_{};
  std::vector<uct_completion_t*> waiting_;
};

struct Upper {
  uct_completion_t comp = {.func = completed, .count = 1, .status = UCS_OK};
  unsigned times = 0;
  std::function<void()> action = [] {};
  static void completed(uct_completion_t* comp) {
    auto* self = reinterpret_cast<Upper*>(comp);
    ++self->times;
    self->action();
  }
};

class UctLowerCompletions : public testing::TestWithParam<LowerCompletions::Operation> {
 protected:
  ThreadRules threads_;
  std::unique_ptr<LowerCompletions> pending_ = std::make_unique<LowerCompletions>(threads_);
  Lower lower_;
  Upper first_, second_;
  int ep_ = 0, other_ep_ = 0;
};

TEST_P(UctLowerCompletions, EndsInProgressBehindTheLowerOne) {
  EXPECT_EQ(pending_->start(GetParam(), &ep_, lower_.handle(), UCT_FLUSH_FLAG_CANCEL, &first_.comp),
            UCS_INPROGRESS);
  EXPECT_EQ(lower_.flags, unsigned{UCT_FLUSH_FLAG_CANCEL});
  EXPECT_EQ(first_.times, 0u);
  EXPECT_TRUE(pending_->empty());
  lower_.complete(UCS_ERR_ENDPOINT_TIMEOUT);
  EXPECT_EQ(first_.times, 0u);
  EXPECT_FALSE(pending_->empty());
  EXPECT_EQ(pending_->run(), 1u);
  EXPECT_TRUE(pending_->empty());
  EXPECT_EQ(first_.times, 1u);
  EXPECT_EQ(first_.comp.status, UCS_ERR_ENDPOINT_TIMEOUT);
  pending_->cancel(&ep_);
  EXPECT_EQ(first_.times, 1u);
}

TEST_P(UctLowerCompletions, IsCanceledWithItsEndpointAndNoOther) {
  EXPECT_EQ(pending_->start(GetParam(), &ep_, lower_.handle(), 0, &first_.comp), UCS_INPROGRESS);
  EXPECT_EQ(pending_->start(GetParam(), &other_ep_, lower_.handle(), 0, &second_.comp),
            UCS_INPROGRESS);
  pending_->cancel(&ep_);
  EXPECT_EQ(first_.times, 1u);
  EXPECT_EQ(first_.comp.status, UCS_ERR_CANCELED);
  EXPECT_EQ(second_.times, 0u);
  lower_.complete(UCS_OK);
  EXPECT_EQ(pending_->run(), 1u);
  EXPECT_EQ(first_.times, 1u);
  EXPECT_EQ(second_.times, 1u);
  EXPECT_EQ(second_.comp.status, UCS_OK);
}

// What was completed below, and not yet above, has its own end.
TEST_P(UctLowerCompletions, KeepsItsStatusWhenItsEndpointGoes) {
  EXPECT_EQ(pending_->start(GetParam(), &ep_, lower_.handle(), 0, &first_.comp), UCS_INPROGRESS);
  lower_.complete(UCS_OK);
  pending_->cancel(&ep_);
  EXPECT_EQ(first_.times, 1u);
  EXPECT_EQ(first_.comp.status, UCS_OK);
  EXPECT_EQ(pending_->run(), 0u);
}

TEST_P(UctLowerCompletions, WhatIsOverAtOnceHasNoCompletion) {
  for (const ucs_status_t status : {UCS_OK, UCS_ERR_NO_RESOURCE}) {
    lower_.answer = status;
    EXPECT_EQ(pending_->start(GetParam(), &ep_, lower_.handle(), 0, &first_.comp), status);
  }
  pending_->cancel(&ep_);
  EXPECT_EQ(first_.times, 0u);
}

TEST_P(UctLowerCompletions, NeedsNoCompletion) {
  EXPECT_EQ(pending_->start(GetParam(), &ep_, lower_.handle(), 0, nullptr), UCS_INPROGRESS);
  pending_->cancel(&ep_);
}

// An interface that closes destroys its lower endpoints last.
TEST_P(UctLowerCompletions, MayOutliveTheList) {
  EXPECT_EQ(pending_->start(GetParam(), &ep_, lower_.handle(), 0, &first_.comp), UCS_INPROGRESS);
  EXPECT_EQ(pending_->start(GetParam(), &other_ep_, lower_.handle(), 0, &second_.comp),
            UCS_INPROGRESS);
  pending_->cancel(&ep_);
  pending_.reset();
  lower_.complete(UCS_ERR_CANCELED);
  EXPECT_EQ(first_.times, 1u);
}

// The lower transport may complete earlier operations inside a later one, as a cancel does: what
// waits in the queue is not changed under the queue's hands.
TEST_P(UctLowerCompletions, NothingIsCompletedInsideAnotherOne) {
  struct Ep {};
  Ep waits, flushes;
  FlushQueue<Ep> queue;
  Upper waiting, flushing;
  const auto no_lock = [] { return 0; };
  EXPECT_EQ(queue.add({&waits, 0, &waiting.comp}), UCS_INPROGRESS);
  EXPECT_EQ(queue.add({&flushes, UCT_FLUSH_FLAG_CANCEL, &flushing.comp}), UCS_INPROGRESS);
  EXPECT_EQ(pending_->start(GetParam(), &flushes, lower_.handle(), 0, &first_.comp),
            UCS_INPROGRESS);
  first_.action = [&] { queue.cancel(&waits, no_lock); };  // it destroys that endpoint
  lower_.on_start = [&] { lower_.complete(UCS_OK); };
  const auto attempt = [&](const FlushQueue<Ep>::Request& request) {
    if (request.ep == &waits) return UCS_ERR_NO_RESOURCE;
    const ucs_status_t status =
        pending_->start(GetParam(), request.ep, lower_.handle(), request.flags, request.comp);
    EXPECT_EQ(first_.times, 0u);
    return status;
  };
  EXPECT_EQ(queue.run(no_lock, attempt), 1u);
  EXPECT_FALSE(queue.empty());
  EXPECT_EQ(pending_->run(), 1u);
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(waiting.times, 1u);
  EXPECT_EQ(waiting.comp.status, UCS_ERR_CANCELED);
  EXPECT_EQ(flushing.times, 0u);
  lower_.complete(UCS_OK);
  EXPECT_EQ(pending_->run(), 1u);
  EXPECT_EQ(flushing.times, 1u);
}

INSTANTIATE_TEST_SUITE_P(Flush, UctLowerCompletions, testing::Values(uct_ep_flush));
INSTANTIATE_TEST_SUITE_P(Check, UctLowerCompletions, testing::Values(uct_ep_check));

}  // namespace
}  // namespace verity::uct
