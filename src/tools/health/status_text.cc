// SPDX-License-Identifier: BSD-3-Clause
#include "tools/health/status_text.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

#include "health/text.h"

namespace verity::tools {

namespace {

using health::Counters;
using health::human_bytes;
using health::Life;

constexpr std::size_t kFirstColumn = 25;
constexpr std::size_t kMostProblems = 10;

std::string line(const std::string& what, const char* state, const Counters& counters) {
  const health::Summary s = health::summary_of(counters);
  std::array<char, 160> text;
  std::snprintf(text.data(), text.size(), "%s %-7s %9s %6s %8s %9s %10s\n",
                first_column(what).c_str(), state, human_bytes(s.verified).c_str(),
                std::to_string(s.faults).c_str(), std::to_string(s.repaired).c_str(),
                human_bytes(s.resent).c_str(), human_bytes(s.unverified).c_str());
  return text.data();
}

std::string name_of(const FoundProcess& p) {
  const health::Snapshot& s = p.file.snapshot;
  return std::to_string(s.pid) + (s.rank.empty() ? "" : " r" + s.rank) + " " + s.program;
}

// Loaded, but no message passed it. That a process was killed is said in any case.
bool is_unused(const FoundProcess& p) { return p.view.counters.links_opened == 0; }

const char* state_of(const FoundProcess& p) {
  return is_unused(p) && p.file.life != Life::kKilled ? "unused" : health::life_name(p.file.life);
}

std::string process_lines(const FoundProcess& p, const StatusOptions& options) {
  std::string text = line(name_of(p), state_of(p), p.view.counters);
  if (!options.paths) return text;
  for (const health::PathView& path : p.view.paths) {
    const char* state = path.injected                                ? "test"
                        : path.open || p.file.life != Life::kRunning ? ""
                                                                     : "closed";
    text += line("  " + path.name(), state, path.counters);
    if (!options.peers) continue;
    for (const health::PeerView& peer : path.peers) {
      text += line("    " + (peer.host.empty() ? "other hosts" : peer.host), "", peer.counters);
    }
  }
  return text;
}

std::string counted(std::size_t number, const char* what) {
  return std::to_string(number) + " " + what +
         (number == 1                                             ? ""
          : what[std::char_traits<char>::length(what) - 1] == 's' ? "es"
                                                                  : "s");
}

std::string heading(const Found& found) {
  std::map<Life, std::size_t> lives;
  std::map<std::string, std::size_t> hosts;
  for (const FoundProcess& p : found.processes) {
    ++lives[p.file.life];
    ++hosts[p.file.snapshot.host];
  }
  std::string text = hosts.size() == 1  ? hosts.begin()->first + ": "
                     : hosts.size() > 1 ? counted(hosts.size(), "host") + ": "
                                        : "";
  text += counted(found.processes.size(), "process");
  for (const auto& [life, number] : lives)
    text += ", " + std::to_string(number) + " " + health::life_name(life);
  const auto unused = std::count_if(found.processes.begin(), found.processes.end(), is_unused);
  if (unused != 0) text += ", " + std::to_string(unused) + " of them loaded but unused";
  return text + "\n";
}

// What no column has: what a reader must not overlook, in words. Empty: nothing.
std::string note_lines(const Found& found) {
  Counters sum;
  std::size_t observing = 0;
  for (const FoundProcess& p : found.processes) {
    sum += p.view.counters;
    observing += p.file.snapshot.mode == "observe";
  }
  const health::Summary s = health::summary_of(sum);
  std::string text;
  const auto add = [&](std::uint64_t number, const char* one, const char* many) {
    if (number != 0) text += health::grouped(number) + (number == 1 ? one : many) + "\n";
  };
  add(observing, " process in mode observe, which repairs nothing",
      " processes in mode observe, which repairs nothing");
  add(s.delivered, " fault was DELIVERED as it came: results may be wrong",
      " faults were DELIVERED as they came: results may be wrong");
  add(s.failed, " link failed: its messages did not arrive",
      " links failed: their messages did not arrive");
  add(sum.source_changed + sum.reads_source_changed,
      " time a program changed data that were being sent or read: no machine's fault",
      " times a program changed data that were being sent or read: no machine's fault");
  add(sum.types_mismatched,
      " message or call with MPI datatypes that do not fit: no machine's fault",
      " messages or calls with MPI datatypes that do not fit: no machine's fault");
  return text.empty() ? text : "\n" + text;
}

std::string problem_lines(const Found& found) {
  std::string text;
  for (std::size_t i = 0; i < found.problems.size() && i < kMostProblems; ++i) {
    text += "not read: " + health::printable(found.problems[i].path) + ": " +
            found.problems[i].text + "\n";
  }
  if (found.problems.size() > kMostProblems)
    text += "not read: " + std::to_string(found.problems.size() - kMostProblems) + " more\n";
  return text;
}

using Json = nlohmann::ordered_json;

Json counters_json(const Counters& counters) {
  Json json = Json::object();
  for (const health::CounterInfo& info : health::kCounterInfo)
    json[std::string(info.name)] = counters.*info.field;
  return json;
}

Json path_json(const health::PathView& path) {
  Json json{{"transport", path.transport},
            {"device", path.device},
            {"open", path.open},
            {"injected", path.injected},
            {"counters", counters_json(path.counters)}};
  json["peers"] = Json::array();
  for (const health::PeerView& peer : path.peers) {
    json["peers"].push_back({{"host", peer.host.empty() ? Json() : Json(peer.host)},
                             {"counters", counters_json(peer.counters)}});
  }
  return json;
}

Json process_json(const FoundProcess& p) {
  const health::Snapshot& s = p.file.snapshot;
  Json json{{"file", p.folder + "/" + p.file.name},
            {"state", health::life_name(p.file.life)},
            {"host", s.host},
            {"pid", s.pid},
            {"uid", p.file.owner},
            {"rank", s.rank.empty() ? Json() : Json(s.rank)},
            {"program", s.program},
            {"job", s.job.empty() ? Json() : Json(s.job)},
            {"step", s.step.empty() ? Json() : Json(s.step)},
            {"unused", is_unused(p)},
            {"mode", s.mode},
            {"version", s.version},
            {"ucx", s.ucx_version},
            {"started_ns", s.created_ns},
            {"ended_ns", p.file.ended_ns == 0 ? Json() : Json(p.file.ended_ns)},
            {"counters", counters_json(p.view.counters)}};
  json["unknown_counters"] = s.foreign_names;
  json["missing_counters"] = s.missing_names;
  json["paths"] = Json::array();
  for (const health::PathView& path : p.view.paths) json["paths"].push_back(path_json(path));
  return json;
}

}  // namespace

std::string first_column(const std::string& what) {
  std::string text = what;
  constexpr std::size_t kHead = kFirstColumn / 2;
  constexpr std::size_t kTail = kFirstColumn - kHead - 1;
  if (text.size() > kFirstColumn)
    text = text.substr(0, kHead) + "~" + text.substr(text.size() - kTail);
  text.resize(kFirstColumn, ' ');
  return text;
}

std::string render_status(const Found& found, const StatusOptions& options) {
  std::string text = heading(found);
  if (!found.processes.empty()) {
    text += "\nPROCESS, PATH" + std::string(options.peers ? ", PEER" : "      ") +
            "       STATE    VERIFIED FAULTS REPAIRED    RESENT   MODE OFF\n";
  }
  for (const FoundProcess& p : found.processes) text += process_lines(p, options);
  return text + note_lines(found) + problem_lines(found);
}

std::string status_json(const Found& found) {
  Json json{{"schema", kStatusSchema}, {"folders", found.folders}};
  json["processes"] = Json::array();
  for (const FoundProcess& p : found.processes) json["processes"].push_back(process_json(p));
  json["problems"] = Json::array();
  for (const Problem& problem : found.problems)
    json["problems"].push_back({{"path", problem.path}, {"problem", problem.text}});
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace verity::tools
