// SPDX-License-Identifier: BSD-3-Clause
#include "policy/quantity.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <utility>

namespace verity::policy {

namespace {

constexpr std::string_view kPrefix = "UCX_VERITY_";

constexpr std::pair<std::string_view, Kind> kKinds[] = {
    {"MODE", Kind::kMode},         {"SEGMENT_SIZE", Kind::kSize}, {"WINDOW", Kind::kCount},
    {"WINDOW_BYTES", Kind::kSize}, {"CHUNK", Kind::kSize},        {"THREADS", Kind::kCount},
    {"MAX_REPAIRS", Kind::kCount}, {"LINGER", Kind::kTime},       {"FAULT_LOG_LIMIT", Kind::kCount},
    {"HEALTH_KEEP", Kind::kTime},  {"ACK_POLLS", Kind::kCount},   {"COPY_AFTER", Kind::kTime},
    {"PROBE_AFTER", Kind::kTime},  {"POOL_LIMIT", Kind::kSize},   {"HELD_LIMIT", Kind::kSize},
};

constexpr std::pair<std::string_view, double> kSizeUnits[] = {
    {"", 1},         {"b", 1},       {"k", 1 << 10},  {"kb", 1 << 10}, {"m", 1 << 20},
    {"mb", 1 << 20}, {"g", 1 << 30}, {"gb", 1 << 30}, {"t", 0x1p40},   {"tb", 0x1p40}};
constexpr std::pair<std::string_view, double> kTimeUnits[] = {
    {"", 1}, {"s", 1}, {"m", 60}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}};
constexpr std::pair<std::string_view, double> kNoUnits[] = {{"", 1}};
constexpr std::pair<std::string_view, double> kModes[] = {
    {"off", 0}, {"observe", 1}, {"verify", 2}};

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return out;
}

template <std::size_t count>
std::optional<double> find(const std::pair<std::string_view, double> (&table)[count],
                           std::string_view name) {
  const auto at = std::find_if(std::begin(table), std::end(table),
                               [&](const auto& entry) { return entry.first == name; });
  return at == std::end(table) ? std::nullopt : std::optional(at->second);
}

// A number and its unit. Whole numbers have no point and no exponent.
template <std::size_t count>
std::optional<double> scaled(std::string_view text, bool whole,
                             const std::pair<std::string_view, double> (&units)[count]) {
  const std::size_t digits = text.find_first_not_of(whole ? "0123456789" : "0123456789.");
  const std::string_view number = text.substr(0, digits);
  double value = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (error != std::errc() || end != number.data() + number.size()) return std::nullopt;
  const auto unit = find(units, text.substr(number.size()));
  return unit ? std::optional(value * *unit) : std::nullopt;
}

}  // namespace

std::optional<Kind> kind_of(std::string_view name) noexcept {
  if (!name.starts_with(kPrefix)) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  for (const auto& [variable, kind] : kKinds) {
    if (variable == name) return kind;
  }
  return std::nullopt;
}

std::optional<double> quantity(Kind kind, std::string_view value) {
  const std::string text = lower(value);
  if (kind == Kind::kMode) return find(kModes, text);
  if (kind == Kind::kTime) return scaled(text, false, kTimeUnits);
  if (text == "inf") return std::numeric_limits<double>::infinity();
  return kind == Kind::kCount ? scaled(text, true, kNoUnits) : scaled(text, true, kSizeUnits);
}

const char* example_of(Kind kind) noexcept {
  switch (kind) {
    case Kind::kSize: return "a size, such as 64k";
    case Kind::kCount: return "a number, such as 16";
    case Kind::kTime: return "a time, such as 20ms";
    case Kind::kMode: return "off, observe or verify";
  }
  return "";
}

std::string names_with_order() {
  std::string text;
  for (const auto& [variable, kind] : kKinds)
    text.append(text.empty() ? "" : ", ").append(variable);
  return text;
}

}  // namespace verity::policy
