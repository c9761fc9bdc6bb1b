// SPDX-License-Identifier: BSD-3-Clause
#include "tools/health/top_view.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include "health/text.h"
#include "tools/health/status_text.h"

namespace verity::tools {

namespace {

using health::human_bytes;

double metric(const TopRow& row, SortBy by) noexcept {
  switch (by) {
    case SortBy::kRate: return row.bytes_per_second;
    case SortBy::kFrames: return row.frames_per_second;
    case SortBy::kVerified: return static_cast<double>(row.sum.verified);
    case SortBy::kRepaired: return static_cast<double>(row.sum.repaired);
    case SortBy::kFaults: return static_cast<double>(row.sum.faults);
    case SortBy::kUnverified: return static_cast<double>(row.sum.unverified);
    case SortBy::kName: return 0;
  }
  return 0;
}

// Of numbers that only grow.
double growth(std::uint64_t now, std::uint64_t before) noexcept {
  return now > before ? static_cast<double>(now - before) : 0;
}

std::string line(const TopRow& row) {
  std::array<char, 160> text;
  std::snprintf(text.data(), text.size(), "%s %10s %8s %9s %6s %8s %8s",
                first_column(row.name).c_str(),
                (human_bytes(static_cast<std::uint64_t>(row.bytes_per_second)) + "/s").c_str(),
                short_number(row.frames_per_second).c_str(), human_bytes(row.sum.verified).c_str(),
                short_number(static_cast<double>(row.sum.faults)).c_str(),
                short_number(static_cast<double>(row.sum.repaired)).c_str(),
                human_bytes(row.sum.unverified).c_str());
  return text.data();
}

std::string heading(const Found& found, const TopText& options) {
  health::Summary all;
  for (const FoundProcess& p : found.processes) {
    const health::Summary s = health::summary_of(p.view.counters);
    all.repaired += s.repaired;
    all.faults += s.faults;
  }
  std::string text = "ucx-verity top " + options.clock + "  " +
                     std::to_string(found.processes.size()) + " processes, " +
                     short_number(static_cast<double>(all.faults)) + " faults, " +
                     short_number(static_cast<double>(all.repaired)) + " repaired";
  if (!found.problems.empty()) text += ", " + std::to_string(found.problems.size()) + " not read";
  return text.substr(0, 80);
}

}  // namespace

std::string short_number(double number) {
  constexpr std::array kUnits = {"", "k", "M", "G", "T", "P", "E"};
  std::size_t unit = 0;
  if (number >= 99999.5) {
    while (number >= 999.5 && unit + 1 < kUnits.size()) {
      number /= 1000;
      ++unit;
    }
  }
  const int decimals = unit == 0 ? 0 : number < 9.995 ? 2 : number < 99.95 ? 1 : 0;
  std::array<char, 32> text;
  std::snprintf(text.data(), text.size(), "%.*f%s", decimals, number, kUnits[unit]);
  return text.data();
}

void TopView::add_growth(const Shares& before, const Shares& now) {
  for (const auto& [place, share] : now) {
    const auto known = before.find(place);
    const Share was = known != before.end() ? known->second : Share();
    Entry& entry = now_[place.first][place.second];
    entry.bytes += growth(share.bytes, was.bytes);
    entry.frames += growth(share.frames, was.frames);
  }
}

void TopView::update(const Found& found, std::uint64_t now_ns) {
  now_ = {};
  before_ns_ = std::exchange(now_ns_, now_ns);
  const std::map<std::string, Shares> before = std::exchange(shares_, {});
  for (const FoundProcess& p : found.processes) {
    const health::Snapshot& s = p.file.snapshot;
    const std::string file = p.folder + "/" + p.file.name;
    Shares& shares = shares_[file];
    const auto add = [&](GroupBy by, const std::string& key, const std::string& name,
                         const health::Counters& counters) {
      const auto group = static_cast<std::size_t>(by);
      Entry& entry = now_[group][key];
      entry.name = name;
      entry.counters += counters;
      Share& share = shares[{group, key}];
      share.bytes += health::summary_of(counters).verified;
      share.frames += counters.frames_verified;
    };
    add(GroupBy::kProcess, file,
        std::to_string(s.pid) + (s.rank.empty() ? "" : " r" + s.rank) + " " + s.program,
        p.view.counters);
    for (const health::PathView& path : p.view.paths) {
      add(GroupBy::kPath, path.name(), path.name(), path.counters);
      add(GroupBy::kDevice, path.device, path.device.empty() ? "(no device)" : path.device,
          path.counters);
      for (const health::PeerView& peer : path.peers) {
        add(GroupBy::kPeer, peer.host, peer.host.empty() ? "(other hosts)" : peer.host,
            peer.counters);
      }
    }
    if (const auto known = before.find(file); known != before.end())
      add_growth(known->second, shares);
  }
}

std::vector<TopRow> TopView::rows(GroupBy group, SortBy by) const {
  std::vector<TopRow> rows;
  const double seconds = static_cast<double>(now_ns_ - before_ns_) / 1e9;
  for (const auto& [key, entry] : now_[static_cast<std::size_t>(group)]) {
    TopRow row{entry.name, health::summary_of(entry.counters), entry.counters.frames_verified, 0,
               0};
    if (seconds > 0) {
      row.bytes_per_second = entry.bytes / seconds;
      row.frames_per_second = entry.frames / seconds;
    }
    rows.push_back(std::move(row));
  }
  std::stable_sort(rows.begin(), rows.end(), [by](const TopRow& a, const TopRow& b) {
    return metric(a, by) != metric(b, by) ? metric(a, by) > metric(b, by) : a.name < b.name;
  });
  return rows;
}

std::vector<std::string> render_top(const Found& found, const std::vector<TopRow>& rows,
                                    const TopText& options) {
  constexpr std::size_t kAround = 3;
  std::string title = kGroupNames[static_cast<unsigned>(options.group)];
  for (char& c : title) c = static_cast<char>(c - 'a' + 'A');
  title.resize(25, ' ');
  std::vector<std::string> lines = {
      heading(found, options), "",
      title + "       RATE FRAMES/S  VERIFIED FAULTS REPAIRED MODE OFF"};
  std::size_t most = rows.size();
  if (options.lines != 0)
    most = std::min(most, options.lines > kAround ? options.lines - kAround : 0);
  for (std::size_t i = 0; i < most; ++i) lines.push_back(line(rows[i]));
  return lines;
}

std::vector<std::string> render_keys() {
  return {"ucx-verity top: keys",
          "",
          "  1  lines for processes      b  sort by bytes per second",
          "  2  lines for paths          m  sort by messages (frames) per second",
          "  3  lines for devices        v  sort by verified",
          "  4  lines for peer hosts     r  sort by repaired",
          "                              f  sort by faults",
          "  e  show processes that      u  sort by unverified",
          "     are over, too, or not    n  sort by name",
          "",
          "  q  end                      ?  show these keys, or leave them",
          "",
          "Any other key looks at once."};
}

}  // namespace verity::tools
