// SPDX-License-Identifier: BSD-3-Clause
// Processes that count into a file.
#ifndef VERITY_TEST_UNIT_HEALTH_PROCESS_H
#define VERITY_TEST_UNIT_HEALTH_PROCESS_H

#include <signal.h>
#include <sys/wait.h>

#include <optional>

#include "unit/health/file.h"

namespace verity::health {

struct Process {
  Segment segment;
  std::optional<Table> table;
  std::string problem;
  explicit Process(const std::string& folder, mode_t mode = 0600) {
    table.emplace(segment, this_process());
    table->process().types_checked = 3;
    table->with_used([&](std::size_t used) {
      problem =
          segment.move_to_file({true, folder, mode}, static_cast<std::uint64_t>(getpid()), used);
    });
  }
};

// Runs `body` in a child that ends by `_exit`, or is killed by `signal`.
template <class Body>
void in_child(Body body, int signal = 0) {
  const pid_t child = fork();
  if (child == 0) {
    body();
    if (signal != 0) kill(getpid(), signal);
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_EQ(signal != 0 ? WTERMSIG(status) : WEXITSTATUS(status), signal);
}

}  // namespace verity::health

#endif
