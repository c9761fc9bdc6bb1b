// SPDX-License-Identifier: BSD-3-Clause
#include "health/report/account_text.h"

#include <algorithm>

#include "health/text.h"

namespace verity::health {

namespace {

constexpr std::size_t kLabelWidth = 16;
constexpr std::size_t kValueWidth = 80 - kLabelWidth;

std::string line(std::string_view label, const std::string& value) {
  std::string text = "  ";
  text += label;
  text.resize(std::max(kLabelWidth, text.size() + 1), ' ');
  return text + value + "\n";
}

std::string frames_and_bytes(std::uint64_t frames, std::uint64_t bytes) {
  return grouped(frames) + (frames == 1 ? " frame, " : " frames, ") + human_bytes(bytes);
}

std::string segments(std::uint64_t number) {
  return grouped(number) + (number == 1 ? " segment" : " segments");
}

// What was damaged or lost and therefore travelled twice, from here and to here.
std::string repeated(const Counters& c) {
  std::string sent;
  if (c.segments_resent > 0)
    sent = segments(c.segments_resent) + ", " + human_bytes(c.segment_bytes_resent);
  if (c.frames_resent > 0)
    sent += (sent.empty() ? "" : "; ") + frames_and_bytes(c.frames_resent, c.frame_bytes_resent);
  std::string both = sent.empty() ? "" : "sent " + sent;
  if (c.segments_repaired > 0)
    both += (sent.empty() ? "received " : "; received ") + segments(c.segments_repaired);
  std::string text;
  if (!both.empty()) text = line("retransmitted", both);
  if (c.read_bytes_again > 0)
    text += line("re-read",
                 segments(c.read_segments_repaired) + ", " + human_bytes(c.read_bytes_again));
  return text;
}

struct Kind {
  const char* name;
  std::uint64_t count;
};

template <std::size_t N>
void add_kinds(std::string* text, const Kind (&kinds)[N]) {
  for (const Kind& kind : kinds) {
    if (kind.count != 0)
      *text += (text->empty() ? "" : ", ") + std::string(kind.name) + " " + grouped(kind.count);
  }
}

// "payload 3, header 1, repaired 4": the kinds that occurred, and what became of them. A frame with
// a damaged header is missing in the sequence as well, and is not named twice.
std::string faults(const Counters& c) {
  const FaultBalance balance = balance_of(c);
  const std::uint64_t discarded = c.faults_header + c.faults_length;
  std::string text;
  const Kind found[] = {
      {"payload", c.faults_payload},
      // Which of the two is unknown for a short frame that is delivered as it came.
      {c.faults_observed > 0 ? "header or payload" : "header", c.faults_header},
      {"length", c.faults_length},
      {"read", c.reads_damaged_on_wire},
      {"read, ambiguous", c.reads_ambiguous},
      {"read, persistent", c.reads_persistent}};
  add_kinds(&text, found);
  const Kind outcome[] = {
      {"repaired", balance.repaired},
      {"delivered", balance.delivered},
      {c.links_failed > 0 ? "not repaired" : "no longer needed", balance.rest()}};
  add_kinds(&text, outcome);
  const Kind others[] = {{"missing", c.gaps > discarded ? c.gaps - discarded : 0},
                         {"sender's memory", c.source_faults},
                         {"refused", c.rma_refused}};
  add_kinds(&text, others);
  return text.empty() ? "none" : text;
}

std::string in_words(const LinkFaults& link) {
  const std::string way = link.from == link.to
                              ? "within " + link.to
                              : (link.from.empty() ? "?" : link.from) + " -> " + link.to;
  return way + " (" + link.path + ") " + grouped(link.faults);
}

// A line for each of the worst: which hosts they have in common is what leads to the part at fault.
std::string by_link(const std::vector<LinkFaults>& links) {
  constexpr std::size_t kMost = 4;
  std::string text;
  for (std::size_t i = 0; i < links.size() && i < kMost; ++i)
    text += line(i == 0 ? "by link" : "", in_words(links[i]));
  if (links.size() > kMost) text += line("", "and " + grouped(links.size() - kMost) + " more");
  return text;
}

std::string failed(const Report& report) {
  std::string text = grouped(report.counters.links_failed);
  if (!report.failed_links.empty())
    text += ": " + name_list(report.failed_links, kValueWidth - text.size() - 2);
  return text;
}

std::string not_verified(const Report& report) {
  std::string text;
  const auto add = [&](const std::string& value) {
    text += line(text.empty() ? "not verified:" : "", value);
  };
  if (!report.raw_lanes.empty())
    add("raw UCX transports: " + name_list(report.raw_lanes, kValueWidth - 20));
  if (!report.mpi_components.empty())
    add("MPI, loaded, may have carried: " + name_list(report.mpi_components, kValueWidth - 31));
  const Counters& c = report.counters;
  if (c.frames_unverified > 0)
    add(frames_and_bytes(c.frames_unverified, c.bytes_unverified) + " on links in mode off");
  if (text.empty()) add("none known");
  return text;
}

}  // namespace

std::string account_lines(const Report& report) {
  const Counters& c = report.counters;
  std::string text =
      line("verified", frames_and_bytes(c.frames_verified, c.bytes_verified) + " received; sent " +
                           frames_and_bytes(c.frames_sent, c.bytes_sent));
  if (c.read_bytes_verified > 0)
    text += line("remote reads", human_bytes(c.read_bytes_verified) + " verified");
  if (c.puts_applied > 0) {
    text += line("remote writes",
                 human_bytes(c.put_bytes_applied) + " to here, applied after their check");
  }
  text += line("faults", faults(c));
  text += by_link(report.links);
  text += repeated(c);
  if (const std::uint64_t changed = c.source_changed + c.reads_source_changed; changed > 0) {
    const std::string times = grouped(changed) + (changed == 1 ? " time" : " times");
    text += line("changed", times + " before a send was complete (a bug) or in a get");
    text += line("", "in which call: ucx-verity env --typecheck warn");
  }
  if (c.faults_observed > 0)
    text += line("DELIVERED", grouped(c.faults_observed) + " faulty frames, as in mode observe");
  if (c.links_failed > 0) text += line("failed links", failed(report));
  text += not_verified(report);
  // MPI does not say whether the job made any.
  if (report.shared_windows)
    text += line("windows", "MPI_Win_allocate_shared: plain memory, not verified");
  return text;
}

std::string unused_line(const std::string& why) {
  return "ucx-verity: NOTHING VERIFIED: no message used the plugin" +
         (why.empty() ? "" : " (" + why + ")") + "\n";
}

}  // namespace verity::health
