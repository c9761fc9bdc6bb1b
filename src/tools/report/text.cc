// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstdio>

#include "health/text.h"
#include "tools/report/render.h"

namespace verity::tools {

using blame::Evidence;
using blame::Explanation;
using blame::Part;
using blame::Suspect;

namespace {

constexpr std::size_t kWidth = 80;
constexpr std::size_t kMatrixHosts = 8;
constexpr std::size_t kCell = 7;

using health::grouped;

std::string counted(std::uint64_t n, const std::string& one, const std::string& many) {
  return grouped(n) + " " + (n == 1 ? one : many);
}

// `text` in lines of the terminal's width, each with `indent` in front.
std::string wrapped(const std::string& text, const std::string& indent) {
  std::string out;
  std::string line = indent;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    if (line.size() > indent.size() && line.size() + 1 + end - at > kWidth) {
      out += line + "\n";
      line = indent;
    }
    line += (line.size() > indent.size() ? " " : "") + text.substr(at, end - at);
    at = end + 1;
  }
  return out + line + "\n";
}

std::string right(const std::string& text, std::size_t width) {
  return text.size() >= width ? text : std::string(width - text.size(), ' ') + text;
}

// At most six characters: 999,999 is 999k then.
std::string compact(std::uint64_t n) {
  if (n == 0) return ".";
  if (n < 100'000) return std::to_string(n);
  constexpr const char* kUnits[] = {"k", "M", "G", "T", "P", "E"};
  std::size_t unit = 0;
  for (n /= 1000; n >= 10'000 && unit + 1 < std::size(kUnits); n /= 1000) ++unit;
  return std::to_string(n) + kUnits[unit];
}

std::string suspect_lines(const Suspect& s, std::size_t number, const Findings& f) {
  const std::uint64_t all = f.evidence.faults;
  std::string text =
      wrapped(std::to_string(number) + ". " + printable(describe(s.what), 200), "  ");
  std::string evidence = std::string(name_of(s.confidence)) +
                         " evidence: " + grouped(s.tally.faults) + " of " +
                         counted(all, "fault", "faults");
  if (!s.or_else.empty()) evidence += ", for this or one of those below";
  if (s.others != 0 && (s.what.part == Part::kDevice || s.what.part == Part::kHost))
    evidence += ", with " + counted(s.others, "other host", "other hosts");
  text += wrapped(evidence, "       ");
  for (const std::string& port : ports_in_words(s, f)) text += wrapped(port, "       ");
  if (const std::string patterns = patterns_in_words(s.tally); !patterns.empty()) {
    const std::string again =
        "; " + grouped(s.tally.again) + " hit the same bits as the fault before";
    text += wrapped(patterns + (s.tally.again != 0 ? again : ""), "       ");
  }
  if (const std::string words = place_hint(s); !words.empty()) text += wrapped(words, "       ");
  if (const std::string words = hint(s); !words.empty()) text += wrapped(words, "       ");
  std::string either;
  for (const Explanation& e : s.or_else)
    either += (either.empty() ? "" : "; ") + printable(describe(e), 200);
  if (!either.empty())
    text += wrapped("as likely: " + either +
                        (f.evidence.hosts.size() == 2 ? " (two hosts alone cannot tell)" : ""),
                    "       ");
  return text;
}

std::string summary(const Findings& f) {
  const Evidence& e = f.evidence;
  std::string text = "ucx-verity report: " + counted(e.faults, "fault", "faults") +
                     " of machines, " + counted(e.hosts.size(), "host", "hosts") + ", " +
                     counted(f.files, "file", "files") + "\n";
  if (!e.first.empty())
    text += "  from " + printable(e.first, 32) + " to " + printable(e.last, 32) + "\n";
  std::uint64_t processes = 0;
  std::uint64_t clean = 0;
  std::uint64_t bytes = 0;
  std::uint64_t delivered = 0;
  for (const auto& [name, host] : e.hosts) {
    delivered += host.delivered;
    processes += host.processes;
    clean += host.clean;
    bytes += host.bytes;
  }
  if (processes != 0) {
    text += "  verified: " + health::human_bytes(bytes) + " in " +
            counted(processes, "process", "processes") + ", " + grouped(clean) +
            " of them with no part in any fault\n";
  } else {
    text += "  no attestation among the files: how much was verified is not known\n";
  }
  if (delivered != 0) {
    text +=
        wrapped(counted(delivered, "fault was", "faults were") +
                    " DELIVERED as they came, in mode observe: results of these jobs may be wrong",
                "  ");
  }
  return text;
}

std::string not_machines(const Findings& f) {
  const Evidence& e = f.evidence;
  std::string text;
  const auto add = [&](std::uint64_t n, const std::string& one, const std::string& many,
                       const std::string& rest) {
    if (n != 0) text += wrapped(counted(n, one, many) + " " + rest, "  ");
  };
  add(e.source_changed, "time", "times",
      "a program changed a buffer that was being sent or read: its author's business, no "
      "machine's");
  add(e.type_mismatches, "message", "messages",
      "with unlike datatypes at sender and receiver: the program's author's business, no "
      "machine's");
  add(e.ambiguous, "read", "reads",
      "damaged on the way or changed by the owner meanwhile: nobody is blamed for that");
  add(e.injected, "fault", "faults",
      "that a test transport made on purpose: --injected counts them");
  add(e.dropped, "more fault", "more faults",
      "that the processes did not record (UCX_VERITY_FAULT_LOG_LIMIT)");
  add(e.beyond, "more fault", "more faults", "left out here: too many different hosts and devices");
  add(f.lines.broken, "line", "lines", "of no JSON: cut off, or of another file");
  add(f.lines.foreign, "line", "lines", "of JSON of something else");
  add(f.lines.newer, "line", "lines", "of another version of ucx-verity, or incomplete");
  return text.empty() ? text : "not counted as faults of machines:\n" + text;
}

// The jobs with most faults.
std::string job_lines(const Evidence& evidence) {
  constexpr std::size_t kMost = 8;
  std::vector<std::pair<std::uint64_t, std::string>> jobs;
  for (const auto& [name, faults] : evidence.jobs) jobs.emplace_back(faults, name);
  std::stable_sort(jobs.begin(), jobs.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string text;
  for (std::size_t i = 0; i < jobs.size() && i < kMost; ++i) {
    text +=
        (i == 0 ? "" : ", ") + printable(jobs[i].second, 32) + " (" + grouped(jobs[i].first) + ")";
  }
  if (jobs.size() > kMost) text += " and " + grouped(jobs.size() - kMost) + " more";
  return text.empty() ? text : wrapped("faults by job: " + text, "  ");
}

std::string switch_lines(const Findings& f) {
  if (f.topology.empty()) return {};
  const std::vector<SwitchFaults> switches = by_switch(f.evidence, f.topology);
  if (switches.empty()) return {};
  constexpr std::size_t kName = 28;
  constexpr std::size_t kMost = 20;
  std::string name = "faults by switch:";
  name.resize(kName, ' ');
  std::string text =
      name + right("within", 9) + right("from it", 9) + right("to it", 9) + "  hosts\n";
  for (std::size_t i = 0; i < switches.size() && i < kMost; ++i) {
    const SwitchFaults& s = switches[i];
    name = "  " + (s.name.empty() ? "(not in the topology)" : printable(s.name, kName - 3));
    name.resize(kName, ' ');
    text += name + right(compact(s.within), 9) + right(compact(s.from), 9) +
            right(compact(s.to), 9) + "  " + std::to_string(s.troubled) +
            (s.name.empty() ? "" : " of " + std::to_string(s.hosts)) + "\n";
  }
  if (switches.size() > kMost)
    text += "  and " + counted(switches.size() - kMost, "more", "more") + "\n";
  const std::string words = switch_hint(switches, f.evidence, f.suspects);
  return words.empty() ? text : text + wrapped(printable(words, 400), "  ");
}

std::string matrix_lines(const Evidence& evidence) {
  const Matrix m = matrix_of(evidence, kMatrixHosts);
  const auto letter = [&](std::size_t i) {
    return i < m.hosts.size() ? std::string(1, static_cast<char>('A' + i)) : std::string("others");
  };
  constexpr std::size_t kLabel = 16;
  std::string text = "faults, from the host of the row to that of the column:\n";
  text += std::string(kLabel, ' ');
  for (std::size_t i = 0; i < m.counts.size(); ++i) text += right(letter(i), kCell);
  text += "\n";
  for (std::size_t row = 0; row < m.counts.size(); ++row) {
    const bool other = row == m.hosts.size();
    std::string label = other ? "  " + counted(m.others, "other", "others")
                              : "  " + letter(row) + " " + printable(m.hosts[row], kLabel - 5);
    label.resize(kLabel, ' ');
    text += label;
    for (const std::uint64_t n : m.counts[row]) text += right(compact(n), kCell);
    text += "\n";
  }
  return text;
}

}  // namespace

std::string render_text(const Findings& f) {
  std::string text = summary(f);
  if (f.evidence.faults != 0) {
    text += job_lines(f.evidence) + "suspects:\n";
    for (std::size_t i = 0; i < f.suspects.size(); ++i)
      text += suspect_lines(f.suspects[i], i + 1, f);
    text += switch_lines(f);
    text += matrix_lines(f.evidence);
  }
  return text + not_machines(f);
}

}  // namespace verity::tools
