// SPDX-License-Identifier: BSD-3-Clause
//
// Where the records of faults go: UCX_VERITY_FAULT_LOG and UCX_VERITY_FAULT_TEXT. One for the
// process; any thread. Nothing of it runs while there are no faults.
#ifndef VERITY_UCT_PROCESS_FAULT_LOG_H
#define VERITY_UCT_PROCESS_FAULT_LOG_H

#include <pthread.h>

#include <atomic>
#include <mutex>
#include <string>
#include <unordered_map>

#include "health/faults/fault_record.h"

namespace verity::uct {

class FaultLog {
 public:
  // Fills in who, when, and whether the same bits were hit before on the way between these two
  // interfaces; writes what its budget allows.
  void record(health::FaultRecord& record) noexcept;
  // At the end of the process: how many were not written.
  void finish() noexcept;

 private:
  void open();
  void record_locked(health::FaultRecord& record);
  void recall(health::FaultRecord& record);
  [[nodiscard]] const health::Port& port_of(const std::string& device);
  void write_text(const health::FaultRecord& record);
  [[nodiscard]] bool append(const std::string& line, int patience);

  std::mutex mutex_;
  std::atomic<pthread_t> holder_{};      // of the mutex, in record()
  std::atomic<uint64_t> unrecorded_{0};  // while their thread was at another record
  health::Identity who_;
  std::string path_;
  bool opened_ = false;
  bool complained_ = false;
  bool torn_ = false;  // the last line was not written whole
  uint64_t dropped_ = 0;
  uint64_t suppressed_ = 0;  // without a line of text
  health::FaultBudget text_budget_{10, 10'000'000'000, ~uint64_t{0}};
  health::FaultBudget budget_{0, 0, 0};
  std::unordered_map<uint64_t, health::Syndrome> before_;  // by both interfaces
  std::unordered_map<std::string, health::Port>
      ports_;  // by device, as they were at its first fault
};

// Never destroyed.
[[nodiscard]] FaultLog& fault_log() noexcept;

}  // namespace verity::uct

#endif
