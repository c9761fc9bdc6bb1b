// SPDX-License-Identifier: BSD-3-Clause
#include "uct/fault_log.h"

#include <syslog.h>

#include <cstdio>
#include <ctime>
#include <utility>

#include "health/attestation_io.h"
#include "uct/options.h"
#include "uct/wrap/compat.h"

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

FaultLog& fault_log() noexcept {
  static FaultLog* const instance = new FaultLog;
  return *instance;
}

void FaultLog::tell(health::FaultRecord& record) noexcept {
  const std::lock_guard lock(mutex_);
  try {
    if (!opened_) {
      who_ = health::identify_process();
      path_ = health::expand_path(options().fault_log, who_);
      budget_ = {kBurst, kInterval, options().fault_log_limit};
      opened_ = true;
    }
    record.time_ns = now_ns();
    record.who = who_;
    recall(record);
    write_text(record);
    if (path_.empty()) return;
    if (!budget_.take(record.time_ns)) {
      ++dropped_;
      return;
    }
    record.dropped = std::exchange(dropped_, 0);
    append(health::render_json(record));
  } catch (...) {
    ++dropped_;  // out of memory
  }
}

void FaultLog::recall(health::FaultRecord& record) {
  if (!record.syndrome) return;
  const uint64_t key = record.interface * 0x9e3779b97f4a7c15u ^ record.peer ^ uint64_t{record.sent};
  const auto found = before_.find(key);
  if (found != before_.end()) {
    record.syndrome->again = health::recurrence(found->second, *record.syndrome);
    found->second = *record.syndrome;
  } else if (before_.size() < kMostRemembered) {
    before_.emplace(key, *record.syndrome);
  }
}

void FaultLog::write_text(const health::FaultRecord& record) noexcept {
  if (options().fault_text == FaultText::kNone) return;
  if (!text_budget_.take(record.time_ns)) {
    ++silent_;
    return;
  }
  const std::string text = health::render_text(record) + (silent_ != 0 ? " not_told=" + std::to_string(silent_) : "");
  silent_ = 0;
  switch (options().fault_text) {
    case FaultText::kNone: break;
    case FaultText::kInfo: ucs_info("ucx-verity: fault: %s", text.c_str()); break;
    case FaultText::kWarn: ucs_warn("ucx-verity: fault: %s", text.c_str()); break;
    case FaultText::kSyslog: syslog(LOG_USER | LOG_WARNING, "ucx-verity: fault: %s", text.c_str()); break;
  }
}

// The newline in front ends what a full disk cut off.
void FaultLog::append(const std::string& line) {
  const std::string problem = health::append_to_file(path_, torn_ ? "\n" + line : line);
  torn_ = !problem.empty();
  if (problem.empty()) return;
  ++dropped_;
  if (std::exchange(complained_, true)) return;
  std::fprintf(stderr, "ucx-verity: cannot write a record of a fault to %s: %s (UCX_VERITY_FAULT_LOG; not told again)\n", path_.c_str(),
               problem.c_str());
}

void FaultLog::finish() noexcept {
  const std::lock_guard lock(mutex_);
  if (path_.empty() || dropped_ == 0) return;
  try {
    append(health::render_dropped(who_, now_ns(), std::exchange(dropped_, 0)));
  } catch (...) {
  }
}

}  // namespace verity::uct
