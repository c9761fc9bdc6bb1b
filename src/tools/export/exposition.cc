// SPDX-License-Identifier: BSD-3-Clause
#include "tools/export/exposition.h"

#include <algorithm>
#include <set>

namespace verity::tools {
namespace {

// One metric: its help and type, then its samples.
class Text {
 public:
  void metric(std::string_view name, std::string_view type, std::string_view help) {
    name_ = name;
    out_ += "# HELP ucx_verity_" + name_ + " " + std::string(help) + "\n# TYPE ucx_verity_" +
            name_ + " " + std::string(type) + "\n";
  }
  // `labels` as 'a="b",c="d"', or empty.
  void sample(const std::string& labels, const std::string& value) {
    out_ += "ucx_verity_" + name_ + (labels.empty() ? "" : "{" + labels + "}") + " " + value + "\n";
  }
  void sample(const std::string& labels, std::uint64_t value) {
    sample(labels, std::to_string(value));
  }
  void single(std::string_view name, std::string_view type, std::string_view help,
              std::uint64_t value) {
    metric(name, type, help);
    sample({}, value);
  }
  [[nodiscard]] std::string take() { return std::move(out_); }

 private:
  std::string name_;
  std::string out_;
};

std::string label(std::string_view name, std::string_view value) {
  return std::string(name) + "=\"" + label_value(value) + "\"";
}

// Nanoseconds as seconds, exactly.
std::string seconds_text(std::uint64_t ns) {
  std::string text = std::to_string(ns);
  if (text.size() < 10) text.insert(0, 10 - text.size(), '0');
  return text.insert(text.size() - 9, ".");
}

// None for what belongs to no interface; without a device where there is none.
std::string labels_of(const health::PathKey& key) {
  std::string text = key.transport.empty() ? "" : label("transport", key.transport);
  if (!key.device.empty()) text += (text.empty() ? "" : ",") + label("device", key.device);
  return text;
}

// What rules and dashboard add up: there from the first message of a path on, with zero, as
// Prometheus sees no increase in a series that begins with another value, and no sum of two of
// which one is missing. Other counters are left out as long as they are zero.
constexpr std::string_view kFromZero[] = {
    "bytes_sent",
    "bytes_verified",
    "bytes_unverified",
    "read_bytes_verified",
    "segments_resent",
    "segment_bytes_resent",
    "faults_sent",
    "frame_bytes_resent",
    "faults_payload",
    "faults_header",
    "faults_length",
    "faults_observed",
    "reads_damaged_on_wire",
    "reads_persistent",
    "source_faults",
    "source_changed",
    "reads_source_changed",
    "links_failed",
};

bool is_shown(const health::PathKey& key, const health::CounterInfo& info, std::uint64_t value) {
  return value != 0 ||
         (!key.transport.empty() &&
          std::find(std::begin(kFromZero), std::end(kFromZero), info.name) != std::end(kFromZero));
}

bool counted_anything(const health::Counters& counters) {
  return std::any_of(health::kCounterInfo.begin(), health::kCounterInfo.end(),
                     [&](const health::CounterInfo& info) { return counters.*info.field != 0; });
}

// What the labels name.
health::PathKey series_of(const health::PathKey& key) { return {key.transport, key.device, {}}; }

// Those shown; all others in one.
health::PathSums bounded(const health::PathSums& paths, const std::set<health::PathKey>& shown) {
  health::PathSums kept;
  for (const auto& [key, sum] : paths) {
    if (!counted_anything(sum)) continue;  // UCX opens more interfaces than it uses
    const health::PathKey series = series_of(key);
    kept[shown.contains(series) ? series : health::PathKey{"other", "other", {}}] += sum;
  }
  return kept;
}

void counters(Text& text, const health::PathSums& paths, const std::set<health::PathKey>& zeros) {
  for (const health::CounterInfo& info : health::kCounterInfo) {
    // Prometheus wants base units.
    const bool is_time = info.name.ends_with("_ns");
    const std::string name(info.name.substr(0, info.name.size() - (is_time ? 3 : 0)));
    const auto shown = [&](const auto& path) {
      return is_shown(path.first, info, path.second.*info.field);
    };
    if (std::none_of(paths.begin(), paths.end(), shown)) continue;
    text.metric(name + (is_time ? "_seconds_total" : "_total"), "counter", info.help);
    for (const auto& path : paths) {
      if (!shown(path)) continue;
      const auto& [key, values] = path;
      const std::uint64_t value = zeros.contains(key) ? 0 : values.*info.field;
      text.sample(labels_of(key), is_time ? seconds_text(value) : std::to_string(value));
    }
  }
}

// Which hosts one has trouble with: how many, and by name only on request.
void peers(Text& text, const Exposition& exposition) {
  std::set<std::string> all, in, out;
  std::map<std::string, health::PathFaults> by_name;
  for (const auto& [path, faults] : exposition.recent) {
    if (path.peer.empty() || path.peer == health::kThisHost) continue;
    all.insert(path.peer);
    if (faults.in > 0) in.insert(path.peer);
    if (faults.out > 0) out.insert(path.peer);
    if (faults.in + faults.out > 0)
      by_name[label("device", path.device) + "," + label("peer", path.peer)] += faults;
  }
  text.single("peer_hosts", "gauge",
              "hosts that this one exchanged checked data with in the time that check looks at",
              all.size());
  text.metric("peer_hosts_with_faults", "gauge",
              "those of them with faults, in what came from them or in what went to them");
  text.sample("direction=\"in\"", in.size());
  text.sample("direction=\"out\"", out.size());
  if (!exposition.peers) return;
  text.metric("peer_faults", "gauge", "faults with one host in the time that check looks at");
  for (const auto& [labels, trouble] : by_name) {
    text.sample(labels + ",direction=\"in\"", trouble.in);
    text.sample(labels + ",direction=\"out\"", trouble.out);
  }
}

// Every job is a new label for Prometheus to keep: only those with faults, and of these the worst.
void jobs(Text& text, const std::map<std::string, health::Counters>& sums) {
  std::vector<std::pair<std::uint64_t, std::string>> worst;
  for (const auto& [job, counters] : sums) {
    const std::uint64_t faults = health::faults_in(counters);
    if (faults != 0) worst.emplace_back(faults, job);
  }
  std::stable_sort(worst.begin(), worst.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  if (worst.size() > kMostJobSeries) worst.resize(kMostJobSeries);
  text.metric(
      "job_faults", "gauge",
      "faults that processes of a job found on this host, while their health files are there");
  for (const auto& [faults, job] : worst) text.sample(label("job", job), faults);
}

}  // namespace

void choose_shown(std::set<health::PathKey>& shown, const health::PathSums& paths, bool complete) {
  health::PathSums sums;
  for (const auto& [key, sum] : paths) {
    if (counted_anything(sum)) sums[series_of(key)] += sum;
  }
  if (complete)
    std::erase_if(shown, [&](const health::PathKey& key) { return !sums.contains(key); });
  std::vector<const health::PathSums::value_type*> order;
  for (const auto& path : sums) {
    if (!shown.contains(path.first)) order.push_back(&path);
  }
  std::stable_sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    return health::bytes_checked(a->second) > health::bytes_checked(b->second);
  });
  for (const auto* path : order) {
    if (shown.size() >= kMostSeries) return;
    shown.insert(path->first);
  }
}

std::set<health::PathKey> series_names(const health::PathSums& paths,
                                       const std::set<health::PathKey>& shown) {
  std::set<health::PathKey> names;
  for (const auto& series : bounded(paths, shown)) names.insert(series.first);
  return names;
}

std::set<health::PathKey> zeros_of(std::map<health::PathKey, std::uint64_t>& begun,
                                   std::uint64_t now_seconds) {
  std::set<health::PathKey> zeros;
  for (auto& [key, since] : begun) {
    if (since == 0) since = now_seconds;
    if (now_seconds >= since && now_seconds - since < kZeroSeconds) zeros.insert(key);
  }
  std::erase_if(begun, [&](const auto& series) { return !zeros.contains(series.first); });
  return zeros;
}

std::string label_value(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\n') {
      out += "\\n";
    } else if (c == '"' || c == '\\') {
      out += {'\\', c};
    } else {
      out += c;
    }
  }
  return out;
}

std::string render_exposition(const Exposition& exposition) {
  Text text;
  std::set<health::PathKey> shown = exposition.shown;
  choose_shown(shown, exposition.totals.paths);
  counters(text, bounded(exposition.totals.paths, shown), exposition.zeros);
  peers(text, exposition);
  if (!exposition.jobs.empty()) jobs(text, exposition.jobs);
  text.single("check_status", "gauge",
              "what ucx-verity check says: 0 ok, 1 warning, 2 critical, 3 unknown",
              static_cast<std::uint64_t>(exposition.verdict.level));
  text.single("injected_faults", "gauge",
              "faults that a test transport made in the time that check looks at, left out of all "
              "else (export --injected)",
              exposition.injected);
  text.metric("processes", "gauge", "processes with a health file on this host");
  text.sample("state=\"running\"", exposition.running);
  text.sample("state=\"ended\"", exposition.ended);
  text.sample("state=\"killed\"", exposition.killed);
  text.single("unreadable_files", "gauge",
              "files among the health files that are none, see ucx-verity status",
              exposition.unreadable);
  text.single("files_not_believed", "gauge",
              "health files that cannot be true, left out: see ucx-verity check",
              exposition.not_believed);
  text.metric("build_info", "gauge", "version of the command that wrote this; always 1");
  text.sample(label("version", exposition.version) + "," + label("ucx", exposition.ucx_version), 1);
  text.single("export_timestamp_seconds", "gauge", "when this was written", exposition.now_seconds);
  return text.take();
}

}  // namespace verity::tools
