// SPDX-License-Identifier: BSD-3-Clause
#include "tools/bench/measure.h"

#include <algorithm>

namespace verity::tools::bench {

namespace {

constexpr std::size_t kLeastBlocks = 7;
constexpr std::size_t kMostBlocks = 2000;
// Enough for a percentile of 99.9, and bounded.
constexpr std::size_t kMostSamples = 400'000;

class Run {
 public:
  Run(PeerProcess& peer, const TickScale& scale, const Batch& batch)
      : peer_(peer), scale_(scale), batch_(batch) {}

  // The batch's figure: the typical latency in ns, or messages per second.
  double once(int index) {
    peer_.run(index, batch_, &ticks_);
    if (batch_.test == Test::kRate) {
      const double ns = scale_.ns(ticks_.at(0));
      return ns > 0 ? batch_.count * 1e9 / ns : 0;
    }
    // A ping-pong's round trip has two messages, a loopback's one.
    const double trips = peer_.loops_back() ? 1 : 2;
    latencies_.clear();
    for (const std::uint64_t interval : ticks_) latencies_.push_back(scale_.ns(interval) / trips);
    std::vector<double>& kept = samples_[index];
    const std::size_t room = kMostSamples - std::min(kMostSamples, kept.size());
    kept.insert(
        kept.end(), latencies_.begin(),
        latencies_.begin() + static_cast<std::ptrdiff_t>(std::min(room, latencies_.size())));
    return middle_mean(latencies_);
  }

  Block block() {
    Block result;
    result.raw_first = once(0);
    result.wrapped_first = once(1);
    result.wrapped_second = once(1);
    result.raw_second = once(0);
    return result;
  }

  // The latencies since the last call join those that count, or are forgotten.
  void keep_samples(bool keep) {
    for (const int index : {0, 1}) {
      if (keep) counted_[index] = samples_[index].size();
      samples_[index].resize(counted_[index]);
    }
  }
  [[nodiscard]] double p999(int index) const { return percentile(samples_[index], 0.999); }

 private:
  PeerProcess& peer_;
  const TickScale& scale_;
  Batch batch_;
  std::vector<double> samples_[2];  // ns of each message, for latency
  std::size_t counted_[2] = {0, 0};
  std::vector<std::uint64_t> ticks_;
  std::vector<double> latencies_;
};

// A first, short batch on either stack: connections are made, and the time of a message is known.
double ns_per_message(PeerProcess& peer, const TickScale& scale, Batch batch) {
  batch.warm_up = 20;
  batch.count = 20;
  std::vector<std::uint64_t> ticks;
  double ns = 0;
  for (const int index : {1, 0}) {
    for (int repeat = 0; repeat < 2; ++repeat) {
      const std::uint64_t start = monotonic_ns();
      peer.run(index, batch, &ticks);
      ns = static_cast<double>(monotonic_ns() - start) / (batch.warm_up + batch.count);
    }
  }
  if (batch.test == Test::kRate) return scale.ns(ticks.at(0)) / batch.count;
  std::vector<double> trips;
  for (const std::uint64_t interval : ticks) trips.push_back(scale.ns(interval));
  return trips.empty() ? ns : median(trips);
}

// Messages per second become what people compare: millions of them, or megabytes.
void scale_rate(Block* block, std::size_t size) {
  const double factor = counts_bytes(size) ? static_cast<double>(size) / 1e6 : 1e-6;
  for (double* value :
       {&block->raw_first, &block->wrapped_first, &block->wrapped_second, &block->raw_second}) {
    *value *= factor;
  }
}

// Blocks until the time is over. Those that the system disturbed count only where others are too
// few.
void run_blocks(PeerProcess& peer, Run& run, const Request& request, double seconds,
                Result* result) {
  std::vector<Block> clean, disturbed;
  const std::uint64_t start = monotonic_ns();
  const auto elapsed = [&] { return static_cast<double>(monotonic_ns() - start) / 1e9; };
  const auto wants_more = [&] {
    const std::size_t all = clean.size() + disturbed.size();
    if (all < kLeastBlocks) return true;
    if (all >= kMostBlocks) return false;
    return elapsed() < (clean.size() < kLeastBlocks ? 4 * seconds : seconds);
  };
  while (wants_more()) {
    const std::uint64_t before = peer.preemptions();
    Block block = run.block();
    if (request.test == Test::kRate) scale_rate(&block, request.size);
    const bool undisturbed = peer.preemptions() == before;
    (undisturbed ? clean : disturbed).push_back(block);
    // The tail is that of undisturbed blocks, as long as there is one.
    run.keep_samples(undisturbed || clean.empty());
  }
  result->disturbed = disturbed.size();
  result->too_disturbed = clean.size() < kLeastBlocks;
  if (result->too_disturbed) clean.insert(clean.end(), disturbed.begin(), disturbed.end());
  result->comparison = compare(clean);
}

}  // namespace

bool counts_bytes(std::size_t size) { return size >= 1024; }

unsigned batch_length(double ns) {
  const double one = std::max(ns, 1.0);
  double count = 1e6 / one;
  if (count < 1000 && 1000 * one < 30e6) count = 1000;
  return static_cast<unsigned>(std::clamp(count, 20.0, 20000.0));
}

std::optional<Limit> limit_for(const std::string& level, const std::string& transport, Test test,
                               std::size_t size) {
  if (level != "ucp") return std::nullopt;
  using Kind = Limit::Kind;
  if (test == Test::kLatency) {
    if (transport == "posix" && size == 8) return Limit{Kind::kDifferenceAtMost, 45};
    if (transport == "posix" && size == 4096) return Limit{Kind::kDifferenceAtMost, 150};
    if (transport == "self" && size == 8) return Limit{Kind::kDifferenceAtMost, 40};
    if (transport == "tcp") return Limit{Kind::kRatioAtMost, 1.03};
    return std::nullopt;
  }
  if (transport == "posix" && size == 8) return Limit{Kind::kRatioAtLeast, 0.55};
  if (transport == "posix" && size == 1U << 20) return Limit{Kind::kRatioAtLeast, 0.72};
  if (transport == "tcp" && size >= 65536) return Limit{Kind::kRatioAtLeast, 0.97};
  return std::nullopt;
}

void conclude(Result* result, Test test, bool null_test) {
  if (test == Test::kLatency) {
    result->test = "latency";
    result->unit = "ns";
  } else if (test == Test::kPut || test == Test::kGet) {
    result->test = test == Test::kPut ? "put" : "get";
    result->unit = "ns";
  } else {
    result->test = counts_bytes(result->size) ? "bandwidth" : "rate";
    result->unit = counts_bytes(result->size) ? "MB/s" : "Mmsg/s";
  }
  if (!null_test) result->limit = limit_for(result->level, result->transport, test, result->size);
  result->verdict = verdict_of(result->comparison, result->limit);
  if (result->too_disturbed && result->limit) result->verdict = Verdict::kUndecided;
}

Result measure(PeerProcess& peer, const TickScale& scale, const Request& request, double seconds) {
  Result result;
  result.level = request.level == Level::kUct ? "uct" : "ucp";
  result.transport = request.transport;
  result.size = request.size;
  Batch batch{.test = request.test, .send = Send::kAny, .size = request.size};
  if (request.level == Level::kUct) {
    batch.send = common_send(peer.capability(0), peer.capability(1), request.size);
    result.send = send_name(batch.send);
    if (batch.send == Send::kAny) {
      result.left_out = true;
      return result;
    }
  }
  batch.count = batch_length(ns_per_message(peer, scale, batch));
  batch.warm_up = std::max(10U, batch.count / 10);
  Run run(peer, scale, batch);
  run_blocks(peer, run, request, seconds, &result);
  result.raw_p999 = run.p999(0);
  result.wrapped_p999 = run.p999(1);
  result.messages = std::uint64_t{batch.count} * 2 * result.comparison.blocks;
  return result;
}

}  // namespace verity::tools::bench
