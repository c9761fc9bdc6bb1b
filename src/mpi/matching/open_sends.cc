// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/matching/open_sends.h"

#include <algorithm>

namespace verity::mpi {

void OpenSends::open(const void* request, const void* buffer, size_t bytes,
                     const Caller& caller) noexcept {
  if (bytes < kLeast) return;
  const std::lock_guard lock(mutex_);
  try {
    if (sends_.size() >= kMost) sends_.clear();
    const uint64_t number = opened_.load(std::memory_order_relaxed) + 1;
    sends_.insert_or_assign(
        request, Send{reinterpret_cast<uintptr_t>(buffer), bytes, caller, number, false});
    opened_.store(number, std::memory_order_relaxed);
  } catch (...) {  // it has no name then
  }
  count_.store(sends_.size(), std::memory_order_relaxed);
}

void OpenSends::close_one(const void* request) noexcept {
  const std::lock_guard lock(mutex_);
  sends_.erase(request);
  count_.store(sends_.size(), std::memory_order_relaxed);
}

bool OpenSends::changed(const void* address, size_t length, uint64_t opened,
                        std::optional<ChangedSend>* first) noexcept {
  const auto from = reinterpret_cast<uintptr_t>(address);
  const uintptr_t to = from + length;
  const std::lock_guard lock(mutex_);
  bool found = false;
  for (auto& [request, send] : sends_) {
    const uintptr_t begin = std::max(from, send.begin);
    const uintptr_t end = std::min(to, send.begin + send.bytes);
    if (begin >= end || send.number > opened) continue;
    found = true;
    if (send.reported) continue;
    send.reported = true;
    *first = ChangedSend{send.caller, send.bytes, begin - send.begin, end - begin};
    return true;
  }
  return found;
}

}  // namespace verity::mpi
