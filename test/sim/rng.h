// SPDX-License-Identifier: BSD-3-Clause
// Random numbers of a simulation: the same seed gives the same run on every machine.
#ifndef VERITY_TEST_SIM_RNG_H
#define VERITY_TEST_SIM_RNG_H

#include <cstdint>

namespace verity::sim {

// splitmix64.
class Rng {
 public:
  explicit Rng(uint64_t seed) noexcept : state_(seed * 0x9e3779b97f4a7c15ull + 1) {}

  uint64_t next() noexcept {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15ull);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }
  // 0 to n - 1; 0 when n is 0.
  uint64_t below(uint64_t n) noexcept { return n == 0 ? 0 : next() % n; }
  // a to b, both included.
  uint64_t between(uint64_t a, uint64_t b) noexcept { return a + below(b - a + 1); }
  bool chance(double p) noexcept { return static_cast<double>(next() >> 11) * 0x1p-53 < p; }

 private:
  uint64_t state_;
};

}  // namespace verity::sim

#endif
