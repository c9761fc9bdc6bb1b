// SPDX-License-Identifier: BSD-3-Clause
//
// What automap maps of C++.
#pragma once

#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace physics {

enum class Charge : std::int8_t { kNegative = -1, kNeutral, kPositive };
enum class Mask : std::uint32_t { kAll = 0xffffffffu };

template <typename T, int N>
struct Vec {
  T at[N];
};

struct Particle {
  Vec<double, 3> position;
  std::array<std::array<float, 2>, 3> spins;
  std::complex<double> amplitude;
  std::complex<float> small[2];
  Charge charge = Charge::kNeutral;
  Mask mask = Mask::kAll;
  std::byte raw[4];
  bool alive = true;
  char16_t unit;
  wchar_t symbol;
  static int count;
  std::string name;  //~ AM ignore
  [[nodiscard]] double x() const { return position.at[0]; }
};

namespace detail {
class Cell {
 public:
  struct Bounds {
    int low, high;
  };
  Bounds bounds[2];
  Particle first;
  Cell* next = nullptr;  //~ AM owned
  std::array<Cell*, 3> around;  //~ AM reference
  [[nodiscard]] int hidden() const { return hidden_; }

 private:
  int hidden_ = 0;  //~ AM ignore
};
}  // namespace detail

// Not the same name in the generated code.
struct Cell {
  detail::Cell* of;  //~ AM reference
};

}  // namespace physics
