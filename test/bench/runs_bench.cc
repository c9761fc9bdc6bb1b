// SPDX-License-Identifier: BSD-3-Clause
//
// Digest of the data of derived datatypes: along a list of all runs, as they were digested before,
// beside the loops of their canonical path (src/normalize/runs.h). Layouts as in layouts_job.c.
//
//   runs_bench [PAIRS]
//
// Each turn digests with both, in an order that changes; a line has the medians and the median of
// the ratios, with its quartiles.
#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "normalize/runs.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace {

using namespace verity::normalize;
using Clock = std::chrono::steady_clock;

constexpr size_t kPart = 8192;
constexpr int64_t kDouble = 8;

uint64_t join(uint64_t a, uint64_t b) {
  const uint64_t both[] = {a, b};
  return XXH3_64bits(both, sizeof(both));
}

// Take: (bytes, space) to where they lie.
template <typename Take>
uint64_t digest(uint64_t bytes, Take&& take) {
  alignas(64) uint8_t space[kPart];
  uint64_t sum = 0;
  for (uint64_t done = 0; done < bytes; done += kPart) {
    const auto part = static_cast<size_t>(std::min<uint64_t>(kPart, bytes - done));
    sum = join(sum, XXH3_64bits(take(part, space), part));
  }
  return sum;
}

uint64_t digest_list(const std::vector<Run>& list, uint64_t bytes, const uint8_t* base) {
  size_t run = 0;
  uint64_t done = 0;
  const auto next = [&](size_t length) {
    const uint8_t* at = base + list[run].offset + done;
    done += length;
    if (done == list[run].length) {
      done = 0;
      ++run;
    }
    return at;
  };
  return digest(bytes, [&](size_t length, uint8_t* space) -> const uint8_t* {
    if (length <= list[run].length - done) return next(length);
    for (size_t have = 0, piece; have < length; have += piece) {
      piece = std::min<size_t>(length - have, list[run].length - done);
      std::memcpy(space + have, next(piece), piece);
    }
    return space;
  });
}

uint64_t digest_loops(const Runs& runs, const uint8_t* base) {
  RunsCursor cursor(runs, base, runs.high);
  return digest(runs.bytes, [&](size_t length, uint8_t* space) -> const uint8_t* {
    if (length > cursor.left()) {
      cursor.gather(space, length);
      return space;
    }
    const uint8_t* here = cursor.here();
    cursor.advance(length);
    return here;
  });
}

struct Case {
  const char* name;
  Pattern pattern;
};

// Members of a structure, one behind the other.
Pattern structure(const std::vector<Pattern>& members, int64_t apart) {
  Pattern all;
  int64_t place = 0;
  for (Pattern member : members) {
    member.around.insert(member.around.begin(), indexed({place}));
    if (!flatten(&member, SIZE_MAX)) std::abort();
    all.list.insert(all.list.end(), member.list.begin(), member.list.end());
    place += apart;
  }
  return all;
}

std::vector<Case> cases() {
  std::mt19937_64 random(3);
  Displacements irregular, crystal;
  for (int64_t i = 0, at = 0; i < 3000; ++i) {
    at += 1 + static_cast<int64_t>(random() % 25);
    irregular.push_back(at * 3 * kDouble);
    crystal.push_back(i * 10 * 3 * kDouble);
  }
  const Pattern wrf_x{{vector(96, 128 * 40 * 4), vector(40, 128 * 4)}, {{0, 12}}};
  const Pattern wrf_y{{vector(3, 128 * 40 * 4), vector(40 * 128, 4)}, {{0, 4}}};
  const int64_t array = 128 * 40 * 96 * 4;
  return {
      {"WRF x", structure({wrf_x, wrf_x, wrf_x, wrf_x, wrf_x}, array)},
      {"WRF y", structure({wrf_y, wrf_y, wrf_y, wrf_y, wrf_y}, array)},
      {"MILC su3 z", {{vector(16, 16 * 16 * 8 * 24), vector(16 * 8, 24)}, {{0, 24}}}},
      {"LAMMPS", {{indexed(irregular)}, {{0, 24}}}},
      {"LAMMPS crystal", {{indexed(crystal)}, {{0, 24}}}},
      {"NAS LU y", {{vector(1000, 34 * 40)}, {{0, 40}}}},
      {"NAS MG x", {{vector(128, 130 * 130 * kDouble), vector(128, 130 * kDouble)}, {{0, 8}}}},
      {"NAS MG y", {{vector(128, 130 * 130 * kDouble), vector(128, kDouble)}, {{0, 8}}}},
      {"NAS MG z", {{vector(128, 130 * kDouble), vector(130, kDouble)}, {{0, 8}}}},
      {"FFT rows", {{vector(64, 512 * 16), vector(64, 16)}, {{0, 16}}}},
      {"FFT columns", {{vector(64, 16), vector(64, 512 * 16)}, {{0, 16}}}},
      {"a million of bytes", {{vector(1'000'000, 4)}, {{0, 1}}}},
  };
}

double seconds_of(uint64_t turns, auto&& operation) {
  const Clock::time_point begin = Clock::now();
  for (uint64_t i = 0; i < turns; ++i) operation();
  return std::chrono::duration<double>(Clock::now() - begin).count() / static_cast<double>(turns);
}

double at_part(std::vector<double>& list, double part) {
  std::ranges::sort(list);
  return list[static_cast<size_t>(part * static_cast<double>(list.size() - 1) + 0.5)];
}

// Whether both digests are the same.
bool compare(const Case& one, uint64_t pairs, const std::vector<uint8_t>& memory) {
  Pattern flat = one.pattern;
  if (!flatten(&flat, SIZE_MAX)) std::abort();
  const Runs runs = make_runs(runs_key(one.pattern).value()).value();
  volatile uint64_t digests[2];
  const auto operation = [&](size_t which) {
    digests[which] = which == 0 ? digest_list(flat.list, runs.bytes, memory.data())
                                : digest_loops(runs, memory.data());
  };
  const auto turns = static_cast<uint64_t>(0.001 / seconds_of(3, [&] { operation(0); })) + 1;
  std::vector<double> seconds[2], ratios;
  for (uint64_t pair = 0; pair < pairs; ++pair) {
    for (uint64_t i = 0; i < 2; ++i) {
      const size_t which = (i + pair) % 2;
      seconds[which].push_back(seconds_of(turns, [&] { operation(which); }));
    }
    ratios.push_back(seconds[1].back() / seconds[0].back());
  }
  std::printf("%-20s %8" PRIu64 " %8zu %8zu %9.1f %9.1f %6.2f  %.2f to %.2f\n", one.name,
              runs.bytes, flat.list.size(), runs.body.size() + runs.loops.size(),
              at_part(seconds[0], 0.5) * 1e6, at_part(seconds[1], 0.5) * 1e6, at_part(ratios, 0.5),
              at_part(ratios, 0.25), at_part(ratios, 0.75));
  return digests[0] == digests[1];
}

}  // namespace

int main(int argc, char** argv) {
  const uint64_t pairs = argc > 1 ? std::max(1UL, std::strtoul(argv[1], nullptr, 10)) : 25;
  const std::vector<Case> all = cases();
  int64_t high = 0;
  for (const Case& one : all)
    high = std::max(high, make_runs(runs_key(one.pattern).value()).value().high);
  std::vector<uint8_t> memory(static_cast<size_t>(high));
  for (size_t i = 0; i < memory.size(); ++i)
    memory[i] = static_cast<uint8_t>(i * 2654435761U >> 13);
  std::printf("%-20s %8s %8s %8s %9s %9s %6s  %s\n", "layout", "bytes", "runs", "entries",
              "list us", "loops us", "ratio", "quartiles");
  int wrong = 0;
  for (const Case& one : all) wrong += compare(one, pairs, memory) ? 0 : 1;
  std::printf("%zu layouts, %d wrong\n", all.size(), wrong);
  return wrong != 0;
}
