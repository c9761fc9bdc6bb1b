// SPDX-License-Identifier: BSD-3-Clause
// The application's messages: length, active message and content follow from who sent it and its
// number, so that a receiver needs nothing but the expected number to tell every wrong, lost,
// repeated or reordered one.
#ifndef VERITY_TEST_SIM_MESSAGE_H
#define VERITY_TEST_SIM_MESSAGE_H

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sim/rng.h"
#include "wire/frame.h"

namespace verity::sim {

// A zero-copy message's buffer may change in flight: each version is another content.
inline constexpr unsigned kVersions = 4;

struct MessageId {
  unsigned sender;  // unique per sender and incarnation
  wire::Class c;
  uint32_t number;
};

[[nodiscard]] inline uint64_t message_seed(const MessageId& id) noexcept {
  return (uint64_t{id.sender} << 40) ^ (uint64_t{static_cast<unsigned>(id.c)} << 36) ^ id.number;
}

[[nodiscard]] inline uint32_t message_length(const MessageId& id, uint32_t most) noexcept {
  Rng rng(message_seed(id) ^ 0x1e46);
  if (rng.chance(0.5)) return static_cast<uint32_t>(rng.below(17));
  return static_cast<uint32_t>(rng.below(rng.chance(0.5) ? most / 8 + 1 : most + 1));
}

inline constexpr uint8_t kMessageIds = 28;
// 0 to 13 in the synchronous class, 14 to 27 in the other.
[[nodiscard]] inline uint8_t message_am(const MessageId& id) noexcept {
  return static_cast<uint8_t>(id.number % 14 + 14 * static_cast<unsigned>(id.c));
}
[[nodiscard]] inline wire::Class class_of_am(uint8_t am_id) noexcept {
  return static_cast<wire::Class>(am_id / 14);
}

inline void fill_message(const MessageId& id, unsigned version, uint8_t* out,
                         size_t length) noexcept {
  Rng rng(message_seed(id) + (uint64_t{version + 1} << 52));
  uint64_t word = 0;
  for (size_t i = 0; i < length; ++i) {
    if (i % 8 == 0) word = rng.next();
    out[i] = static_cast<uint8_t>(word >> (8 * (i % 8)));
  }
}

[[nodiscard]] inline bool is_message(const MessageId& id, const void* data, size_t length,
                                     uint32_t most) noexcept {
  if (length != message_length(id, most)) return false;
  const auto* bytes = static_cast<const uint8_t*>(data);
  std::vector<uint8_t> right(length);
  for (unsigned version = 0; version < kVersions; ++version) {
    fill_message(id, version, right.data(), length);
    if (std::equal(right.begin(), right.end(), bytes)) return true;
  }
  return false;
}

}  // namespace verity::sim

#endif
