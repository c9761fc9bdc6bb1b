// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/check/report.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <ctime>

#include "health/text.h"
#include "mpi/check/findings.h"
#include "mpi/check/send_family.h"
#include "mpi/process/library.h"
#include "mpi/process/this_process.h"
#include "mpi/sites/sites.h"
#include "util/write_all.h"

namespace verity::mpi {

namespace {

// The contents of both forms of a report.
struct Contents {
  int sender_rank;  // in MPI_COMM_WORLD; -1: not known
  int receiver_rank;
  const char* sender_call;
  const char* receiver_call;
  std::string sender_site;
  std::string receiver_site;
  std::string comm;
  int source;
  int tag;
  uint64_t element;
  signature::Explanation words;
};

std::string tag_in_words(int tag) {
  return tag == MPI_ANY_TAG ? "MPI_ANY_TAG" : "tag " + std::to_string(tag);
}

std::string comm_in_words(const Finding& finding) {
  if (!finding.receive.comm) return "a communicator";
  const std::string name = name_of(*finding.receive.comm);
  return name.empty() ? "a communicator without a name" : name;
}

int sender_of(const Finding& finding) {
  const auto carried = static_cast<int>(finding.sender.epoch);
  if (carried >= 0 || !finding.receive.comm) return carried;
  return live_handle(*finding.receive.comm) == handles().comm_world
             ? in_this_world(finding.receive.envelope.source)
             : -1;
}

std::string window_in_words(const Remote& remote) {
  char name[MPI_MAX_OBJECT_NAME + 1] = {};
  int length = 0;
  const int rc = library().Win_get_name(remote.window, name, &length);
  return rc == MPI_SUCCESS && length > 0 ? name : "a window without a name";
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  const size_t at = text.find(from);
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

// Both types are named by one call of this process; "sender" is the side that the data come from.
Contents contents_of_remote(const Finding& finding, const signature::Received& received) {
  const Remote& remote = *finding.remote;
  const std::string site = site_in_words(finding.receive.site);
  const int target = window_rank_to_world(remote.window, remote.target);
  signature::Explanation words =
      signature::explain(finding.verdict, finding.sender, finding.description, received);
  words.verdict =
      replaced(words.verdict, "at the sender", remote.fetches ? "at the target" : "at the origin");
  words.verdict = replaced(words.verdict, "at the receiver",
                           remote.fetches ? "at the origin" : "at the target");
  return {.sender_rank = remote.fetches ? target : process_number(),
          .receiver_rank = remote.fetches ? process_number() : target,
          .sender_call = finding.receive.call,
          .receiver_call = finding.receive.call,
          .sender_site = site,
          .receiver_site = site,
          .comm = window_in_words(remote),
          .source = target,
          .tag = MPI_ANY_TAG,
          .element = finding.verdict.position,
          .words = std::move(words)};
}

Contents contents_of(const Finding& finding) {
  const signature::Received received{.type = finding.receive.type->type,
                                     .copies = finding.receive.count,
                                     .bytes = finding.received_bytes};
  if (finding.remote) return contents_of_remote(finding, received);
  signature::Explanation words =
      signature::explain(finding.verdict, finding.sender, finding.description, received);
  if (finding.data) {
    words.verdict =
        std::to_string(finding.received_bytes) +
        " bytes arrived that are not those of the sender's buffer when it called: the buffer "
        "was changed before the send was complete, or the MPI library packed or unpacked them "
        "wrongly";
  }
  return {.sender_rank = sender_of(finding),
          .receiver_rank = process_number(),
          .sender_call = family_name(finding.sender.family()),
          .receiver_call = finding.receive.call,
          .sender_site = site_in_words(finding.sender.site),
          .receiver_site = site_in_words(finding.receive.site),
          .comm = comm_in_words(finding),
          .source = finding.receive.envelope.source,
          .tag = finding.receive.envelope.tag,
          .element = finding.verdict.position,
          .words = std::move(words)};
}

std::string for_people(const Contents& t, bool data) {
  return std::string("ucx-verity: ") + (data ? "data" : "datatype") +
         " mismatch in a message from " + process_in_words(t.sender_rank) + " to " +
         process_in_words(t.receiver_rank) + " (" + t.comm + ", " + tag_in_words(t.tag) + ")\n" +
         "  sent:        " + t.words.sent + "\n" + "               by " + t.sender_call + " in " +
         t.sender_site + "\n" + "  received as: " + t.words.expected + "\n" + "               by " +
         t.receiver_call + " in " + t.receiver_site + "\n" + "  difference:  " + t.words.verdict +
         "\n";
}

std::string remote_for_people(const Contents& t, const Remote& remote) {
  const char* const ends[] = {"origin:", "target:"};
  const bool fetches = remote.fetches;
  const auto padded = [](std::string text) { return text + std::string(13 - text.size(), ' '); };
  return std::string("ucx-verity: datatype mismatch in ") + t.receiver_call + " by " +
         process_in_words(process_number()) + (fetches ? " from " : " to ") +
         process_in_words(t.source) + " (" + t.comm + ")\n" + "  " + padded(ends[fetches]) +
         t.words.sent + "\n" + "  " + padded(ends[!fetches]) + t.words.expected + "\n" +
         "               in " + t.receiver_site + "\n" + "  difference:  " + t.words.verdict + "\n";
}

std::string side(int rank, std::string_view call, std::string_view site, std::string_view type) {
  return "{\"rank\":" + process_in_json(rank) + ",\"call\":" + health::json_string(call) +
         ",\"site\":" + health::json_string(site) + ",\"type\":" + health::json_string(type) + "}";
}

std::string for_programs(const Contents& t, bool data) {
  const bool placed = t.element != signature::kUnknownPosition;
  return std::string("{\"event\":\"") + (data ? "data" : "type") +
         "_mismatch\",\"time\":" + std::to_string(std::time(nullptr)) +
         ",\"sender\":" + side(t.sender_rank, t.sender_call, t.sender_site, t.words.sent) +
         ",\"receiver\":" +
         side(t.receiver_rank, t.receiver_call, t.receiver_site, t.words.expected) +
         ",\"communicator\":" + health::json_string(t.comm) +
         ",\"tag\":" + (t.tag == MPI_ANY_TAG ? "null" : std::to_string(t.tag)) +
         ",\"element\":" + (placed ? std::to_string(t.element) : "null") +
         ",\"difference\":" + health::json_string(t.words.verdict) + "}\n";
}

}  // namespace

std::string process_in_words(int process) {
  if (process < 0) return "an unknown rank";
  const int world = process >> kRankBits;
  const std::string rank = "rank " + std::to_string(process & ((1 << kRankBits) - 1));
  return world == 0 ? rank : rank + " of spawned world " + std::to_string(world);
}

std::string process_in_json(int process) {
  if (process < 0) return "-1";
  const int world = process >> kRankBits;
  const std::string rank = std::to_string(process & ((1 << kRankBits) - 1));
  return world == 0 ? rank : rank + ",\"world\":" + std::to_string(world);
}

void print(const std::string& text) noexcept { (void)util::write_all(STDERR_FILENO, text); }

void append_to_log(const std::string& line) noexcept {
  // Non-blocking: a named pipe may have no reader.
  const int file =
      open(settings().log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0644);
  if (file < 0 || !util::write_all(file, line)) {
    static constinit std::atomic<bool> reported = false;  // several threads may find mismatches
    if (!reported.exchange(true))
      print("ucx-verity: UCX_VERITY_TYPECHECK_LOG=" + std::string(settings().log) +
            ": cannot be written\n");
  }
  if (file >= 0) close(file);
}

void report(const Finding& finding) {
  const Contents contents = contents_of(finding);
  print(finding.remote ? remote_for_people(contents, *finding.remote)
                       : for_people(contents, finding.data));
  if (settings().log != nullptr) append_to_log(for_programs(contents, finding.data));
}

}  // namespace verity::mpi
