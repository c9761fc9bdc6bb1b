// SPDX-License-Identifier: BSD-3-Clause
//
// What a fault looks like: damaged bytes against the right ones. Positions only; never a byte of
// the payload itself.
#ifndef VERITY_HEALTH_FAULTS_SYNDROME_H
#define VERITY_HEALTH_FAULTS_SYNDROME_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace verity::health {

// X(enumerator, name, what it looks like). In the order in which they are tried.
#define VERITY_PATTERNS(X)                                                                   \
  X(kNone, "none", "no byte differs")                                                        \
  X(kSingleBit, "single_bit", "one bit differs")                                             \
  X(kZeroed, "zeroed_line", "whole cache lines read zero")                                   \
  X(kRepeated, "repeated_line", "a cache line is the one before it once more")               \
  X(kShifted, "shifted", "the bytes are right, but some bytes too early or too late")        \
  X(kWhole, "whole_frame", "all of the frame is different: another one's bytes")             \
  X(kStalePage, "stale_page", "whole pages of 4 KiB are different: what memory held before") \
  X(kBurst, "burst", "neighbouring bits differ")                                             \
  X(kScattered, "scattered", "bits differ here and there")

enum class Pattern : std::uint8_t {
#define VERITY_ENUMERATOR(enumerator, name, help) enumerator,
  VERITY_PATTERNS(VERITY_ENUMERATOR)
#undef VERITY_ENUMERATOR
};

// Whether an earlier fault was alike: see recurrence().
enum class Again : std::uint8_t {
  kNo,
  kLane,      // the same bits of a word of 64, elsewhere
  kPosition,  // the same bits at the same place
};

inline constexpr std::array kPatternNames = {
#define VERITY_NAME(enumerator, name, help) std::string_view(name),
    VERITY_PATTERNS(VERITY_NAME)
#undef VERITY_NAME
};
inline constexpr std::array<std::string_view, 3> kAgainNames = {"no", "lane", "position"};

struct Syndrome {
  static constexpr std::size_t kMostPositions = 8;

  Pattern pattern = Pattern::kNone;
  Again again = Again::kNo;
  std::uint8_t positions = 0;  // how many of `bit` there are: the first ones; only of single bits,
                               // bursts and scattered ones
  std::int8_t shift =
      0;  // of kShifted: bytes; positive: the right bytes came too late in the frame
  std::uint64_t compared = 0;  // bytes
  std::uint64_t bytes = 0;     // that differ
  std::uint64_t bits = 0;
  std::uint64_t first = 0;  // offset of the first byte that differs, and of the last
  std::uint64_t last = 0;
  std::array<std::uint64_t, kMostPositions> bit{};  // 8 * offset + bit

  bool operator==(const Syndrome&) const = default;
};

// Where the compared bytes stand.
struct Extent {
  std::uint64_t offset = 0;   // in the whole frame or read: what the positions count from
  std::uint64_t whole = 0;    // bytes of that; 0: as many as are compared
  std::uint64_t address = 0;  // of offset 0, as far as pages are concerned
};

// Compares `length` bytes. One pass, and a second over what differs.
[[nodiscard]] Syndrome compare(const void* bad, const void* good, std::size_t length,
                               const Extent& extent = {}) noexcept;

// Two parts of one frame, compared one by one: `later` stands behind `earlier`.
[[nodiscard]] Syndrome join(const Syndrome& earlier, const Syndrome& later) noexcept;

// Whether the same bits were hit as in `before`: at the same place, or in the same lane, that is
// the same bits modulo 64. Only faults of few bits have a place; for the others kNo.
[[nodiscard]] Again recurrence(const Syndrome& before, const Syndrome& now) noexcept;

[[nodiscard]] inline std::string_view name_of(Pattern pattern) noexcept {
  return kPatternNames[static_cast<std::size_t>(pattern)];
}
[[nodiscard]] inline std::string_view name_of(Again again) noexcept {
  return kAgainNames[static_cast<std::size_t>(again)];
}
[[nodiscard]] std::optional<Pattern> parse_pattern(std::string_view name) noexcept;

}  // namespace verity::health

#endif
