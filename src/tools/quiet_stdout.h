// SPDX-License-Identifier: BSD-3-Clause
//
// UCX logs to stdout, which belongs to the command's own answer: a shell evaluates it, a script
// parses it.
#ifndef VERITY_TOOLS_QUIET_STDOUT_H
#define VERITY_TOOLS_QUIET_STDOUT_H

namespace verity::tools {

// While it exists, what is written to stdout goes to stderr. One at a time, in one thread.
class QuietStdout {
 public:
  QuietStdout();
  ~QuietStdout();
  QuietStdout(const QuietStdout&) = delete;
  QuietStdout& operator=(const QuietStdout&) = delete;

 private:
  int saved_;  // stdout's file; -1 where there is none
};

}  // namespace verity::tools

#endif
