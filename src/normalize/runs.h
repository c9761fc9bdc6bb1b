// SPDX-License-Identifier: BSD-3-Clause
//
// The contiguous runs of a layout: loops around a short list of runs, from its canonical path. What
// hashes or gathers the data of a datatype walks along them. A vector of a million blocks is one
// loop around one run.
#ifndef VERITY_NORMALIZE_RUNS_H
#define VERITY_NORMALIZE_RUNS_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "normalize/canonical.h"

namespace verity::normalize {

struct Run {
  int64_t offset = 0;   // bytes
  uint64_t length = 0;  // bytes, not 0

  [[nodiscard]] bool operator==(const Run& other) const = default;
};

// Each loop has two copies or more, so that these are 2^48 runs at least.
inline constexpr std::size_t kMaxLoops = 48;

// The runs of one copy of a layout, in its order. Runs that follow each other in memory are one,
// but for those at the border of two copies of a loop.
struct Runs {
  std::vector<Node> loops;  // around the body, outermost first: vectors and indexed nodes
  std::vector<Run> body;
  std::vector<uint64_t> begins;  // of each run of the body, in data bytes; where lengths differ
  uint64_t length = 0;           // of every run of the body; 0: they differ
  uint64_t body_bytes = 0;       // sum of its lengths
  uint64_t bytes = 0;            // of all runs
  int64_t low = 0;               // the first byte, and behind the last one
  int64_t high = 0;

  [[nodiscard]] bool is_one_run() const noexcept { return loops.empty() && body.size() == 1; }
};

// What a program describes: nodes around a list of runs.
struct Pattern {
  std::vector<Node> around;  // vectors and indexed nodes, outermost first
  std::vector<Run> list;

  [[nodiscard]] bool empty() const noexcept { return list.empty(); }
};

// The pattern's own list, extended by the copies that `around` makes of it; runs that follow each
// other become one. False: more than `most` runs, *pattern is as before.
[[nodiscard]] bool flatten(Pattern* pattern, std::size_t most);

// What identifies a layout, whatever described it: the canonical path of its elements. These are
// the largest pieces of equal length that all runs consist of; or, where they would be too many,
// all runs of the list together.
struct RunsKey {
  Canonical path;
  std::vector<Run> element;  // from the element's displacement

  [[nodiscard]] bool operator==(const RunsKey& other) const = default;
};

// Nothing: displacements or counts out of the range of canonical(). Precondition: not empty.
[[nodiscard]] std::optional<RunsKey> runs_key(const Pattern& pattern);

// Nothing: more loops than kMaxLoops, or bytes and bounds that 62 bits do not hold.
[[nodiscard]] std::optional<Runs> make_runs(const RunsKey& key);

// The runs of layouts in use, and of some that were: programs make the same datatype again and
// again. May throw std::bad_alloc.
class RunsCache {
 public:
  // nullptr: as make_runs().
  [[nodiscard]] std::shared_ptr<const Runs> find_or_make(RunsKey key);
  [[nodiscard]] std::size_t size() const noexcept { return all_.size(); }

 private:
  // Of all together, in numbers that are kept; more only where they are in use.
  static constexpr uint64_t kMostWeight = uint64_t{1} << 20;

  struct Hash {
    std::size_t operator()(const RunsKey& key) const noexcept;
  };
  void drop_unused();

  std::unordered_map<RunsKey, std::shared_ptr<const Runs>, Hash> all_;
  uint64_t weight_ = 0;
  uint64_t most_weight_ = kMostWeight;
};

// A place in the data of any number of copies of a layout.
class RunsCursor {
 public:
  // `extent`: bytes from one copy to the next. Precondition: runs.bytes is not 0.
  RunsCursor(const Runs& runs, const void* address, int64_t extent) noexcept;

  // To the byte that has so many before it in all copies.
  void seek(uint64_t offset) noexcept;

  // Bytes from here on that follow each other in memory, and where: at least 1.
  [[nodiscard]] uint64_t left() const noexcept { return runs_.body[run_].length - done_; }
  [[nodiscard]] const uint8_t* here() const noexcept {
    return reinterpret_cast<const uint8_t*>(at_ + static_cast<uintptr_t>(runs_.body[run_].offset) +
                                            done_);
  }
  // Precondition: bytes <= left().
  void advance(uint64_t bytes) noexcept {
    done_ += bytes;
    if (left() == 0) next_run();
  }

  // The next `length` bytes to `out`.
  void gather(uint8_t* out, uint64_t length) noexcept;

 private:
  void next_run() noexcept;
  void next_body() noexcept;
  void gather_equal(uint8_t* out, uint64_t count) noexcept;
  uint64_t gather_whole(uint8_t* out, uint64_t length) noexcept;
  template <uint64_t kLength>
  void gather_fixed(uint8_t* out, uint64_t count) noexcept;

  const Runs& runs_;
  const uintptr_t address_;
  const int64_t extent_;
  uintptr_t at_;    // of the body
  uintptr_t copy_;  // of the layout's copy
  std::size_t run_ = 0;
  uint64_t done_ = 0;  // of the run
  std::array<uint64_t, kMaxLoops> turns_{};
};

}  // namespace verity::normalize

#endif
