// SPDX-License-Identifier: BSD-3-Clause
#include "fault/damage.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace verity::fault {
namespace {

constexpr size_t kLine = 64;  // bytes of a cache line

Damage flip(const Settings& settings, std::span<uint8_t> frame, Region region, Random& random) {
  Damage result{.offset = frame.size()};
  const size_t region_bits = (region.end - region.begin) * 8;
  const size_t wanted = std::min(settings.bits, region_bits);
  size_t position =
      settings.bit != kUnset ? settings.bit : region.begin * 8 + random.below(region_bits);
  for (size_t done = 0; done < wanted; ++done) {
    frame[position / 8] ^= static_cast<uint8_t>(1U << (position % 8));
    result.offset = std::min(result.offset, position / 8);
    ++result.bits;
    // All strides together are shorter than the region: no bit is met twice.
    const size_t stride = 1 + random.below(region_bits / wanted);
    position = region.begin * 8 + (position - region.begin * 8 + stride) % region_bits;
  }
  result.bytes = wanted;
  return result;
}

Damage burst(const Settings& settings, std::span<uint8_t> frame, Region region, Random& random) {
  const size_t room = region.end - region.begin;
  const size_t length = std::min(settings.burst, frame.size() - region.begin);
  const size_t start = settings.offset != kUnset || settings.bit != kUnset || length >= room
                           ? region.begin
                           : region.begin + random.below(room - length + 1);
  Damage result{.offset = start, .bytes = std::min(length, frame.size() - start)};
  for (size_t i = 0; i < result.bytes; ++i) {
    const auto change = static_cast<uint8_t>(1 + random.below(255));
    frame[start + i] ^= change;
    result.bits += static_cast<size_t>(std::popcount(change));
  }
  return result;
}

// The first line that is not all zero already, from a random one on.
Damage zero_line(std::span<uint8_t> frame, Region region, Random& random) {
  const size_t first = region.begin / kLine;
  const size_t count = (region.end - 1) / kLine - first + 1;
  const size_t start = random.below(count);
  for (size_t i = 0; i < count; ++i) {
    const size_t line = (first + (start + i) % count) * kLine;
    const size_t begin = std::max(line, region.begin);
    const size_t end = std::min(line + kLine, region.end);
    Damage result{.offset = end};
    for (size_t at = begin; at < end; ++at) {
      if (frame[at] != 0) {
        result.offset = std::min(result.offset, at);
        result.bytes = at + 1 - result.offset;
        result.bits += static_cast<size_t>(std::popcount(frame[at]));
        frame[at] = 0;
      }
    }
    if (result.any()) { return result; }
  }
  return {};
}

}  // namespace

uint64_t Random::next() noexcept {
  state_ += 0x9e3779b97f4a7c15U;
  uint64_t z = state_;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31);
}

Region region_of(const Settings& settings, size_t frame_length) noexcept {
  Region region{0, frame_length};
  if (settings.place == Place::kHeader) {
    region.end = std::min(frame_length, settings.header_size);
  } else if (settings.place == Place::kPayload) {
    region.begin = settings.header_size;
  }
  const uint64_t exact = settings.bit != kUnset ? settings.bit / 8 : settings.offset;
  if (exact != kUnset) { region = {exact, exact < frame_length ? exact + 1 : 0}; }
  return region;
}

Damage damage(const Settings& settings, Kind kind, std::span<uint8_t> frame,
              Random& random) noexcept {
  Region region = region_of(settings, frame.size());
  if (region.empty()) { return {}; }
  Damage result;
  if (kind == Kind::kTruncate) {
    const size_t length = region.begin + random.below(region.end - region.begin);
    return {.offset = length, .bytes = frame.size() - length, .bits = 0, .new_length = length};
  }
  if (kind == Kind::kFlip) {
    result = flip(settings, frame, region, random);
  } else if (kind == Kind::kBurst) {
    result = burst(settings, frame, region, random);
  } else if (kind == Kind::kZeroLine) {
    if (region.end - region.begin == 1) {  // by offset: the whole line that holds it
      region = {region.begin / kLine * kLine,
                std::min((region.begin / kLine + 1) * kLine, frame.size())};
    }
    result = zero_line(frame, region, random);
  }
  result.new_length = frame.size();
  return result;
}

}  // namespace verity::fault
