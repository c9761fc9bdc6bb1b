// SPDX-License-Identifier: BSD-3-Clause
#include "uct/process/process.h"

#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "health/files/directory.h"
#include "health/process_id.h"
#include "health/report/attestation_io.h"
#include "health/report/bypass.h"
#include "uct/process/fault_guard.h"
#include "uct/process/fault_log.h"
#include "uct/process/options.h"
#include "uct/process/per_process.h"
#include "uct/process/type_checks.h"
#include "uct/wrap/lower.h"
#include "util/complain.h"
#include "util/interposer.h"

namespace verity::uct {

namespace {

constexpr size_t kMostNamed = 16;        // failed links in the attestation
constexpr size_t kMostInterfaces = 256;  // the same

const char* text_of(link::Failure why) noexcept {
  switch (why) {
    case link::Failure::kRepairsExhausted:
      return "the same frame stayed damaged however often it was sent";
    case link::Failure::kSourceFault:
      return "the retransmit copy in this process's own memory is damaged";
    case link::Failure::kRestarted: return "the peer opened the link anew";
    case link::Failure::kNoMemory: return "out of memory";
  }
  return "";
}

// Names of the transports that UCX found on this machine, wrappers excluded. None of those that the
// plugin has hidden.
std::vector<std::string> lower_transports() {
  std::vector<std::string> names;
  if (is_transparent()) return names;
  std::vector<uct_component_h> components;
  if (query_components(&components) != UCS_OK) return names;
  for (uct_component_h component : components) {
    if (std::string_view(component->name) == "verity") continue;
    std::vector<uct_md_resource_desc_t> domains;  // none: no such device on this machine
    if (query_md_resources(component, &domains) != UCS_OK || domains.empty()) continue;
    uct_tl_t* tl;
    ucs_list_for_each(tl, &component->tl_list, list) names.emplace_back(tl->name);
  }
  return names;
}

std::string tls_setting() {
  const char* value = std::getenv("UCX_TLS");
  return value != nullptr ? value : "all";
}

bool reports_for_job(const health::Identity& who) { return who.rank.empty() || who.rank == "0"; }

// One process of those that a launcher started on this host.
bool reports_for_host() {
  for (const char* name :
       {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID", "PALS_LOCAL_RANKID"}) {
    if (const char* local = std::getenv(name); local != nullptr && *local != '\0')
      return std::string_view(local) == "0";
  }
  return true;
}

}  // namespace

Process& process() noexcept { return PerProcess<Process>::get(); }

Process::Process() noexcept {
  try {
    who_ = health::identify_process();
    mpi_ = health::MpiSettings::from_environment();
  } catch (...) {}
}

void Process::in_child() noexcept {
  if (segment_ != nullptr) (void)segment_->unshare();
}

bool Process::is_rank() const noexcept {
  const Process* parents = PerProcess<Process>::inherited();
  return !who_.rank.empty() && (parents == nullptr || parents->who_.rank != who_.rank);
}

// A file that cannot be made costs nothing but the view from outside; who misses the process there
// finds the reason here. The problem is the host's, so it is reported once for each host and not
// for each process.
void Process::report_no_file(const std::string& problem) noexcept {
  ucs_log(reports_for_host() ? UCS_LOG_LEVEL_WARN : UCS_LOG_LEVEL_DEBUG,
          "ucx-verity: no health file: %s; 'ucx-verity status' will not show this process (set "
          "UCX_VERITY_HEALTH_DIR to a folder of this "
          "user's on this host, or UCX_VERITY_HEALTH=n)",
          problem.c_str());
}

void Process::start_counting() {
  const auto pid = static_cast<uint64_t>(who_.pid);
  const std::string host = health::host_name(options().host);
  const std::string advertised = health::short_name(host, sizeof(advertised_host_));
  std::memcpy(advertised_host_, advertised.data(), advertised.size());
  segment_ = std::make_unique<health::Segment>();
  const health::Origin origin{.pid = pid,
                              .start_ticks = health::start_ticks(pid),
                              .stack_mark = health::stack_mark(pid),
                              .created_ns = health::realtime_ns(),
                              .uid = geteuid(),
                              .mode = mode_name(options().link.mode),
                              .host = host,
                              .peer_name = advertised,
                              .program = who_.program,
                              .rank = who_.rank,
                              .version = VERITY_VERSION,
                              .ucx_version = VERITY_UCX_VERSION,
                              .boot_id = health::boot_id(),
                              .job = who_.job,
                              .step = who_.step};
  table_ = std::make_unique<health::Table>(*segment_, origin);
  host_ = host_of(advertised_host_);
}

// Only what can be printed.
health::HostId Process::host_of(const char (&field)[wire::kMaxHostName]) noexcept {
  if (table_ == nullptr) return 0;  // the interface is the parent's
  char name[wire::kMaxHostName];
  const size_t length = strnlen(field, sizeof(field));
  std::transform(field, field + length, name,
                 [](char c) { return c > 0x20 && c < 0x7f ? c : '?'; });
  return table_->host_id({name, length});
}

// Who cuts the file, which others may, must not end the process.
void Process::guard_counters() noexcept {
  start_guarding();
  const auto replace = [](void* arg) {
    auto* self = static_cast<Process*>(arg);
    self->lost_counters_.store(true, std::memory_order_relaxed);
    return self->segment_->unshare();
  };
  guard_file(segment_->base(), health::Table::kMostBytes, replace, this);
}

void Process::publish() noexcept {
  std::unique_lock lock(mutex_);
  const health::FileSettings& settings = options().health;
  if (table_ == nullptr || published_.exchange(true) || !settings.enabled || finished_) return;
  try {
    std::string problem;
    table_->with_used([&](size_t used) {
      problem = segment_->move_to_file(settings, static_cast<uint64_t>(getpid()), used);
    });
    if (!problem.empty()) {
      lock.unlock();  // a log handler may lead here
      return report_no_file(problem);
    }
    guard_counters();
    const std::string& path = segment_->path();
    health::collect_some(segment_->folder(), path.substr(path.rfind('/') + 1),
                         health::realtime_ns(), options().health_keep);
    join_job();
  } catch (...) {  // without it
  }
}

std::unique_ptr<health::InterfaceRows> Process::open_rows(const char* transport,
                                                          const uct_iface_params_t& params,
                                                          bool injected) {
  const std::lock_guard lock(mutex_);
  if (table_ == nullptr) start_counting();
  const bool has_device = (params.open_mode & UCT_IFACE_OPEN_MODE_DEVICE) != 0 &&
                          params.mode.device.dev_name != nullptr;
  return std::make_unique<health::InterfaceRows>(*table_, std::string("v") + transport,
                                                 has_device ? params.mode.device.dev_name : "",
                                                 health::realtime_ns(), injected);
}

void Process::count_types(const verity_interposer& interposer) noexcept {
  const std::lock_guard lock(mutex_);
  if (std::exchange(counts_types_, true)) return;
  static_assert(offsetof(health::Counters, types_unchecked) ==
                offsetof(health::Counters, types_checked) + 2 * sizeof(uint64_t));
  interposer.count_into(&table_->process().types_checked);
}

void Process::opened(link::Mode mode) noexcept {
  const std::lock_guard lock(mutex_);
  mode_ = mode;
  if (table_ != nullptr) table_->set_mode(mode_name(mode));
  if (started_) return;
  started_ = true;
  start();
}

void Process::add_interface(uint64_t uid) noexcept {
  const std::lock_guard lock(mutex_);
  ++open_;
  try {
    if (known_.interfaces.size() < kMostInterfaces)
      known_.interfaces.push_back(health::interface_text(uid));
  } catch (...) {}
}

void Process::start() noexcept {
  try {
    const std::string tls = tls_setting();
    known_.raw_lanes = health::raw_lanes(tls, lower_transports());
    const std::string warning = health::raw_lane_warning(known_.raw_lanes);
    // Open MPI 6's btl/uct opens what UCX_TLS does not name: the end of the job will say so.
    const bool wanted =
        options().attest != health::AttestPolicy::kNever && health::names_wrapper(tls);
    if (!reports_for_job(who_)) return;
    if (wanted && !warning.empty()) util::complain("%s\n", warning.c_str());
    warn_without_type_library();
  } catch (...) {  // a warning less
  }
}

size_t Process::closed_interfaces(std::span<uint64_t> out) const noexcept {
  size_t count = 0;
  for (const std::atomic<uint64_t>& entry : closed_) {
    const uint64_t uid = entry.load(std::memory_order_relaxed);
    if (uid != 0 && count < out.size()) out[count++] = uid;
  }
  return count;
}

void Process::link_failed(const char* transport, uint64_t peer, link::Failure why) noexcept {
  char text[160];
  std::snprintf(text, sizeof(text), "v%s to interface %016" PRIx64 ": %s", transport, peer,
                text_of(why));
  ucs_error("ucx-verity: link failed: %s", text);  // without the lock, as in publish()
  const std::lock_guard lock(mutex_);
  try {
    if (known_.failed_links.size() < kMostNamed) known_.failed_links.emplace_back(text);
  } catch (...) {}
}

void Process::abort_job(const char* transport, uint64_t peer, ucs_status_t status) noexcept {
  util::complain(
      "ucx-verity: v%s: the link to interface %016" PRIx64
      " is lost (%s) and the program handles no "
      "endpoint errors: aborting, as its communication could never end (UCX_VERITY_ON_FAILURE)\n",
      transport, peer, ucs_status_string(status));
  fails_ = true;
  finish();
  std::signal(SIGABRT, SIG_DFL);  // the line above says it all: no backtrace
  // No signal of its own ends the first process of a container, but an instruction that abort() has
  // for that: with SIGSEGV, and a backtrace.
  if (getpid() == 1) _exit(128 + SIGABRT);
  std::abort();
}

}  // namespace verity::uct
