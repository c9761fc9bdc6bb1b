// SPDX-License-Identifier: BSD-3-Clause
#include "tools/devices.h"

#include <algorithm>

namespace verity::tools {

namespace {

using Names = std::vector<std::string>;

Names unique_names(const std::vector<Device>& devices) {
  Names names;
  for (const Device& device : devices) {
    if (std::find(names.begin(), names.end(), device.transport) == names.end()) {
      names.push_back(device.transport);
    }
  }
  return names;
}

bool is_wrapper(const std::string& name, const Names& all) {
  return name.starts_with('v') && std::find(all.begin(), all.end(), name.substr(1)) != all.end();
}

}  // namespace

Names lower_transports(const std::vector<Device>& devices) {
  const Names all = unique_names(devices);
  Names names;
  for (const std::string& name : all) {
    if (!is_wrapper(name, all)) names.push_back(name);
  }
  return names;
}

Names wrappers(const std::vector<Device>& devices) {
  const Names all = unique_names(devices);
  Names names;
  for (const std::string& name : all) {
    if (is_wrapper(name, all)) names.push_back(name);
  }
  return names;
}

}  // namespace verity::tools
