// SPDX-License-Identifier: BSD-3-Clause
#include "uct/process/fault_log.h"

#include <syslog.h>

#include <cstdio>
#include <ctime>
#include <utility>

#include "health/file_pattern.h"
#include "health/report/attestation_io.h"
#include "uct/compat/ucx.h"
#include "uct/process/options.h"
#include "uct/process/per_process.h"
#include "uct/process/process.h"
#include "util/complain.h"
#include "util/lock_soon.h"
#include "util/write_all.h"

namespace verity::uct {

namespace {

// Of records in the file: so many at once, then ten a second.
constexpr uint64_t kBurst = 1000;
constexpr uint64_t kInterval = 100'000'000;  // ns
constexpr size_t kMostRemembered = 1024;     // pairs of interfaces

int64_t now_ns() noexcept {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

}  // namespace

FaultLog& fault_log() noexcept { return PerProcess<FaultLog>::get(); }

// What writes the text of a record, a program's log handler for instance, may come upon another
// fault: that one is counted alone.
void FaultLog::record(health::FaultRecord& fault) noexcept {
  const pthread_t self = pthread_self();
  if (pthread_equal(holder_.load(std::memory_order_relaxed), self) != 0) {
    unrecorded_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  const std::lock_guard lock(mutex_);
  holder_.store(self, std::memory_order_relaxed);
  try {
    record_locked(fault);
  } catch (...) {
    ++dropped_;  // out of memory
  }
  holder_.store({}, std::memory_order_relaxed);
}

void FaultLog::open() {
  if (std::exchange(opened_, true)) return;
  who_ = process().who();
  if (!options().host.empty()) who_.host = options().host;
  path_ = health::expand_path(options().fault_log, who_);
  budget_ = {kBurst, kInterval, options().fault_log_limit};
}

void FaultLog::record_locked(health::FaultRecord& record) {
  open();
  record.time_ns = now_ns();
  record.who = who_;
  recall(record);
  record.port = port_of(record.device);
  write_text(record);
  if (path_.empty()) return;
  dropped_ += unrecorded_.exchange(0, std::memory_order_relaxed);
  if (!budget_.take(record.time_ns)) {
    ++dropped_;
    return;
  }
  record.dropped = std::exchange(dropped_, 0);
  // This thread makes progress, which waits for no reader of a pipe.
  if (!append(health::render_json(record), 0)) dropped_ += record.dropped + 1;
}

void FaultLog::recall(health::FaultRecord& record) {
  if (!record.syndrome) return;
  const uint64_t key =
      record.interface * 0x9e3779b97f4a7c15u ^ record.peer ^ uint64_t { record.sent };
  const auto found = before_.find(key);
  if (found != before_.end()) {
    record.syndrome->again = health::recurrence(found->second, *record.syndrome);
    found->second = *record.syndrome;
  } else if (before_.size() < kMostRemembered) {
    before_.emplace(key, *record.syndrome);
  }
}

const health::Port& FaultLog::port_of(const std::string& device) {
  const auto [place, is_new] = ports_.try_emplace(device);
  if (is_new) place->second = health::find_port(device);
  return place->second;
}

void FaultLog::write_text(const health::FaultRecord& record) {
  if (options().fault_text == FaultText::kNone) return;
  if (!text_budget_.take(record.time_ns)) {
    ++suppressed_;
    return;
  }
  const std::string text = health::render_text(record) +
                           (suppressed_ != 0 ? " suppressed=" + std::to_string(suppressed_) : "");
  suppressed_ = 0;
  switch (options().fault_text) {
    case FaultText::kNone: break;
    case FaultText::kInfo: ucs_info("ucx-verity: fault: %s", text.c_str()); break;
    case FaultText::kWarn: ucs_warn("ucx-verity: fault: %s", text.c_str()); break;
    case FaultText::kSyslog:
      syslog(LOG_USER | LOG_WARNING, "ucx-verity: fault: %s", text.c_str());
      break;
  }
}

// The newline in front ends what a full disk cut off.
bool FaultLog::append(const std::string& line, int patience) {
  const std::string problem = health::append_to_file(path_, torn_ ? "\n" + line : line, patience);
  torn_ = !problem.empty();
  if (problem.empty() || std::exchange(complained_, true)) return problem.empty();
  util::complain(
      "ucx-verity: cannot write a record of a fault to %s: %s (UCX_VERITY_FAULT_LOG; not "
      "reported again)\n",
      path_.c_str(), problem.c_str());
  return false;
}

// A log handler of the program's may end it inside record().
void FaultLog::finish() noexcept {
  if (pthread_equal(holder_.load(std::memory_order_relaxed), pthread_self()) != 0) return;
  const std::unique_lock lock = util::lock_soon(mutex_);
  if (!lock.owns_lock()) return;
  dropped_ += unrecorded_.exchange(0, std::memory_order_relaxed);
  if (dropped_ == 0) return;
  try {
    open();
    if (path_.empty()) return;
    (void)append(health::render_dropped(who_, now_ns(), std::exchange(dropped_, 0)),
                 util::kPatience);
  } catch (...) {}
}

}  // namespace verity::uct
