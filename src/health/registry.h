// SPDX-License-Identifier: BSD-3-Clause
//
// Sums the counters of a process over its interfaces, those already closed included.
#pragma once

#include <mutex>
#include <vector>

#include "health/counters.h"

namespace verity::health {

// Thread-safe; locks, so not for the data path. Interfaces attach when they open.
class CounterRegistry {
 public:
  // `counters` stays the caller's and must live until detach(). Throws std::bad_alloc.
  void attach(const Counters* counters);

  // Keeps the sum of `counters` and forgets the pointer. Unknown pointers are ignored.
  void detach(const Counters* counters) noexcept;

  // The process's sums. A counter that its interface increments meanwhile is read old or new,
  // never torn; exact once the interfaces rest.
  [[nodiscard]] Counters snapshot() const noexcept;

  // Number of interfaces attached now.
  [[nodiscard]] std::size_t live() const noexcept;

 private:
  mutable std::mutex mutex_;
  std::vector<const Counters*> live_;
  Counters closed_;
};

}  // namespace verity::health
