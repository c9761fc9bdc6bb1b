// SPDX-License-Identifier: BSD-3-Clause
//
// Which frames have their check timed: one in 1024, as the help of the counters says.
#ifndef VERITY_HEALTH_SAMPLER_H
#define VERITY_HEALTH_SAMPLER_H

#include <cstdint>

namespace verity::health {

class Sampler {
 public:
  [[nodiscard]] bool is_due() noexcept {
    if (--left_ != 0) [[likely]]
      return false;
    left_ = kEvery;
    return true;
  }

 private:
  static constexpr std::uint32_t kEvery = 1024;
  std::uint32_t left_ = kEvery;
};

}  // namespace verity::health

#endif
