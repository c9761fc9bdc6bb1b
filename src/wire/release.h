// SPDX-License-Identifier: BSD-3-Clause
//
// Which releases exchange messages: those of one protocol version (kVersion), whatever else
// differs.
#ifndef VERITY_WIRE_RELEASE_H
#define VERITY_WIRE_RELEASE_H

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace verity::wire {

struct AddressTail;

struct Release {
  uint8_t major;
  uint8_t minor;
  uint8_t patch;
  friend constexpr bool operator==(const Release&, const Release&) noexcept = default;
};
static_assert(sizeof(Release) == 3);

// "1.2.3-rc1" -> {1, 2, 3}; what is missing is 0, what is too large 255.
[[nodiscard]] constexpr Release parse_release(std::string_view text) noexcept {
  unsigned parts[3] = {};
  unsigned part = 0;
  for (const char c : text) {
    if (c == '.' && ++part < 3) continue;
    if (part >= 3 || c < '0' || c > '9') break;
    parts[part] = parts[part] * 10 + static_cast<unsigned>(c - '0');
    if (parts[part] > 255) parts[part] = 255;
  }
  return {static_cast<uint8_t>(parts[0]), static_cast<uint8_t>(parts[1]),
          static_cast<uint8_t>(parts[2])};
}

// The first protocol version whose addresses name the release.
inline constexpr uint8_t kFirstWithRelease = 6;

// Room for what write_refusal() writes.
inline constexpr size_t kMaxRefusal = 320;
// Why a peer of another protocol version is refused: both sides' release, and what to do.
void write_refusal(const AddressTail& theirs, const Release& ours,
                   char (&out)[kMaxRefusal]) noexcept;

}  // namespace verity::wire

#endif
