// SPDX-License-Identifier: BSD-3-Clause
//
// What the UCX that this process runs offers, by its public API.
#pragma once

#include <string>
#include <vector>

#include "tools/devices.h"

namespace verity::tools {

struct UcxInfo {
  std::string version;  // run time
  std::string library;  // path of libucp
  std::string suffix;   // what UCX expects after a module's name: ".so.0"
  std::vector<Device> devices;
};

// Never fails: what cannot be asked is left out.
[[nodiscard]] UcxInfo query_ucx();

}  // namespace verity::tools
