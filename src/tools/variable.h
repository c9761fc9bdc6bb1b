// SPDX-License-Identifier: BSD-3-Clause
#ifndef VERITY_TOOLS_VARIABLE_H
#define VERITY_TOOLS_VARIABLE_H

#include <string>

namespace verity::tools {

// One of a process's environment.
struct Variable {
  std::string name;
  std::string value;
};

}  // namespace verity::tools

#endif
