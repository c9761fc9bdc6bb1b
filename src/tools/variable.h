// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

namespace verity::tools {

// One of a process's environment.
struct Variable {
  std::string name;
  std::string value;
};

}  // namespace verity::tools
