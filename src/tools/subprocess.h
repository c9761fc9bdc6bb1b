// SPDX-License-Identifier: BSD-3-Clause
#ifndef VERITY_TOOLS_SUBPROCESS_H
#define VERITY_TOOLS_SUBPROCESS_H

#include <string>
#include <vector>

#include "tools/variable.h"

namespace verity::tools {

struct ProcessResult {
  int status = -1;  // exit status; 128 + signal; 127 when it could not be started
  bool timed_out = false;
  std::string out;
  std::string err;
};

// Runs a program (found by PATH) in this environment with the variables `set` and without `unset`,
// nothing on its input, and returns all that it wrote. After `seconds` its process group is ended.
[[nodiscard]] ProcessResult run_process(const std::vector<std::string>& arguments,
                                        const std::vector<Variable>& set,
                                        const std::vector<std::string>& unset, int seconds);

// What a child does after fork(): becomes that program, or exits with 127.
[[noreturn]] void become(const std::vector<std::string>& arguments,
                         const std::vector<Variable>& set, const std::vector<std::string>& unset);

// The file that PATH has for this program, or `name` itself when it holds a slash; empty: none.
[[nodiscard]] std::string find_program(const std::string& name);

}  // namespace verity::tools

#endif
