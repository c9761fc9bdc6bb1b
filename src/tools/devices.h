// SPDX-License-Identifier: BSD-3-Clause
#ifndef VERITY_TOOLS_DEVICES_H
#define VERITY_TOOLS_DEVICES_H

#include <string>
#include <vector>

namespace verity::tools {

// A transport on a device, as UCX lists them.
struct Device {
  std::string transport;
  std::string device;
  std::string component;
  bool network = false;  // to other hosts: UCX_NET_DEVICES chooses among these
};

// Names of transports in `devices` in UCX's order, each once; wrappers (of transports that are
// there) left out.
[[nodiscard]] std::vector<std::string> lower_transports(const std::vector<Device>& devices);

// The wrappers among them.
[[nodiscard]] std::vector<std::string> wrappers(const std::vector<Device>& devices);

}  // namespace verity::tools

#endif
