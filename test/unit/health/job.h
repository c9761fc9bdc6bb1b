// SPDX-License-Identifier: BSD-3-Clause
//
// Ranks of a job for the tests: processes, what they share, and what limits them.
#ifndef VERITY_TEST_UNIT_HEALTH_JOB_H
#define VERITY_TEST_UNIT_HEALTH_JOB_H

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <string>

#include "health/report/job_log.h"
#include "unit/health/file.h"

namespace verity::health {

inline Report rank(const std::string& number) {
  Report report;
  report.who.rank = number;
  return report;
}

// The two ranks of a job, which have begun.
struct TwoRanks {
  JobLog first, second;
  explicit TwoRanks(const Folder& folder) {
    EXPECT_TRUE(first.join(folder.path, "launch 1", "0", 2));
    EXPECT_TRUE(second.join(folder.path, "launch 1", "1", 2));
  }
};

// Memory that processes share.
template <typename T>
class Shared {
 public:
  Shared() {
    void* memory =
        mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory != MAP_FAILED) value_ = static_cast<T*>(memory);
  }
  ~Shared() {
    if (value_ != nullptr) munmap(value_, sizeof(T));
  }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
  T* operator->() const { return value_; }

 private:
  T* value_ = nullptr;
};

// `run` in so many processes, with their numbers. Returns how many of them ended with 0.
template <typename Run>
unsigned run_ranks(unsigned count, Run&& run) {
  for (unsigned i = 0; i < count; ++i) {
    if (fork() != 0) continue;
    run(i);
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  unsigned good = 0;
  for (int status = -1; wait(&status) > 0;) good += status == 0;
  return good;
}

// For one of so many processes, until all have come.
inline void meet(std::atomic<unsigned>& place, unsigned count) {
  for (++place; place < count;) sched_yield();
}

// Files of this process may have so many bytes only, in the life of this.
struct FileLimit {
  rlimit before{};
  explicit FileLimit(rlim_t bytes) {
    getrlimit(RLIMIT_FSIZE, &before);
    const rlimit shorter{bytes, before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &shorter);
  }
  ~FileLimit() { setrlimit(RLIMIT_FSIZE, &before); }
  FileLimit(const FileLimit&) = delete;
  FileLimit& operator=(const FileLimit&) = delete;
};

}  // namespace verity::health

#endif
