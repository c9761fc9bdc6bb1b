// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/ucp/worker.h"

#include <algorithm>
#include <cstring>
#include <random>

namespace verity::mpi {

void MatchedMessage::resolved(const uint8_t* signature, size_t length, size_t received) noexcept {
  certain_ = true;
  length_ = std::min(length, kMaxSignature);
  received_ = received;
  if (length_ != 0) std::memcpy(bytes_, signature, length_);
  if (fetched_ && receive_ != nullptr)
    receive_->resolved(length_ != 0 ? bytes_ : nullptr, length_, received_);
  receive_ = nullptr;
}

bool MatchedMessage::fetch(Receive* receive) noexcept {
  fetched_ = true;
  receive_ = receive;
  if (!certain_) return false;
  if (receive_ != nullptr) receive_->resolved(length_ != 0 ? bytes_ : nullptr, length_, received_);
  receive_ = nullptr;
  return true;
}

Worker* Workers::search(const void* handle) const noexcept {
  for (const auto& worker : workers_) {
    if (worker->handle == handle) return worker.get();
  }
  return nullptr;
}

Worker* Workers::search_below(const void* uct_worker) noexcept {
  for (const auto& worker : workers_) {
    if (std::find(worker->below.begin(), worker->below.end(), uct_worker) == worker->below.end())
      continue;
    last_below_ = uct_worker;
    return last_above_ = worker.get();
  }
  return nullptr;
}

Worker* Workers::create() noexcept {
  try {
    workers_.push_back(std::make_unique<Worker>());
    return workers_.back().get();
  } catch (...) { return nullptr; }
}

void Workers::destroy(const void* handle) noexcept {
  for (const auto& worker : workers_) {
    if (worker->handle != handle) continue;
    resolved_before += worker->receives.resolved();
    uncertain_before += worker->receives.uncertain();
  }
  std::erase_if(workers_, [&](const auto& worker) { return worker->handle == handle; });
  last_ = last_above_ = nullptr;
  last_below_ = nullptr;
}

constinit Workers* all_workers = nullptr;

void make_workers() noexcept {
  if (all_workers != nullptr) return;
  std::random_device device;
  all_workers = new Workers(static_cast<uint32_t>(device()));
}

Tally tally() noexcept {
  if (all_workers == nullptr) return {};
  const Locked lock;
  const Workers& all = workers();
  Tally sum{all.attached, all.arrived, all.resolved_before, all.uncertain_before};
  for (const auto& worker : all.all()) {
    sum.resolved += worker->receives.resolved();
    sum.uncertain += worker->receives.uncertain();
  }
  return sum;
}

}  // namespace verity::mpi
