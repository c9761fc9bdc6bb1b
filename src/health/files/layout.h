// SPDX-License-Identifier: BSD-3-Clause
//
// The layout of the health file as this version writes it: include/ucx-verity/health.h with our
// counters.
#ifndef VERITY_HEALTH_FILES_LAYOUT_H
#define VERITY_HEALTH_FILES_LAYOUT_H

#include <cstring>
#include <string>
#include <string_view>

#include "health/counters.h"
#include "ucx-verity/health.h"

namespace verity::health {

using FileHeader = ucx_verity_health_header;
using FileRow = ucx_verity_health_row;
static_assert(sizeof(FileHeader) == 512 && sizeof(FileRow) == 128,
              "changes need another layout number");

// The writing process, as the header names it. Texts are cut to their fields.
struct Origin {
  std::uint64_t pid = 0;
  std::uint64_t start_ticks = 0;
  std::uint32_t stack_mark = 0;
  std::uint64_t created_ns = 0;
  std::uint32_t uid = 0;
  std::string mode;
  std::string host;
  std::string peer_name;
  std::string program;
  std::string rank;
  std::string version;
  std::string ucx_version;
  std::string boot_id;
  std::string job = {};
  std::string step = {};
};

inline constexpr std::size_t kNameSize = 32;
inline constexpr std::size_t kCacheLine = 64;

[[nodiscard]] constexpr std::size_t whole_lines(std::size_t size) noexcept {
  return (size + kCacheLine - 1) / kCacheLine * kCacheLine;
}

// The first four counters, which each frame increments, share a cache line; no two rows do.
inline constexpr std::size_t kNamesOffset = sizeof(FileHeader);
inline constexpr std::size_t kRowsOffset =
    whole_lines(kNamesOffset + kCounterInfo.size() * kNameSize);
inline constexpr std::size_t kRowSize = whole_lines(sizeof(FileRow) + sizeof(Counters));

[[nodiscard]] constexpr std::size_t size_for_rows(std::size_t rows) noexcept {
  return kRowsOffset + rows * kRowSize;
}

// Cuts `text` to the field.
template <std::size_t N>
void put_text(char (&field)[N], std::string_view text) noexcept {
  const std::size_t length = text.size() < N ? text.size() : N - 1;
  if (length != 0) std::memcpy(field, text.data(), length);
  std::memset(field + length, 0, N - length);
}

}  // namespace verity::health

#endif
