// SPDX-License-Identifier: BSD-3-Clause
#include "tools/bench/statistics.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace verity::tools::bench {

double percentile(std::vector<double> values, double q) {
  if (values.empty()) return 0;
  const double position = q * static_cast<double>(values.size() - 1);
  const auto nth = values.begin() + static_cast<std::ptrdiff_t>(std::lround(position));
  std::nth_element(values.begin(), nth, values.end());
  return *nth;
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto upper = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), upper, values.end());
  if (values.size() % 2 == 1) return *upper;
  return (*std::max_element(values.begin(), upper) + *upper) / 2;
}

double middle_mean(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t cut = values.size() / 4;
  double sum = 0;
  for (std::size_t i = cut; i < values.size() - cut; ++i) sum += values[i];
  return sum / static_cast<double>(values.size() - 2 * cut);
}

Estimate estimate_median(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  const auto count = static_cast<double>(values.size());
  // Ranks n/2 -+ 0.98 sqrt(n): the normal form of the binomial distribution of values below it.
  const double reach = values.size() < 6 ? count : 0.98 * std::sqrt(count);
  const double low = std::max(0.0, std::floor(count / 2 - reach));
  const double high = std::min(count - 1, std::ceil(count / 2 + reach));
  return {median(values), values[static_cast<std::size_t>(low)],
          values[static_cast<std::size_t>(high)]};
}

Comparison compare(const std::vector<double>& raw, const std::vector<double>& wrapped) {
  std::vector<double> differences, ratios;
  for (std::size_t i = 0; i < raw.size(); ++i) {
    differences.push_back(wrapped[i] - raw[i]);
    if (raw[i] > 0) ratios.push_back(wrapped[i] / raw[i]);
  }
  const auto spread = [](const std::vector<double>& values) {
    return percentile(values, 0.75) - percentile(values, 0.25);
  };
  return {.raw = median(raw),
          .wrapped = median(wrapped),
          .difference = estimate_median(differences),
          .ratio = estimate_median(ratios),
          .raw_spread = spread(raw),
          .wrapped_spread = spread(wrapped),
          .openings = raw.size()};
}

Verdict verdict_of(const Comparison& comparison, const std::optional<Limit>& limit) {
  if (!limit) return Verdict::kNoLimit;
  if (comparison.openings == 0) return Verdict::kUndecided;
  const bool absolute = limit->kind == Limit::Kind::kDifferenceAtMost;
  const double room =
      absolute ? limit->value : std::abs(limit->value - 1) * std::abs(comparison.raw);
  if (comparison.raw_spread > room) return Verdict::kUndecided;
  const Estimate& measured = absolute ? comparison.difference : comparison.ratio;
  if (limit->kind == Limit::Kind::kRatioAtLeast) {
    if (measured.low >= limit->value) return Verdict::kOk;
    return measured.high < limit->value ? Verdict::kOver : Verdict::kUndecided;
  }
  if (measured.high <= limit->value) return Verdict::kOk;
  return measured.low > limit->value ? Verdict::kOver : Verdict::kUndecided;
}

const char* verdict_name(Verdict verdict) {
  return std::array{"", "ok", "OVER", "undecided"}[static_cast<std::size_t>(verdict)];
}

std::string limit_text(const Limit& limit) {
  constexpr std::array kPatterns = {"<= +%.0f ns", "<= x%.2f", ">= x%.2f"};
  std::array<char, 32> text;
  std::snprintf(text.data(), text.size(), kPatterns[static_cast<std::size_t>(limit.kind)],
                limit.value);
  return text.data();
}

}  // namespace verity::tools::bench
