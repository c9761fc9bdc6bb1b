// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/check/changes.h"

#include <ctime>
#include <map>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "health/text.h"
#include "mpi/check/report.h"
#include "mpi/handles/comms.h"
#include "mpi/process/library.h"
#include "mpi/process/this_process.h"
#include "mpi/sites/sites.h"

namespace verity::mpi {

namespace {

struct Kept {
  std::mutex mutex;
  std::vector<ChangedSend> waiting;
  std::map<uint64_t, uint64_t> times;  // by call site
};
Kept& kept() noexcept {  // never destroyed: messages may leave while the process ends
  static Kept& made = *new Kept;
  return made;
}

// In MPI_COMM_WORLD; -1: not known.
int peer_of(const Caller& caller) noexcept {
  if (caller.comm == nullptr || !mpi_runs()) return -1;
  return to_world_rank(*static_cast<const CommInfo*>(caller.comm), caller.comm_serial, caller.peer);
}

std::string for_people(const ChangedSend& send, int peer, const std::string& site) {
  return "ucx-verity: source changed: " + process_in_words(process_number()) +
         " wrote to the buffer of a send before it was complete\n" +
         "  sent:        " + std::to_string(send.bytes) + " bytes to " + process_in_words(peer) +
         "\n               by " + send.caller.call + " in " + site + "\n" +
         "  changed:     within the " + std::to_string(send.length) + " bytes from offset " +
         std::to_string(send.offset) + " on\n" +
         "  consequence: the receiver gets what was there last; wait for the request before the "
         "buffer is used again\n";
}

std::string for_programs(const ChangedSend& send, int peer, const std::string& site) {
  return "{\"event\":\"source_changed\",\"time\":" + std::to_string(std::time(nullptr)) +
         ",\"rank\":" + process_in_json(process_number()) +
         ",\"peer\":" + std::to_string(peer < 0 ? peer : peer & ((1 << kRankBits) - 1)) +
         ",\"call\":" + health::json_string(send.caller.call) +
         ",\"site\":" + health::json_string(site) + ",\"bytes\":" + std::to_string(send.bytes) +
         ",\"offset\":" + std::to_string(send.offset) +
         ",\"length\":" + std::to_string(send.length) + "}\n";
}

void report(const ChangedSend& send) {
  const int peer = peer_of(send.caller);
  const std::string site = site_in_words(send.caller.site);
  print(for_people(send, peer, site));
  if (settings().log != nullptr) append_to_log(for_programs(send, peer, site));
}

}  // namespace

void add_change(const ChangedSend& send) noexcept {
  const std::lock_guard lock(kept().mutex);
  try {
    if (++kept().times[send.caller.site] != 1) return;
    kept().waiting.push_back(send);
    this_process.findings_wait.store(true, std::memory_order_relaxed);
  } catch (const std::bad_alloc&) {  // the attestation counts it
  }
}

void report_changes() {
  std::vector<ChangedSend> waiting;
  {
    const std::lock_guard lock(kept().mutex);
    waiting = std::exchange(kept().waiting, {});
  }
  for (const ChangedSend& send : waiting) report(send);
}

void summarize_changes() {
  report_changes();
  const std::lock_guard lock(kept().mutex);
  for (const auto& [site, times] : kept().times) {
    if (times == 1) continue;
    print("ucx-verity: source changed: " + process_in_words(process_number()) + ": " +
          std::to_string(times) + " sends in " + site_in_words(site) + "\n");
  }
}

}  // namespace verity::mpi
