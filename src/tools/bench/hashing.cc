// SPDX-License-Identifier: BSD-3-Clause
#include "tools/bench/hashing.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <vector>

#include "merkle/hash.h"

namespace verity::tools::bench {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kSegment = 8192;  // the plugin's default
constexpr std::size_t kFrame = 16384;   // of a long message over shared memory
// So many that a CPU which the host takes away for milliseconds leaves some alone.
constexpr int kBatches = 60;
constexpr double kBatchNs = 500'000;

// The result of each call goes into what is returned, so that none can be left out.
std::uint64_t hash_all(const std::vector<std::uint8_t>& bytes) {
  std::uint64_t digests = 0;
  for (std::size_t at = 0; at < bytes.size(); at += kSegment)
    digests ^= merkle::hash(bytes.data() + at, std::min(kSegment, bytes.size() - at));
  return digests;
}

double time_ns(const std::vector<std::uint8_t>& bytes, std::size_t calls) {
  std::uint64_t digests = 0;
  const auto start = Clock::now();
  for (std::size_t i = 0; i < calls; ++i) {
    digests += hash_all(bytes);
    asm volatile("" : "+r"(digests) : : "memory");  // the bytes may have changed
  }
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
}

// Passes over a message that nothing else goes on beside.
double passes(const Traffic& traffic) {
  const bool both_ways = traffic.test == Test::kAllreduce || traffic.test == Test::kAlltoall;
  if (both_ways || traffic.size <= kFrame) return 2;
  return 1 + static_cast<double>(kFrame) / static_cast<double>(traffic.size);
}

}  // namespace

double hash_ns(std::size_t size) {
  if (size == 0) return 0;
  const std::vector<std::uint8_t> bytes(size, 0x5a);
  std::size_t calls = 1;
  while (time_ns(bytes, calls) < kBatchNs && calls < (std::size_t{1} << 30)) calls *= 2;
  double best = time_ns(bytes, calls);
  for (int i = 1; i < kBatches; ++i) best = std::min(best, time_ns(bytes, calls));
  return best / static_cast<double>(calls);
}

double with_hash(const Result& result) {
  const double raw = result.comparison.raw;
  if (result.hash_ns <= 0 || raw <= 0 || result.ranks != 2) return 0;
  const std::size_t size = result.traffic.size;
  if (result.is_time()) return raw + passes(result.traffic) * result.hash_ns;
  const double ns = counts_bytes(size) ? static_cast<double>(size) * 1e3 / raw : 1e3 / raw;
  const double at_a_time = result.traffic.transport == "self" ? 2 : 1;  // sender is receiver
  return raw * ns / (ns + at_a_time * result.hash_ns);
}

}  // namespace verity::tools::bench
