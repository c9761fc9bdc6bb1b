// SPDX-License-Identifier: BSD-3-Clause
#include "tools/quiet_stdout.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>

namespace verity::tools {

QuietStdout::QuietStdout() {
  std::fflush(stdout);
  saved_ = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  if (saved_ >= 0) dup2(STDERR_FILENO, STDOUT_FILENO);
}

QuietStdout::~QuietStdout() {
  std::fflush(stdout);
  if (saved_ < 0) return;
  dup2(saved_, STDOUT_FILENO);
  close(saved_);
}

}  // namespace verity::tools
