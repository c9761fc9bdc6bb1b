// SPDX-License-Identifier: BSD-3-Clause
// What counting costs: all that a fault-free frame adds for the sake of the health file, at both
// ends.
#include <memory>
#include <utility>
#include <vector>

#include "health/files/interface_rows.h"
#include "health/sampler.h"
#include "link/state/link.h"
#include "perf_counts/case.h"

namespace verity::perf {

namespace {

struct Memory final : health::Ground {
  std::vector<uint64_t> words = std::vector<uint64_t>(health::Table::kMostBytes / 8);
  std::byte* base() noexcept override { return reinterpret_cast<std::byte*>(words.data()); }
  bool grow(size_t) noexcept override { return true; }
};

struct Ends {
  Memory memory;
  health::Table table{memory, {}};
  health::InterfaceRows rows{table, "vtcp", "eth0", 0};
  link::Link from;
  link::Link to;
  health::Sampler sampler;
};
std::unique_ptr<Ends> ends;

void make_ends() {
  ends = std::make_unique<Ends>();
  ends->from.counters = &ends->rows.peer("a", 0);
  ends->to.counters = &ends->rows.peer("b", 0);
}

inline void one_frame(Ends& e, uint32_t length) {
  e.from.counters->count_sent(length);
  consume(&e);  // the frame travels
  if (e.sampler.is_due()) consume(length);
  e.to.counters->count_verified(length);
  consume(&e);
}

void ten_frames() {
  Ends& e = *ends;
  [&]<size_t... kFrame>(std::index_sequence<kFrame...>) { (one_frame(e, 8 + 0 * kFrame), ...); }
  (std::make_index_sequence<10>());
}

constexpr Case kCases[] = {{"count-10-frames", make_ends, ten_frames}};

}  // namespace

std::span<const Case> health_cases() { return kCases; }

}  // namespace verity::perf
