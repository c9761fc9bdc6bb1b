// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/check/findings.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <map>
#include <mutex>
#include <new>
#include <string>
#include <tuple>

#include "mpi/check/changes.h"
#include "mpi/check/report.h"
#include "mpi/handles/comms.h"
#include "mpi/process/counting.h"
#include "mpi/process/library.h"
#include "mpi/process/lifetime.h"
#include "mpi/process/this_process.h"
#include "mpi/sites/sites.h"
#include "mpi/ucp/type_counters.h"

namespace verity::mpi {

namespace {

constexpr size_t kReasons = static_cast<size_t>(signature::Reason::kNoMemory) + 1;
constexpr size_t kOwnReasons = static_cast<size_t>(Unchecked::kPastUcx) + 1;

constinit std::atomic<uint64_t> data_checked{0}, data_differed{0};
constinit std::atomic<uint64_t> unchecked_why[kReasons + kOwnReasons] = {};

void count(std::atomic<uint64_t>& counter) noexcept { add(counter, uint64_t{1}); }
void count_unchecked(size_t reason) noexcept {
  count(type_counters().unchecked);
  count(unchecked_why[reason]);
}

std::string_view reason_in_words(size_t index) {
  static const char* const kOwn[kOwnReasons] = {
      "without a signature", "received with a datatype that cannot be decoded",
      "with a malformed signature",
      "of collective operations, too long before the receiver's own calls", "not passed to UCX"};
  return index < kReasons ? signature::to_string(static_cast<signature::Reason>(index))
                          : kOwn[index - kReasons];
}

// What is reported once: sender's site, receiver's site, what differs, and the basic types of both
// sides, as all messages of a program may pass through one function of its own.
using Pair = std::tuple<uint64_t, uint64_t, signature::What, uint32_t, uint32_t>;

Pair pair_of(const Finding& finding) noexcept {
  return {finding.sender.site, finding.receive.site, finding.verdict.what,
          std::bit_cast<uint32_t>(finding.sender.basic),
          std::bit_cast<uint32_t>(finding.receive.type->type.basic())};
}

struct Found {
  std::mutex mutex;
  std::vector<Finding> waiting;      // to be raised
  std::vector<CommRef> collectives;  // the same of collective operations
  std::map<Pair, uint64_t> seen;
};
Found& found() noexcept {  // never destroyed: messages may arrive while the process ends
  static Found& made = *new Found;
  return made;
}

struct Waiting {
  std::vector<Finding> findings;
  std::vector<CommRef> collectives;
};
Waiting take_waiting() noexcept {
  const std::lock_guard lock(found().mutex);
  this_process.findings_wait.store(false, std::memory_order_relaxed);
  return {std::exchange(found().waiting, {}), std::exchange(found().collectives, {})};
}

bool count_pair(const Finding& finding) {
  const std::lock_guard lock(found().mutex);
  return ++found().seen[pair_of(finding)] == 1;
}

void keep(Finding&& finding) {
  if (count_pair(finding)) report(finding);
  if (settings().check != Check::kError) return;
  const std::lock_guard lock(found().mutex);
  found().waiting.push_back(std::move(finding));
  this_process.findings_wait.store(true, std::memory_order_relaxed);
}

// The program's own handler decides what an error does; by default it ends the job.
int raise_error(const Finding& finding) {
  const int error = finding.data ? MPI_ERR_OTHER : MPI_ERR_TYPE;
  if (finding.receive.comm) {
    call_errhandler(*finding.receive.comm, error);
  } else if (world() != handles().comm_null && mpi_runs()) {
    library().Comm_call_errhandler(world(), error);
  }
  return error;
}

void sums_of_pairs(std::string* text) {
  const std::lock_guard lock(found().mutex);
  for (const auto& [pair, times] : found().seen) {
    if (times == 1) continue;
    *text += "  " + std::to_string(times) + " times: sent in " + site_in_words(std::get<0>(pair)) +
             ", received in " + site_in_words(std::get<1>(pair)) + "\n";
  }
}

std::string sums() {
  std::string text = "ucx-verity: " + process_in_words(process_number()) + ": datatypes of " +
                     std::to_string(type_counters().checked.load()) + " messages checked, " +
                     std::to_string(type_counters().mismatched.load()) + " mismatched";
  uint64_t all = 0;
  std::string reasons;
  for (size_t i = 0; i < kReasons + kOwnReasons; ++i) {
    const uint64_t number = unchecked_why[i].load();
    if (number == 0) continue;
    all += number;
    reasons += (reasons.empty() ? ": " : ", ") + std::to_string(number) + " " +
               std::string(reason_in_words(i));
  }
  text += "; " + std::to_string(all) + " not checked" + reasons + "\n";
  if (settings().digest) {
    text += "ucx-verity: " + process_in_words(process_number()) + ": data of " +
            std::to_string(data_checked.load()) + " messages compared end to end, " +
            std::to_string(data_differed.load()) + " differed\n";
  }
  return text;
}

}  // namespace

void count_unchecked(Unchecked why) noexcept {
  count_unchecked(kReasons + static_cast<size_t>(why));
}
void count_unchecked(signature::Reason why) noexcept { count_unchecked(static_cast<size_t>(why)); }

void add_finding(const signature::Verdict& verdict, const signature::Record& sender,
                 std::span<const uint8_t> description, const signature::Received& received,
                 PostedReceive::Facts&& receive) noexcept {
  count(type_counters().mismatched);
  try {
    keep({.verdict = verdict,
          .sender = sender,
          .description = {description.begin(), description.end()},
          .received_bytes = received.bytes,
          .receive = std::move(receive),
          .remote = std::nullopt});
  } catch (const std::bad_alloc&) {  // it is counted
  }
}

int raise_remote(const Finding& finding) {
  count(type_counters().mismatched);
  try {
    if (count_pair(finding)) report(finding);
  } catch (const std::bad_alloc&) {  // it is counted
  }
  if (settings().check != Check::kError) return MPI_SUCCESS;
  library().Win_call_errhandler(finding.remote->window, MPI_ERR_TYPE);
  return MPI_ERR_TYPE;
}

void count_data(bool equal) noexcept {
  count(data_checked);
  if (!equal) count(data_differed);
}

void add_data_finding(const signature::Record& sender, std::span<const uint8_t> description,
                      size_t bytes, PostedReceive::Facts&& receive) noexcept {
  try {
    keep({.verdict = {},
          .sender = sender,
          .description = {description.begin(), description.end()},
          .received_bytes = bytes,
          .receive = std::move(receive),
          .remote = std::nullopt,
          .data = true});
  } catch (const std::bad_alloc&) {  // it is counted
  }
}

void add_collective_mismatch(CommInfo& communicator) noexcept {
  count(type_counters().mismatched);
  if (settings().check != Check::kError) return;
  try {
    const std::lock_guard lock(found().mutex);
    auto& waiting = found().collectives;
    const bool waits = std::any_of(waiting.begin(), waiting.end(),
                                   [&](const CommRef& other) { return &*other == &communicator; });
    if (!waits) waiting.emplace_back(&communicator);
    this_process.findings_wait.store(true, std::memory_order_relaxed);
  } catch (const std::bad_alloc&) {  // it is counted
  }
}

int report_findings(int rc) {
  const Waiting waiting = take_waiting();
  try {
    report_changes();
  } catch (const std::bad_alloc&) {  // the attestation counts them
  }
  for (const CommRef& communicator : waiting.collectives) {
    call_errhandler(*communicator, MPI_ERR_TYPE);
    rc = MPI_ERR_TYPE;
  }
  for (const Finding& finding : waiting.findings) rc = raise_error(finding);
  return rc;
}

bool take_unraised() noexcept {
  const Waiting late = take_waiting();
  return !late.findings.empty() || !late.collectives.empty();
}

void print_summary() noexcept {
  static std::atomic<bool> done{false};
  if (done.exchange(true)) return;
  try {
    summarize_changes();
    if (type_counters().mismatched.load() == 0 && data_differed.load() == 0 &&
        !settings().always_attest)
      return;
    std::string text = sums();
    sums_of_pairs(&text);
    print(text);
  } catch (const std::bad_alloc&) {  // nothing more can be said
  }
}

}  // namespace verity::mpi
