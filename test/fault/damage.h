// SPDX-License-Identifier: BSD-3-Clause
#ifndef VERITY_TEST_FAULT_DAMAGE_H
#define VERITY_TEST_FAULT_DAMAGE_H

#include <cstddef>
#include <cstdint>
#include <span>

#include "fault/settings.h"

namespace verity::fault {

// SplitMix64: the numbers follow from the seed alone, on every machine.
class Random {
 public:
  explicit Random(uint64_t seed) noexcept : state_(seed) {}
  uint64_t next() noexcept;
  // In [0, limit); `limit` > 0.
  uint64_t below(uint64_t limit) noexcept { return next() % limit; }
  // In [0, 1).
  double fraction() noexcept { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

 private:
  uint64_t state_;
};

// The bytes of a frame that may be damaged: UCX_FAULT_PLACE, or the one named by OFFSET or BIT.
struct Region {
  size_t begin;
  size_t end;
  [[nodiscard]] bool empty() const noexcept { return begin >= end; }
};
[[nodiscard]] Region region_of(const Settings& settings, size_t frame_length) noexcept;

struct Damage {
  size_t offset = 0;      // of the first damaged byte
  size_t bytes = 0;       // damaged, or cut off
  size_t bits = 0;        // that differ now
  size_t new_length = 0;  // of the frame
  [[nodiscard]] bool any() const noexcept { return bytes > 0; }
};

// Damages `frame` in place; `kind` is flip, burst, zero_line or truncate (which changes only
// new_length). The result says what differs: zeroing a line of zeros is no damage.
[[nodiscard]] Damage damage(const Settings& settings, Kind kind, std::span<uint8_t> frame,
                            Random& random) noexcept;

}  // namespace verity::fault

#endif
