// SPDX-License-Identifier: BSD-3-Clause
// Two ends of a link with small windows, on scripted exchanges.
#ifndef VERITY_TEST_UNIT_LINK_EXCHANGE_H
#define VERITY_TEST_UNIT_LINK_EXCHANGE_H

#include <gtest/gtest.h>

#include "unit/link/pair.h"

namespace verity::test {

inline link::Config small_window() {
  link::Config config;
  config.window_frames = 8;
  return config;
}

class Exchange : public ::testing::TestWithParam<std::tuple<uint32_t, bool>> {
 protected:
  Exchange() { pair.join(first()); }
  static uint32_t first() { return std::get<0>(GetParam()); }
  static link::Config config() {
    link::Config c = small_window();
    c.compact = std::get<1>(GetParam());
    return c;
  }
  Pair pair{config()};
  End& a = pair.a;
  End& b = pair.b;
};

// 0, about the sign's change and about the wrap; with and without compact frames.
inline auto first_psns() {
  return ::testing::Combine(::testing::Values(0u, 0xfffeu, 0x7ffffffeu, 0xfffffffeu, 0xffffffffu),
                            ::testing::Bool());
}

}  // namespace verity::test

#endif
