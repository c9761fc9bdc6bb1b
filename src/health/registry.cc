// SPDX-License-Identifier: BSD-3-Clause
#include "health/registry.h"

#include <algorithm>

namespace verity::health {

namespace {

// Another thread may be incrementing: read each word once and whole. Its increments are no atomic ones, which would cost the data
// path; ThreadSanitizer need not say so.
__attribute__((no_sanitize("thread"))) Counters read_live(const Counters& counters) noexcept {
  Counters copy;
  for (const CounterInfo& info : kCounterInfo) {
    copy.*info.field = const_cast<const volatile uint64_t&>(counters.*info.field);
  }
  return copy;
}

}  // namespace

void CounterRegistry::attach(const Counters* counters) {
  const std::lock_guard lock(mutex_);
  live_.push_back(counters);
}

void CounterRegistry::detach(const Counters* counters) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = std::find(live_.begin(), live_.end(), counters);
  if (found == live_.end()) return;
  closed_ += *counters;
  live_.erase(found);
}

Counters CounterRegistry::snapshot() const noexcept {
  const std::lock_guard lock(mutex_);
  Counters sum = closed_;
  for (const Counters* counters : live_) sum += read_live(*counters);
  return sum;
}

std::size_t CounterRegistry::live() const noexcept {
  const std::lock_guard lock(mutex_);
  return live_.size();
}

}  // namespace verity::health
