// SPDX-License-Identifier: BSD-3-Clause
#ifndef VERITY_UCT_PROCESS_CLOCK_H
#define VERITY_UCT_PROCESS_CLOCK_H

#include <cstdint>
#include <ctime>

namespace verity::uct {

[[nodiscard]] inline uint64_t monotonic_ns() noexcept {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
}

}  // namespace verity::uct

#endif
