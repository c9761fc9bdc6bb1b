// SPDX-License-Identifier: BSD-3-Clause
#include "health/faults/syndrome.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace verity::health {

namespace {

constexpr std::size_t kLine = 64;
constexpr std::size_t kPage = 4096;
constexpr std::size_t kLeastRun =
    16;  // bytes that must differ before a copy of other bytes is distinguished from chance
constexpr int kMostShift = 64;  // bytes

struct Pair {
  const std::uint8_t* bad;
  const std::uint8_t* good;
  std::size_t length;

  [[nodiscard]] bool differs(std::size_t i) const noexcept { return bad[i] != good[i]; }
};

std::uint64_t word_at(const std::uint8_t* bytes, std::size_t length) noexcept {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes, length);
  return word;
}

void note_byte(Syndrome& s, std::uint64_t offset, unsigned mask) noexcept {
  if (s.bytes == 0) s.first = offset;
  s.last = offset;
  ++s.bytes;
  s.bits += static_cast<unsigned>(std::popcount(mask));
  for (; mask != 0 && s.positions < Syndrome::kMostPositions; mask &= mask - 1) {
    s.bit[s.positions++] = 8 * offset + static_cast<unsigned>(std::countr_zero(mask));
  }
}

void count(const Pair& p, std::uint64_t base, Syndrome& s) noexcept {
  for (std::size_t at = 0; at < p.length; at += 8) {
    const std::size_t n = std::min<std::size_t>(8, p.length - at);
    if (word_at(p.bad + at, n) == word_at(p.good + at, n)) continue;
    for (std::size_t i = at; i < at + n; ++i) {
      if (p.differs(i)) note_byte(s, base + i, p.bad[i] ^ p.good[i]);
    }
  }
}

// Whether each byte that differs satisfies `test(i)`. [first, last]: where they stand.
template <typename Test>
bool each(const Pair& p, std::size_t first, std::size_t last, Test&& test) noexcept {
  for (std::size_t i = first; i <= last; ++i) {
    if (p.differs(i) && !test(i)) return false;
  }
  return true;
}

// The run of zeros around byte i is a line at least; where the compared bytes end, part of one is.
bool in_zero_line(const Pair& p, std::size_t i) noexcept {
  std::size_t begin = i;
  std::size_t end = i + 1;
  while (begin > 0 && end - begin < kLine && p.bad[begin - 1] == 0) --begin;
  while (end < p.length && end - begin < kLine && p.bad[end] == 0) ++end;
  const bool at_edge = begin == 0 || end == p.length;
  return end - begin >= (at_edge ? kLeastRun : kLine);
}

bool is_zeroed(const Pair& p, std::size_t first, std::size_t last, std::uint64_t bytes) noexcept {
  return bytes >= kLeastRun && each(p, first, last, [&](std::size_t i) { return p.bad[i] == 0; }) &&
         in_zero_line(p, first) && in_zero_line(p, last);
}

bool is_shifted(const Pair& p, std::size_t first, std::size_t last, int by) noexcept {
  return each(p, first, last, [&](std::size_t i) {
    const auto from = static_cast<std::ptrdiff_t>(i) - by;
    return from >= 0 && from < static_cast<std::ptrdiff_t>(p.length) && p.bad[i] == p.good[from];
  });
}

// 0: no shift explains all of it.
int shift_of(const Pair& p, std::size_t first, std::size_t last) noexcept {
  for (int by = 1; by <= kMostShift; ++by) {
    if (is_shifted(p, first, last, by)) return by;
    if (is_shifted(p, first, last, -by)) return -by;
  }
  return 0;
}

bool is_dense(std::uint64_t bytes, std::uint64_t span) noexcept { return bytes * 4 >= span * 3; }

// Nearly all bytes of every page that is touched differ, and no others. Pages that are compared in
// part count as far as they are.
bool is_pages(const Pair& p, std::uint64_t address) noexcept {
  bool whole_page = false;
  for (std::size_t at = 0; at < p.length;) {
    const std::size_t n = std::min<std::size_t>(kPage - (address + at) % kPage, p.length - at);
    std::size_t bytes = 0;
    for (std::size_t i = at; i < at + n; ++i) bytes += p.differs(i);
    if (bytes != 0 && !is_dense(bytes, n)) return false;
    whole_page = whole_page || (bytes != 0 && n == kPage);
    at += n;
  }
  return whole_page;
}

bool is_burst(const Syndrome& s) noexcept {
  const std::uint64_t span = s.last - s.first + 1;
  return span <= 8 || s.bytes * 2 >= span;
}

// In the order of VERITY_PATTERNS.
Pattern classify(const Pair& p, const Extent& extent, Syndrome& s) noexcept {
  if (s.bits <= 1) return s.bits == 0 ? Pattern::kNone : Pattern::kSingleBit;
  const auto first = static_cast<std::size_t>(s.first - extent.offset);
  const auto last = static_cast<std::size_t>(s.last - extent.offset);
  if (is_zeroed(p, first, last, s.bytes)) return Pattern::kZeroed;
  if (s.bytes >= kLeastRun) {
    if (last - first < kLine && is_shifted(p, first, last, kLine)) return Pattern::kRepeated;
    const int by = shift_of(p, first, last);
    s.shift = static_cast<std::int8_t>(by);
    if (by != 0) return Pattern::kShifted;
    const bool all = extent.whole == 0 || p.length == extent.whole;
    if (all && is_dense(s.bytes, p.length)) return Pattern::kWhole;
    if (is_pages(p, extent.address + extent.offset)) return Pattern::kStalePage;
  }
  return is_burst(s) ? Pattern::kBurst : Pattern::kScattered;
}

// Where bytes came from elsewhere or are missing, the differing bits would reveal the payload.
bool has_positions(Pattern pattern) noexcept {
  return pattern == Pattern::kSingleBit || pattern == Pattern::kBurst ||
         pattern == Pattern::kScattered;
}

void forget_positions(Syndrome& s) noexcept {
  s.positions = 0;
  s.bit = {};
}

// What two parts make together.
Pattern both(const Syndrome& a, const Syndrome& b, const Syndrome& sum) noexcept {
  if (b.pattern == Pattern::kNone) return a.pattern;
  if (a.pattern == Pattern::kNone) return b.pattern;
  const bool alike =
      a.pattern == b.pattern && a.shift == b.shift && a.pattern != Pattern::kSingleBit;
  if (alike && a.pattern != Pattern::kBurst) return a.pattern;
  return is_burst(sum) ? Pattern::kBurst : Pattern::kScattered;
}

}  // namespace

Syndrome compare(const void* bad, const void* good, std::size_t length,
                 const Extent& extent) noexcept {
  const Pair pair{static_cast<const std::uint8_t*>(bad), static_cast<const std::uint8_t*>(good),
                  length};
  Syndrome s;
  s.compared = length;
  count(pair, extent.offset, s);
  s.pattern = classify(pair, extent, s);
  if (!has_positions(s.pattern)) forget_positions(s);
  return s;
}

Syndrome join(const Syndrome& earlier, const Syndrome& later) noexcept {
  Syndrome sum = earlier.bytes != 0 ? earlier : later;
  sum.compared = earlier.compared + later.compared;
  if (earlier.bytes == 0 || later.bytes == 0) return sum;
  sum.bytes += later.bytes;
  sum.bits += later.bits;
  sum.first = std::min(earlier.first, later.first);
  sum.last = std::max(earlier.last, later.last);
  for (unsigned i = 0; i < later.positions && sum.positions < Syndrome::kMostPositions; ++i)
    sum.bit[sum.positions++] = later.bit[i];
  sum.pattern = both(earlier, later, sum);
  if (!has_positions(sum.pattern)) forget_positions(sum);
  if (sum.pattern != Pattern::kShifted) sum.shift = 0;
  return sum;
}

Again recurrence(const Syndrome& before, const Syndrome& now) noexcept {
  const bool placed = now.bits != 0 && now.bits <= Syndrome::kMostPositions;
  if (!placed || before.bits != now.bits) return Again::kNo;
  bool same_place = true;
  for (unsigned i = 0; i < now.positions; ++i) {
    if (before.bit[i] % 64 != now.bit[i] % 64) return Again::kNo;
    same_place = same_place && before.bit[i] == now.bit[i];
  }
  return same_place ? Again::kPosition : Again::kLane;
}

std::optional<Pattern> parse_pattern(std::string_view name) noexcept {
  const auto found = std::find(kPatternNames.begin(), kPatternNames.end(), name);
  if (found == kPatternNames.end()) return std::nullopt;
  return static_cast<Pattern>(found - kPatternNames.begin());
}

}  // namespace verity::health
