// SPDX-License-Identifier: BSD-3-Clause
#include "blame/suspects.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace verity::blame {

namespace {

// Traffic, in parts of what an average host receives over one device.
class Exposure {
 public:
  explicit Exposure(const Evidence& evidence)
      : hosts_(std::max<std::size_t>(evidence.hosts.size(), 2)) {
    double bytes = 0;
    double known = 0;
    for (const auto& [name, data] : evidence.hosts) {
      bytes += static_cast<double>(data.bytes);
      known += data.bytes != 0;
    }
    const double mean = known != 0 ? bytes / known : 1;
    for (const auto& [name, data] : evidence.hosts)
      in_[name] = data.bytes != 0 ? static_cast<double>(data.bytes) / mean : 1;
    for (const auto& [name, in] : in_) all_ += in;
    for (const auto& [way, tally] : evidence.ways)
      (way.local() ? local_ : remote_).insert(way.device);
  }

  [[nodiscard]] double total() const {
    return all_ * static_cast<double>(local_.size() + remote_.size());
  }

  [[nodiscard]] double of(const Explanation& e) const {
    const bool local = local_.contains(e.device);
    const bool remote = remote_.contains(e.device);
    switch (e.part) {
      case Part::kLink: return to(e.peer);
      case Part::kPair: return to(e.peer) + to(e.host);
      case Part::kDevice: return remote * of_host(e.host, e.role) + local * in(e.host);
      case Part::kHost:
        return static_cast<double>(remote_.size()) * of_host(e.host, e.role) +
               static_cast<double>(local_.size()) * in(e.host);
    }
    return 0;
  }

 private:
  [[nodiscard]] double in(const std::string& host) const {
    const auto found = in_.find(host);
    return found != in_.end() ? found->second : 1;
  }
  [[nodiscard]] double to(const std::string& host) const {
    return in(host) / static_cast<double>(hosts_ - 1);
  }
  [[nodiscard]] double of_host(const std::string& host, Role role) const {
    const double out = (all_ - in(host)) / static_cast<double>(hosts_ - 1);
    return (role != Role::kReceives ? out : 0) + (role != Role::kSends ? in(host) : 0);
  }

  std::size_t hosts_;
  double all_ = 0;
  std::map<std::string, double> in_;
  std::set<std::string> local_;
  std::set<std::string> remote_;
};

void add_end(std::vector<Explanation>& list, const std::string& host, const std::string& device,
             Role role) {
  if (host.empty()) return;
  for (const Role r : {role, Role::kBoth}) {
    list.push_back({Part::kDevice, r, host, "", device});
    list.push_back({Part::kHost, r, host, "", ""});
  }
}

// The explanations that cover a way.
std::vector<Explanation> explanations_of(const Way& way) {
  if (way.local()) {
    return {{Part::kDevice, Role::kBoth, way.sender, "", way.device},
            {Part::kHost, Role::kBoth, way.sender, "", ""}};
  }
  std::vector<Explanation> list;
  if (!way.sender.empty() && !way.receiver.empty()) {
    list.push_back({Part::kLink, Role::kBoth, way.sender, way.receiver, way.device});
    const auto [a, b] = std::minmax(way.sender, way.receiver);
    list.push_back({Part::kPair, Role::kBoth, a, b, way.device});
  }
  add_end(list, way.sender, way.device, Role::kSends);
  add_end(list, way.receiver, way.device, Role::kReceives);
  return list;
}

double likelihood_ratio(double n, double all, double mu) {
  if (n <= mu || mu <= 0 || mu >= all) return 0;
  const double rest = all - n;
  return n * std::log(n / mu) + (rest > 0 ? rest * std::log(rest / (all - mu)) : 0);
}

bool equal(double a, double b) {
  return std::abs(a - b) <= 1e-9 * std::max(std::abs(a), std::abs(b));
}

using Ways = std::map<Way, Tally>;

std::uint64_t sum_of(const Ways& ways) {
  std::uint64_t sum = 0;
  for (const auto& [way, tally] : ways) sum += tally.faults;
  return sum;
}

std::map<Explanation, double> covered(const Ways& ways) {
  std::map<Explanation, double> counts;
  for (const auto& [way, tally] : ways) {
    for (const Explanation& e : explanations_of(way))
      counts[e] += static_cast<double>(tally.faults);
  }
  return counts;
}

Confidence confidence_of(double score, std::size_t tried, std::uint64_t faults) {
  const double beyond_chance =
      score - std::log(static_cast<double>(std::max<std::size_t>(tried, 1)));
  if (faults < 3 || beyond_chance < 2) return Confidence::kWeak;
  return beyond_chance < 6 ? Confidence::kFair : Confidence::kStrong;
}

bool cover_the_same(const Explanation& a, const Explanation& b, const Ways& ways) {
  return std::all_of(ways.begin(), ways.end(), [&](const auto& entry) {
    return a.covers(entry.first) == b.covers(entry.first);
  });
}

// The first of equals is the smallest part: the order of Explanation.
std::optional<Suspect> best_of(const Ways& ways, const Exposure& exposure) {
  const auto counts = covered(ways);
  const auto all = static_cast<double>(sum_of(ways));
  const auto score = [&](const Explanation& e, double n) {
    return likelihood_ratio(n, all, all * exposure.of(e) / exposure.total());
  };
  std::optional<Suspect> best;
  double best_count = 0;
  for (const auto& [e, n] : counts) {
    const double s = score(e, n);
    const bool ties = best && equal(s, best->score) && n == best_count;
    if (ties && cover_the_same(best->what, e, ways)) best->or_else.push_back(e);
    if (ties || (best && s <= best->score)) continue;
    best.emplace();
    best->what = e;
    best->score = s;
    best_count = n;
  }
  if (!best) return best;
  best->confidence =
      confidence_of(best->score, counts.size(), static_cast<std::uint64_t>(best_count));
  return best;
}

void take_out(Suspect& suspect, Ways& ways) {
  std::set<std::string> others;
  for (auto it = ways.begin(); it != ways.end();) {
    if (!suspect.what.covers(it->first)) {
      ++it;
      continue;
    }
    suspect.tally += it->second;
    if (it->first.in_memory()) suspect.in_memory += it->second.faults;
    if (!it->first.local()) others.insert(it->first.other_than(suspect.what.host));
    it = ways.erase(it);
  }
  others.erase("");  // unknown
  suspect.others = others.size();
}

bool is_of_host(const Suspect& s, const std::string& host) {
  return s.what.host == host && (s.what.part == Part::kDevice || s.what.part == Part::kHost);
}

// `from` has the same cause as `into`, which is the host from now on.
void unite(Suspect& into, const Suspect& from) {
  const bool within_alone = into.in_memory == into.tally.faults;
  into.what = {Part::kHost, within_alone ? from.what.role : into.what.role, into.what.host, "", ""};
  if (!within_alone && from.in_memory != from.tally.faults && from.what.role != into.what.role)
    into.what.role = Role::kBoth;
  into.or_else.clear();
  into.confidence = std::max(into.confidence, from.confidence);
  into.score += from.score;
  into.tally += from.tally;
  into.in_memory += from.in_memory;
  into.others = std::max(into.others, from.others);
}

void unite_with_memory(std::vector<Suspect>& suspects) {
  for (std::size_t i = 0; i < suspects.size(); ++i) {
    for (std::size_t j = i + 1; j < suspects.size();) {
      const bool in_memory = suspects[i].in_memory + suspects[j].in_memory != 0;
      const bool weak =
          std::max(suspects[i].confidence, suspects[j].confidence) == Confidence::kWeak;
      if (!in_memory || weak || !is_of_host(suspects[i], suspects[j].what.host) ||
          !is_of_host(suspects[j], suspects[i].what.host)) {
        ++j;
        continue;
      }
      unite(suspects[i], suspects[j]);
      suspects.erase(suspects.begin() + static_cast<std::ptrdiff_t>(j));
    }
  }
}

}  // namespace

bool Explanation::covers(const Way& way) const {
  const auto list = explanations_of(way);
  return std::find(list.begin(), list.end(), *this) != list.end();
}

std::vector<Suspect> rank(const Evidence& evidence, std::size_t most) {
  const Exposure exposure(evidence);
  Ways left = evidence.ways;
  std::vector<Suspect> suspects;
  while (!left.empty() && suspects.size() < most) {
    std::optional<Suspect> suspect = best_of(left, exposure);
    if (!suspect) break;
    take_out(*suspect, left);
    suspects.push_back(std::move(*suspect));
  }
  unite_with_memory(suspects);
  return suspects;
}

std::string describe(const Explanation& e) {
  const std::string device = e.device == kMemory ? "memory" : "device " + e.device;
  const char* const roles[] = {", sending", ", receiving", ""};
  const std::string role = roles[static_cast<std::size_t>(e.role)];
  switch (e.part) {
    case Part::kLink:
      return "link from host " + e.host + " to host " + e.peer + " over " + e.device;
    case Part::kPair:
      return "link between hosts " + e.host + " and " + e.peer + " over " + e.device +
             ", both directions";
    case Part::kDevice: return device + " of host " + e.host + role;
    case Part::kHost: return "host " + e.host + role;
  }
  return {};
}

std::string_view name_of(Confidence confidence) noexcept {
  constexpr std::string_view kNames[] = {"weak", "fair", "strong"};
  return kNames[static_cast<std::size_t>(confidence)];
}

}  // namespace verity::blame
