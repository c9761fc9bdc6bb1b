// SPDX-License-Identifier: BSD-3-Clause
#include "health/report/summary.h"

#include <algorithm>
#include <cstring>

#include "health/report/account_text.h"
#include "health/text.h"

namespace verity::health {

namespace {

constexpr std::size_t kMostLinks = 64;
constexpr std::size_t kMostNames = 64;

void join(std::vector<std::string>* names, const std::vector<std::string>& more) {
  for (const std::string& name : more) {
    if (names->size() < kMostNames && std::find(names->begin(), names->end(), name) == names->end())
      names->push_back(name);
  }
}

void join(std::vector<LinkFaults>* links, const std::vector<LinkFaults>& more) {
  for (const LinkFaults& link : more) {
    const auto same = std::find_if(links->begin(), links->end(), [&](const LinkFaults& known) {
      return known.from == link.from && known.to == link.to && known.path == link.path;
    });
    if (same != links->end()) {
      same->faults += link.faults;
    } else if (links->size() < kMostLinks) {
      links->push_back(link);
    }
  }
}

void add(Report* sum, const Report& report) {
  sum->counters += report.counters;
  join(&sum->links, report.links);
  join(&sum->failed_links, report.failed_links);
  join(&sum->raw_lanes, report.raw_lanes);
  join(&sum->mpi_components, report.mpi_components);
  sum->shared_windows = sum->shared_windows || report.shared_windows;
  if (report.active && !sum->active) sum->mode = report.mode;
  sum->active = sum->active || report.active;
  if (sum->unused.empty()) sum->unused = report.unused;
}

std::string counted(std::uint64_t number, const char* one, const char* many) {
  return grouped(number) + " " + (number == 1 ? one : many);
}

unsigned ranks_here(const JobSummary& s) {
  return s.reported + s.missing + s.unwritten.ranks + s.outside;
}
bool has_all_ranks(const JobSummary& s) { return s.reported == ranks_here(s); }

// "2 ranks on vm", "ranks of job 77 on node3: 8 of 64"
std::string who(const JobSummary& s) {
  const unsigned here = ranks_here(s);
  std::string text =
      s.sum.who.job.empty()
          ? ""
          : "job " + s.sum.who.job + (s.sum.who.step.empty() ? "" : "." + s.sum.who.step) + ", ";
  text += s.ranks > here ? grouped(here) + " of " + counted(s.ranks, "rank", "ranks")
                         : counted(here, "rank", "ranks");
  return text + (s.sum.who.host.empty() ? "" : " on " + s.sum.who.host);
}

std::string missing(const JobSummary& s) {
  const std::string of_all = " of " + counted(ranks_here(s), "rank", "ranks");
  std::string text;
  if (s.missing != 0) text += "; " + grouped(s.missing) + of_all + " did not report";
  if (s.unwritten.ranks != 0) {
    text += "; " + grouped(s.unwritten.ranks) + of_all + " could not write to this report (" +
            std::strerror(s.unwritten.error) + ")";
  }
  if (s.outside != 0)
    text += "; " + grouped(s.outside) + of_all + (s.outside == 1 ? " is" : " are") +
            " not in this report";
  return text;
}

bool bypassed(const Report& report) {
  return !report.raw_lanes.empty() || !report.mpi_components.empty();
}

// Links may have opened without a message.
bool sent_anything(const Counters& c) noexcept {
  return (c.frames_sent | c.frames_verified | c.frames_unverified | c.read_bytes_verified |
          c.faults_observed | c.links_failed) != 0;
}

std::string faults_in_words(const JobSummary& s) {
  const Counters& c = s.sum.counters;
  const FaultBalance balance = balance_of(c);
  if (balance.found == 0) {
    // Where all ranks are here, their receivers have counted them.
    if (c.segments_resent == 0) return "no damage found";
    return "no damage received; " + counted(c.segments_resent, "segment", "segments") +
           " retransmitted, which others received damaged";
  }
  const std::string found = counted(balance.found, "fault", "faults");
  if (balance.delivered > 0) {
    return found + " found, " + grouped(balance.delivered) +
           " DELIVERED as damaged (mode observe repairs nothing)";
  }
  const bool complete = s.sum.counters.links_failed == 0 && has_all_ranks(s);
  if (complete && balance.rest() == 0) return found + " found and repaired";
  const std::string rest = complete ? ", " + grouped(balance.rest()) + " no longer needed" : "";
  return found + " found, " + grouped(balance.repaired) + " repaired" + rest;
}

// What the user has to conclude, if it can be said at all.
std::string conclusion(const JobSummary& s) {
  const Counters& c = s.sum.counters;
  const std::uint64_t changed = c.source_changed + c.reads_source_changed;
  if (c.links_failed > 0) return "; " + counted(c.links_failed, "link", "links") + " failed";
  if (bypassed(s.sum)) return "; more may have passed UNVERIFIED, see below";
  if (c.frames_unverified > 0)
    return "; " + human_bytes(c.bytes_unverified) + " passed UNVERIFIED (mode off)";
  if (changed > 0)
    return "; " + counted(changed, "time", "times") +
           " THE PROGRAM changed data that were being sent or read, see below";
  return balance_of(c).found > c.faults_observed && has_all_ranks(s) ? ": all data arrived right"
                                                                     : "";
}

// Receivers verify: a process that only sent cannot report it.
std::string verified_in_words(const JobSummary& s) {
  const Counters& c = s.sum.counters;
  if (c.frames_verified + c.frames_unverified + c.read_bytes_verified + balance_of(c).found == 0) {
    return "nothing received, " + human_bytes(c.bytes_sent) + " sent";
  }
  const std::string bytes = human_bytes(c.bytes_verified + c.read_bytes_verified);
  return bytes + (s.sum.mode == "observe" ? " checked, " : " verified, ") + faults_in_words(s);
}

std::string first_line(const JobSummary& s) {
  return "ucx-verity: " + who(s) + ": " + verified_in_words(s) + conclusion(s) + missing(s) + "\n";
}

}  // namespace

JobSummary sum_up(const std::vector<Report>& reports, unsigned registered, unsigned host_ranks,
                  unsigned ranks, Unwritten unwritten) {
  JobSummary summary;
  summary.reported = static_cast<unsigned>(reports.size());
  registered = std::max(registered, summary.reported);
  unwritten.ranks = std::min(unwritten.ranks, registered - summary.reported);
  summary.unwritten = unwritten;
  summary.missing = registered - summary.reported - unwritten.ranks;
  summary.outside = std::max(registered, host_ranks) - registered;
  summary.ranks = ranks;
  summary.sum.active = false;
  if (!reports.empty()) {
    summary.sum.who = reports.front().who;
    summary.sum.mode = reports.front().mode;
  }
  for (const Report& report : reports) {
    add(&summary.sum, report);
    summary.first_rank = summary.first_rank || report.who.rank == "0";
  }
  std::stable_sort(summary.sum.links.begin(), summary.sum.links.end(),
                   [](const LinkFaults& a, const LinkFaults& b) { return a.faults > b.faults; });
  return summary;
}

bool should_print(const JobSummary& summary, AttestPolicy policy) {
  const bool unused =
      !summary.sum.active || (!sent_anything(summary.sum.counters) && bypassed(summary.sum));
  if (unused && !summary.first_rank) return false;
  if (policy != AttestPolicy::kAuto) return policy == AttestPolicy::kAlways;
  if (unused || had_trouble(summary.sum.counters)) return true;
  return sent_anything(summary.sum.counters) && has_unverified(summary.sum) && summary.first_rank;
}

std::string render_text(const JobSummary& summary) {
  const Report& sum = summary.sum;
  if (!sum.active) return unused_line(sum.unused);
  if (sent_anything(sum.counters)) return first_line(summary) + account_lines(sum);
  if (!bypassed(sum))
    return "ucx-verity: active, but the program sent no messages: " + who(summary) +
           missing(summary) + "\n";
  if (!sum.unused.empty()) return unused_line(sum.unused);
  const std::string lanes =
      sum.raw_lanes.empty() ? "" : "UCX_TLS also enables " + name_list(sum.raw_lanes, 40);
  const std::string components =
      sum.mpi_components.empty() ? "" : "MPI has loaded " + name_list(sum.mpi_components, 40);
  return unused_line(lanes + (lanes.empty() || components.empty() ? "" : "; ") + components);
}

}  // namespace verity::health
