// SPDX-License-Identifier: BSD-3-Clause
//
// What to damage and how, checked. The texts come from UCX_FAULT_* variables; README.md lists them.
#ifndef VERITY_TEST_FAULT_SETTINGS_H
#define VERITY_TEST_FAULT_SETTINGS_H

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "fault/kinds.h"

namespace verity::fault {

constexpr uint64_t kUnset = std::numeric_limits<uint64_t>::max();

struct Range {
  uint64_t first;
  uint64_t last;  // included
  bool operator==(const Range&) const = default;
};

// Empty: everything.
using Ranges = std::vector<Range>;
[[nodiscard]] bool contains(const Ranges& ranges, uint64_t value) noexcept;

// frame[offset + i] & mask[i] == value[i] for every i.
struct Pattern {
  size_t offset;
  std::vector<uint8_t> mask;
  std::vector<uint8_t> value;
  bool operator==(const Pattern&) const = default;
};

// One field for each setting (README.md).
struct Settings {
  KindMask kinds = mask_of(Kind::kFlip);
  double rate = 0;     // of the frames that pass the filters
  uint64_t every = 0;  // 0: not by count
  bool by_number = false;
  Ranges frames;  // used if by_number; the first frame is 1

  Place place = Place::kAny;
  size_t header_size = 32;
  uint64_t offset = kUnset;
  uint64_t bit = kUnset;
  size_t bits = 1;
  size_t burst = 16;

  unsigned ops = 7;    // bit per Op
  unsigned sides = 1;  // bit per Side
  Ranges am_ids;
  std::vector<Pattern> match;  // all of them
  size_t min_len = 0;
  size_t max_len = std::numeric_limits<size_t>::max();

  bool this_rank = true;
  Ranges peers;  // only to, and reads only from, these ranks
  uint64_t rank = kUnset;
  uint64_t seed = 1;
  uint64_t limit = kUnset;
  uint64_t after = 0;

  double async_interval = 0;      // s; 0: nothing is received asynchronously
  double complete_after = 0;      // s; 0: zero-copy sends complete when the lower transport's do
  bool connects_ep_only = false;  // as InfiniBand's rc, where the lower transport can do it
  bool uses_queue = false;        // receives from the worker's queue as well

  std::string report;
  size_t events = 64;

  [[nodiscard]] bool active() const noexcept {
    return this_rank && (rate > 0 || every > 0 || by_number);
  }
  bool operator==(const Settings&) const = default;
};

// The parts that need more than a number. Each returns false with a sentence in `error_p` that
// says what is wrong and what to write instead; the caller names the variable.
[[nodiscard]] bool parse_ranges(const std::string& text, Ranges* ranges_p, std::string* error_p);
[[nodiscard]] bool parse_match(const std::string& text, std::vector<Pattern>* match_p,
                               std::string* error_p);

// Contradictions between values; the sentence names the variables.
[[nodiscard]] bool check(const Settings& settings, std::string* error_p);

// This process's rank as its launcher says (Open MPI, PMIx, PMI, Slurm), kUnset if none does.
[[nodiscard]] uint64_t rank_from_environment();

}  // namespace verity::fault

#endif
