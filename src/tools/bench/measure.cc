// SPDX-License-Identifier: BSD-3-Clause
#include "tools/bench/measure.h"

#include <algorithm>

namespace verity::tools::bench {

namespace {

// Enough for a percentile of 99.9, and bounded.
constexpr std::size_t kMostSamples = 400'000;

// What one variant showed in one opening.
struct Samples {
  std::vector<double> values;     // a batch each
  std::vector<double> latencies;  // single ones
};

// Rounds of batches, those with and those without other work of the system.
struct Rounds {
  std::size_t count = 0;
  std::vector<Samples> variants;
};

// The pairs of one opening, and what they measured.
class Opening {
 public:
  Opening(const Plan& plan, const TickScale& scale, const Traffic& traffic)
      : scale_(scale), traffic_(traffic) {
    for (const Variant& variant : plan.variants) {
      pairs_.push_back(std::make_unique<Pair>(variant, traffic, plan.starts));
    }
    for (Rounds* rounds : {&clean, &disturbed}) rounds->variants.resize(pairs_.size());
  }

  // kAny where they have no such messages.
  Send connect() {
    std::vector<Capability> all;
    for (const auto& pair : pairs_) all.push_back(pair->capability());
    const Send how = common_send(all, traffic_.size);
    if (how == Send::kAny) return how;
    for (const auto& pair : pairs_) pair->connect(how);
    return how;
  }

  // Until the time is over; longer as long as every round was disturbed.
  void run(double seconds) {
    choose_batch();
    const std::uint64_t start = monotonic_ns();
    const auto elapsed = [&] { return static_cast<double>(monotonic_ns() - start) / 1e9; };
    do { round(); } while (elapsed() < (clean.count == 0 ? 4 * seconds : seconds));
    for (const auto& pair : pairs_) pair->close();
  }

  Rounds clean;
  Rounds disturbed;
  Batch batch{.warm_up = 20, .count = 20};

 private:
  // First, short batches: connections are made, and the time of a message is known.
  void choose_batch() {
    double ns = 0;
    for (int repeat = 0; repeat < 2; ++repeat) {
      for (const auto& pair : pairs_) {
        const Timing timing = pair->run(batch);
        std::vector<double> times;
        for (const std::uint64_t interval : timing.ticks) times.push_back(ns_of(timing, interval));
        ns = traffic_.test == Test::kRate ? times.at(0) / batch.count : median(times);
      }
    }
    batch.count = batch_length(ns);
    batch.warm_up = std::max(10U, batch.count / 10);
  }

  // A B B A: what drifts evenly through it cancels.
  void round() {
    std::vector<std::size_t> order;
    for (std::size_t i = 0, last = 2 * pairs_.size() - 1; i <= last; ++i) {
      order.push_back(std::min(i, last - i));
    }
    std::vector<Timing> timings;
    bool quiet = true;
    for (const std::size_t variant : order) {
      timings.push_back(pairs_[variant]->run(batch));
      quiet = quiet && !timings.back().disturbed;
    }
    Rounds& rounds = quiet ? clean : disturbed;
    ++rounds.count;
    for (std::size_t i = 0; i < order.size(); ++i) add(timings[i], &rounds.variants[order[i]]);
  }

  [[nodiscard]] double ns_of(const Timing& timing, std::uint64_t interval) const {
    return timing.in_ns ? static_cast<double>(std::max<std::uint64_t>(interval, 1))
                        : scale_.ns(interval);
  }

  void add(const Timing& timing, Samples* samples) const {
    if (traffic_.test == Test::kRate) {
      samples->values.push_back(batch.count * 1e9 / ns_of(timing, timing.ticks.at(0)));
      return;
    }
    // A ping-pong's round trip has two messages, a loopback's one.
    std::vector<double> latencies;
    for (const std::uint64_t interval : timing.ticks) {
      latencies.push_back(ns_of(timing, interval) / (traffic_.loopback() ? 1 : 2));
    }
    std::vector<double>& kept = samples->latencies;
    if (kept.size() < kMostSamples) kept.insert(kept.end(), latencies.begin(), latencies.end());
    samples->values.push_back(middle_mean(std::move(latencies)));
  }

  const TickScale& scale_;
  const Traffic& traffic_;
  std::vector<std::unique_ptr<Pair>> pairs_;
};

}  // namespace

unsigned batch_length(double ns) {
  const double one = std::max(ns, 1.0);
  double count = 1e6 / one;
  if (count < 1000 && 1000 * one < 30e6) count = 1000;
  return static_cast<unsigned>(std::clamp(count, 20.0, 20000.0));
}

std::optional<Result> measure(const Plan& plan, const TickScale& scale, const Traffic& traffic) {
  Result result;
  result.traffic = traffic;
  std::vector<Series> series(plan.variants.size());
  unsigned unclean = 0;
  for (unsigned i = 0; i < plan.openings; ++i) {
    Opening opening(plan, scale, traffic);
    const Send how = opening.connect();
    if (how == Send::kAny) return std::nullopt;
    if (traffic.level == Level::kUct) result.send = name_of(how);
    opening.run(plan.seconds / plan.openings);
    const bool quiet = opening.clean.count != 0;
    const Rounds& rounds = quiet ? opening.clean : opening.disturbed;
    for (std::size_t variant = 0; variant < series.size(); ++variant) {
      series[variant].values.push_back(middle_mean(rounds.variants[variant].values));
      series[variant].p999.push_back(percentile(rounds.variants[variant].latencies, 0.999));
    }
    result.blocks += rounds.count;
    result.disturbed += opening.disturbed.count;
    result.messages += std::uint64_t{opening.batch.count} * 2 * rounds.count;
    unclean += quiet ? 0 : 1;
  }
  result.too_disturbed = unclean > plan.openings / 2;
  conclude(&result, std::move(series), plan.null_test);
  return result;
}

}  // namespace verity::tools::bench
