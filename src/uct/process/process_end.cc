// SPDX-License-Identifier: BSD-3-Clause
//
// The beginning of a rank, and the end of a process: who reports what.
//
// The ranks of a job on one host have a file for their accounts, which begins with the health file.
// The one that ends last prints what all of them counted, as does the first one that fails. A
// process of no launcher, or without health files, prints its own.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "health/files/directory.h"
#include "health/report/attestation_io.h"
#include "health/report/bypass.h"
#include "health/report/summary.h"
#include "uct/process/fault_log.h"
#include "uct/process/options.h"
#include "uct/process/per_process.h"
#include "uct/process/process.h"
#include "util/complain.h"
#include "util/lock_soon.h"

namespace verity::uct {

namespace {

constexpr size_t kMostLinks = 16;  // with faults, of one process

std::string setting(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

// Options are read when UCX opens a memory domain, which it may never do.
ucs_status_t read_options(uct_component_h component) {
  uct_md_config_t* config;
  ucs_status_t status = uct_md_config_read(component, nullptr, nullptr, &config);
  if (status != UCS_OK) return status;
  status = configure(config);
  uct_config_release(config);
  return status;
}

// Without the allocator, which may have been interrupted as well.
void report_interrupted() noexcept {
  char line[96];
  std::snprintf(line, sizeof(line),
                "ucx-verity: pid %d: no report: the process ended while the plugin was at work\n",
                getpid());
  health::print(line);
}

}  // namespace

void Process::noticed(uct_component_h component) noexcept {
  try {
    const std::lock_guard lock(mutex_);
    if (noticed_ || started_) return;
    launch_ = health::identify_launch();
    if (launch_.ranks < 2 || !is_rank()) return;
    const std::vector<std::string> objects = health::loaded_objects();
    if (!health::is_mpi_program(objects)) return;
    const bool is_readable = read_options(component) == UCS_OK;
    noticed_ = true;
    mpi_ = health::MpiSettings::from_environment();
    known_.unused = is_readable ? health::unused_reason(health::is_open_mpi(objects), mpi_,
                                                        is_transparent() ? "" : setting("UCX_TLS"))
                                : "a UCX_VERITY variable has a bad value, see above";
    if (table_ == nullptr) start_counting();
  } catch (...) { return; }
  communicates();
}

// Called once the health file is there, and so in a folder that others cannot change.
void Process::join_job() {
  if (launch_.key.empty()) launch_ = health::identify_launch();
  if (options().attest_ranks || options().attest == health::AttestPolicy::kNever ||
      launch_.key.empty() || !is_rank())
    return;
  if (!job_.join(segment_->folder(), launch_.key + " " + who_.host, who_.rank, launch_.host_ranks))
    return;
  on_exit(
      [](int status, void*) {
        if (Process* made = PerProcess<Process>::made()) made->exits(status);
      },
      nullptr);
}

void Process::closing(uint64_t uid) noexcept {
  closed_[closed_count_.fetch_add(1, std::memory_order_relaxed) % closed_.size()].store(
      uid, std::memory_order_relaxed);
  const std::lock_guard lock(mutex_);
  --open_;
  if (!known_.mpi_components.empty()) return;
  try {
    const std::vector<std::string> objects = health::loaded_objects();
    known_.mpi_components = health::mpi_bypass(objects, mpi_);
    known_.shared_windows |= health::only_shared_windows(objects, mpi_);
  } catch (...) {}
}

health::Report Process::make_report() const {
  health::Report report = known_;
  report.plugin_version = VERITY_VERSION;  // PACKAGE_VERSION is that of UCX here
  report.ucx_version = VERITY_UCX_VERSION;
  report.mode = mode_name(mode_);
  report.who = who_;
  if (!options().host.empty()) report.who.host = options().host;
  if (table_ != nullptr) {
    report.counters = table_->sum();
    report.links = table_->links_with_faults(kMostLinks);
  }
  report.active = started_;
  return report;
}

void Process::finish_or_throw() {
  health::Report report = make_report();
  if (lost_counters_.load(std::memory_order_relaxed)) {
    health::print("ucx-verity: pid " + std::to_string(pid_) + ": " + segment_->path() +
                  " was cut while it was in use: what was counted before is lost\n");
  }
  if (table_ != nullptr) table_->end(health::realtime_ns());
  health::write_attestation(report, options().attest_file);
  health::Assembled all;
  using health::Exit;
  const bool is_closed = known_.interfaces.size() != 0 && open_ == 0;
  const Exit exit = !fails_ ? Exit::kSuccess : is_closed ? Exit::kErrorAtEnd : Exit::kError;
  const health::JobLog::Outcome outcome = job_.leave(report, exit, &all);
  if (outcome == health::JobLog::Outcome::kOthersLive) return;
  // Ranks in containers of their own, with folders of their own, do not find each other.
  const bool alone = all.registered == 1 && launch_.host_ranks > 1;
  if (job_.error() != 0) report.alone = job_.path() + ": " + std::strerror(job_.error());
  if (outcome == health::JobLog::Outcome::kNoLog || alone)
    return health::publish(report, options().attest, {});
  const health::JobSummary summary =
      health::sum_up(all.reports, all.registered, launch_.host_ranks, launch_.ranks,
                     {.ranks = all.unwritten, .error = all.error});
  if (health::should_print(summary, options().attest)) health::print(health::render_text(summary));
}

void Process::finish() noexcept {
  if (getpid() != pid_) return;
  const std::unique_lock lock = util::lock_soon(mutex_);
  if (!lock.owns_lock() || (table_ != nullptr && !table_->is_free())) return report_interrupted();
  if ((!started_ && !noticed_) || finished_) return;
  finished_ = true;
  fault_log().finish();
  try {
    finish_or_throw();
  } catch (...) {
    util::complain("ucx-verity: out of memory for the report at the end of the process\n");
  }
}

namespace {
// A child made by fork() may have come so far inside the allocator.
__attribute__((destructor)) void finish_process() {
  if (Process* made = PerProcess<Process>::made()) made->finish();
}
}  // namespace

}  // namespace verity::uct
