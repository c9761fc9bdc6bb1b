// SPDX-License-Identifier: BSD-3-Clause
#include "tools/export/ledger.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "blame/evidence.h"

namespace verity::tools {
namespace {

constexpr std::uint64_t kHour = 3600;
// How long a clock may be wrong, as at the start of a machine without a working one.
constexpr std::uint64_t kWrong = 24 * kHour;

// A path's sum; too many different names are one path.
health::Counters& sum_of(health::PathSums& paths, const health::PathKey& key) {
  const auto found = paths.find(key);
  if (found != paths.end()) return found->second;
  return paths.size() < Ledger::kMostSums ? paths[key]
                                          : paths[{"other", "other", {}, key.injected}];
}

void add_rows(health::PathSums& paths, Troubles& troubles, const health::Snapshot& snapshot,
              std::uint32_t user) {
  for (const health::SnapshotRow& row : snapshot.rows) {
    sum_of(paths, {row.transport, row.device, {}, row.injected}) += row.counters;
    const bool own = !row.peer.empty() && row.peer == snapshot.peer_name;
    const health::PathFaults trouble = health::path_faults(row.counters);
    if (trouble.any())
      troubles.place({row.transport, row.device, own ? health::kThisHost : row.peer, row.injected,
                      user}) += trouble;
  }
}

// What came since `before`. Where a number shrank, files went, and those that are left have been
// seen.
health::PathFaults since(const health::PathFaults& before, const health::PathFaults& now) noexcept {
  const auto more = [&](std::uint64_t health::PathFaults::*field) {
    return now.*field - std::min(before.*field, now.*field);
  };
  using Faults = health::PathFaults;
  return {.bytes = more(&Faults::bytes),
          .in = more(&Faults::in),
          .out = more(&Faults::out),
          .memory = more(&Faults::memory)};
}

health::PathFaults most_of(const health::PathFaults& a, const health::PathFaults& b) noexcept {
  return {.bytes = std::max(a.bytes, b.bytes),
          .in = std::max(a.in, b.in),
          .out = std::max(a.out, b.out),
          .memory = std::max(a.memory, b.memory)};
}

health::PathFaults least_of(const health::PathFaults& a, const health::PathFaults& b) noexcept {
  return {.bytes = std::min(a.bytes, b.bytes),
          .in = std::min(a.in, b.in),
          .out = std::min(a.out, b.out),
          .memory = std::min(a.memory, b.memory)};
}

void add_all(Troubles& to, const Troubles& from) {
  for (const auto& [key, trouble] : from) to.place(key) += trouble;
}

// Those of one hour.
void add_compared(Troubles& to, const Troubles& hour) {
  const bool has_faults = std::any_of(hour.begin(), hour.end(), [](const auto& path) {
    return path.second.faults() != 0 && !path.first.injected;
  });
  for (const auto& [key, trouble] : hour) {
    health::PathFaults& sum = to.place(key) += trouble;
    if (has_faults) sum.compared += trouble.bytes;
  }
}

health::PathKey without_host(const health::PathKey& key) {
  return {key.transport, key.device, {}, key.injected, key.user};
}

constexpr std::uint64_t health::PathFaults::*kFaultFields[] = {
    &health::PathFaults::bytes, &health::PathFaults::in, &health::PathFaults::out,
    &health::PathFaults::memory};

// What of `fresh` is beyond what all hosts of a path together have grown by. Where there is no
// place for all, those that have one change, and what was known of them moves.
health::FaultsByPath moved(const Ledger& ledger, const Totals& totals, const Troubles& fresh) {
  const auto is_full = [&](std::uint32_t user) {
    return totals.trouble.is_full(user) || ledger.seen.is_full(user);
  };
  const auto sums_of = [&](const Troubles& troubles) {
    health::FaultsByPath sums;
    for (const auto& [key, trouble] : troubles) {
      if (is_full(key.user)) sums[without_host(key)] += trouble;
    }
    return sums;
  };
  health::FaultsByPath before = sums_of(ledger.seen), now = sums_of(totals.trouble);
  health::FaultsByPath sums = sums_of(fresh);
  for (auto& [key, sum] : sums) sum = since(since(before[key], now[key]), sum);
  return sums;
}

// Takes that out of the paths that the last run `knew` by their hosts, or of the others.
void take_out(health::FaultsByPath& moved, const Ledger& ledger, bool knew, Troubles& fresh) {
  for (auto& [key, more] : fresh) {
    const auto sum = moved.find(without_host(key));
    if (sum == moved.end() || (!key.peer.empty() && ledger.seen.contains(key)) != knew) continue;
    for (const auto field : kFaultFields) {
      const std::uint64_t less = std::min(sum->second.*field, more.*field);
      sum->second.*field -= less;
      more.*field -= less;
    }
  }
}

// What `totals` has that the last run did not know of.
Troubles news(const Ledger& ledger, const Totals& totals) {
  Troubles fresh;
  for (const auto& [key, trouble] : totals.trouble) {
    const auto before = ledger.seen.find(key);
    const health::PathFaults more =
        before == ledger.seen.end() ? trouble : since(before->second, trouble);
    if (more.any()) fresh[key] = more;
  }
  health::FaultsByPath old = moved(ledger, totals, fresh);
  for (const bool knew : {false, true}) take_out(old, ledger, knew, fresh);
  std::erase_if(fresh, [](const auto& path) { return !path.second.any(); });
  return fresh;
}

std::size_t paths_in(const std::map<std::uint64_t, Troubles>& hours) noexcept {
  std::size_t count = 0;
  for (const auto& hour : hours) count += hour.second.size();
  return count;
}

// Without the hosts of those that `goes` is true of.
template <typename Predicate>
Troubles without_hosts(const Troubles& troubles, Predicate goes) {
  Troubles bare;
  for (const auto& [key, trouble] : troubles) {
    bare.place(goes(key, trouble)
                   ? health::PathKey{key.transport, key.device, {}, key.injected, key.user}
                   : key) += trouble;
  }
  return bare;
}

// The ledger's sums are for ever: once they had all places, a new path would have none. Those of
// processes that ended lose their hosts in time; the hours have them.
void bound_ended(Ledger& ledger, const Totals& totals) {
  std::map<std::uint32_t, std::size_t> of_user;
  bool too_many = ledger.ended_trouble.size() > Ledger::kMostEnded;
  for (const auto& path : ledger.ended_trouble)
    too_many |= ++of_user[path.first.user] > Ledger::kMostEndedOfUser;
  if (!too_many) return;
  const auto is_over = [&](const health::PathKey& key, const auto&) {
    const auto total = totals.trouble.find(key);
    const auto ended = ledger.ended_trouble.find(key);
    return total != totals.trouble.end() && ended != ledger.ended_trouble.end() &&
           total->second == ended->second;
  };
  Troubles seen = without_hosts(ledger.seen, is_over);
  ledger.ended_trouble = without_hosts(ledger.ended_trouble, is_over);
  ledger.seen = std::move(seen);
}

// The oldest hours lose hosts until there are few enough paths: first those that no fault is known
// of, in any hour, then all. The newest hour keeps its own.
void bound_hours(std::map<std::uint64_t, Troubles>& hours) {
  std::size_t count = paths_in(hours);
  if (count <= Ledger::kMostHourPaths) return;
  std::set<health::PathKey> damaged;
  for (const auto& hour : hours) {
    for (const auto& [key, trouble] : hour.second) {
      if (trouble.faults() != 0) damaged.insert(key);
    }
  }
  for (const bool all : {false, true}) {
    for (auto hour = hours.begin(); std::next(hour) != hours.end(); ++hour) {
      if (count <= Ledger::kMostHourPaths) return;
      count -= hour->second.size();
      hour->second = without_hosts(hour->second, [&](const health::PathKey& key, const auto&) {
        return all || !damaged.contains(key);
      });
      count += hour->second.size();
    }
  }
}

// Where no run was for long, as far as the clock knows, it may be ahead now: no hour is old before
// it has stayed so for a day.
bool may_be_ahead(Ledger& ledger, std::uint64_t now) noexcept {
  std::uint64_t& since = ledger.ahead_since;
  const bool was_ahead = since != 0;
  if (since > now || now - since >= kWrong) since = 0;
  if (!was_ahead && ledger.written != 0 && now > ledger.written + kWrong) since = now;
  return since != 0;
}

// Where the clock has been set back, it may be wrong now: hours to come stay as they are until it
// is set right. Or it was wrong before: they would stay for ever, and belong to this hour after a
// day.
void keep_hours(Ledger& ledger, std::uint64_t now) {
  std::map<std::uint64_t, Troubles>& hours = ledger.hours;
  const std::uint64_t hour = now / kHour;
  const auto are_to_come = [&] { return !hours.empty() && hours.rbegin()->first > hour; };
  const bool is_right_again = ledger.behind_since != 0 && !are_to_come();
  if (ledger.behind_since == 0 || ledger.behind_since > now) ledger.behind_since = now;
  while (are_to_come() && now - ledger.behind_since >= kWrong) {
    const auto to_come = hours.extract(std::prev(hours.end()));
    add_all(hours[hour], to_come.mapped());
  }
  const bool keeps_all = !is_right_again && may_be_ahead(ledger, now);
  while (!keeps_all && !hours.empty() && hours.begin()->first + Ledger::kHours < hour) {
    const auto old = hours.extract(hours.begin());
    // Nor is what was seen meanwhile as old as it seems.
    if (is_right_again && old.key() <= ledger.written / kHour) add_all(hours[hour], old.mapped());
  }
  if (!are_to_come()) ledger.behind_since = 0;
}

}  // namespace

health::PathFaults& Troubles::place(const health::PathKey& key) {
  const auto found = find(key);
  if (found != end()) return found->second;
  std::size_t& of_user = of_user_[key.user];
  if (size() >= Ledger::kMostPaths || of_user >= Ledger::kMostPathsOfUser) {
    const health::PathKey bare{key.transport, key.device, {}, key.injected, key.user};
    const auto known = find(bare);
    if (known != end()) return known->second;
    // Transports and devices are names in a user's file, too: there may be any number.
    std::size_t& bare_ones = bare_of_user_[key.user];
    if (bare_ones >= Ledger::kMostSums)
      return (*this)[{"other", "other", {}, key.injected, key.user}];
    ++bare_ones;
    return (*this)[bare];
  }
  ++of_user;
  return (*this)[key];
}

bool Troubles::is_full(std::uint32_t user) const {
  const auto of_user = of_user_.find(user);
  return size() >= Ledger::kMostPaths ||
         (of_user != of_user_.end() && of_user->second >= Ledger::kMostPathsOfUser);
}

void add(Totals& totals, const health::Snapshot& snapshot, std::uint32_t user) {
  add_rows(totals.paths, totals.trouble, snapshot, user);
}

Totals totals_of(const Ledger& ledger) { return {ledger.ended, ledger.ended_trouble}; }

void take(Ledger& ledger, const std::string& name, const health::Snapshot& snapshot,
          std::uint32_t user) {
  add_rows(ledger.ended, ledger.ended_trouble, snapshot, user);
  ledger.taken.insert(name);
}

void observe(Ledger& ledger, const Totals& totals, std::uint64_t now_seconds, bool complete,
             const Totals& doubtful) {
  const std::uint64_t hour = now_seconds / kHour;
  if (const Troubles fresh = news(ledger, totals); !fresh.empty())
    add_all(ledger.hours[hour], fresh);
  if (complete) {
    Troubles seen = totals.trouble;
    for (const auto& [key, trouble] : doubtful.trouble) {
      const auto before = ledger.seen.find(key);
      if (before == ledger.seen.end()) continue;
      health::PathFaults& sum = seen.place(key);
      health::PathFaults both = sum;
      sum = most_of(sum, least_of(before->second, both += trouble));
    }
    ledger.seen = std::move(seen);
    bound_ended(ledger, totals);
  } else {
    for (const auto& [key, trouble] : totals.trouble) {
      health::PathFaults& seen = ledger.seen.place(key);
      seen = most_of(seen, trouble);
    }
  }
  keep_hours(ledger, now_seconds);
  bound_hours(ledger.hours);
}

Owner owner_of(const Ledger& ledger, const Machine& machine) {
  if (ledger.host.empty() || ledger.host == machine.host || ledger.boot == machine.boot)
    return Owner::kThisHost;
  return ledger.written + kHour > machine.now ? Owner::kOtherHost : Owner::kFormerHost;
}

void notice_boot(Ledger& ledger, const std::string& boot, const Totals& still_there) {
  if (!ledger.boot.empty() && ledger.boot != boot) {
    Troubles seen;
    for (const auto& [key, trouble] : still_there.trouble) {
      const auto before = ledger.seen.find(key);
      if (before != ledger.seen.end()) seen.place(key) = least_of(before->second, trouble);
    }
    ledger.seen = std::move(seen);
    std::erase_if(ledger.seen_paths,
                  [&](const auto& path) { return !still_there.paths.contains(path.first); });
    for (auto& [key, counters] : ledger.seen_paths) {
      const health::Counters& left = still_there.paths.at(key);
      for (const health::CounterInfo& info : health::kCounterInfo)
        counters.*info.field = std::min(counters.*info.field, left.*info.field);
    }
  }
  ledger.boot = boot;
}

void grow(Ledger& ledger, const Totals& totals, bool complete, const Totals& doubtful) {
  health::PathSums now;
  // A path that is added to others once always is: its part of their sum is not known.
  for (const auto& [key, counters] : totals.paths) {
    health::PathKey place = key;
    if (!ledger.counted.contains(key) && ledger.counted.size() >= Ledger::kMostSums)
      place = {"other", "other", {}, key.injected};
    (void)ledger.counted[place];
    now[place] += counters;
  }
  for (auto& [key, counters] : now) {
    const health::Counters before = ledger.seen_paths[key];
    health::Counters& sum = ledger.counted[key];
    for (const health::CounterInfo& info : health::kCounterInfo) {
      const auto field = info.field;
      sum.*field += counters.*field - std::min(before.*field, counters.*field);
      if (!complete) counters.*field = std::max(before.*field, counters.*field);
    }
  }
  if (complete) {
    for (const auto& [key, counters] : doubtful.paths) {
      const auto before = ledger.seen_paths.find(key);
      if (before == ledger.seen_paths.end()) continue;
      health::Counters& sum = now[key];
      for (const health::CounterInfo& info : health::kCounterInfo) {
        const auto field = info.field;
        const std::uint64_t both = sum.*field + counters.*field;
        sum.*field = std::max(sum.*field, std::min(before->second.*field, both));
      }
    }
    ledger.seen_paths = std::move(now);
  } else {
    for (const auto& [key, counters] : now) ledger.seen_paths[key] = counters;
  }
}

// Newest first: what comes when there are too many paths loses its host.
health::FaultsByPath recent(const Ledger& ledger, const Totals& totals, std::uint64_t now_seconds,
                            std::uint64_t hours) {
  Troubles sum;
  if (hours == 0) {
    add_compared(sum, totals.trouble);
    return sum;
  }
  const std::uint64_t now = now_seconds / kHour;
  Troubles newest = news(ledger, totals);
  // The clock may have been set back since: the newest of the hours to come counts as this one.
  auto hour = ledger.hours.rbegin();
  const std::uint64_t last = hour != ledger.hours.rend() ? std::max(hour->first, now) : now;
  for (; hour != ledger.hours.rend() && hour->first >= now; ++hour) {
    if (hour->first == now || hour->first + hours >= last) add_all(newest, hour->second);
  }
  add_compared(sum, newest);
  // The oldest one began before that time, perhaps: its faults may be younger.
  for (; hour != ledger.hours.rend() && hour->first + hours >= now; ++hour)
    add_compared(sum, hour->second);
  return sum;
}

std::uint64_t leave_out_injected(health::FaultsByPath& paths) {
  health::FaultsByPath injected;
  std::erase_if(
      paths, [&](const auto& path) { return path.first.injected && injected.insert(path).second; });
  return blame::evidence_of(injected).faults;
}

void leave_out_injected(health::PathSums& paths) {
  std::erase_if(paths, [](const auto& path) { return path.first.injected; });
}

}  // namespace verity::tools
