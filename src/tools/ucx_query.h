// SPDX-License-Identifier: BSD-3-Clause
//
// What the UCX that this process runs offers, by its public API.
#ifndef VERITY_TOOLS_UCX_QUERY_H
#define VERITY_TOOLS_UCX_QUERY_H

#include <string>
#include <vector>

#include "tools/devices.h"
#include "tools/variable.h"

namespace verity::tools {

struct UcxInfo {
  std::string version;  // run time
  std::string library;  // path of libucp
  std::string suffix;   // what UCX expects after a module's name: ".so.0"
  std::vector<Device> devices;
  // UCX_VERITY_MODE and _TRANSPARENT as the plugin has them, from variables, ucx.conf and the
  // site's files; none where it is not loaded.
  std::vector<Variable> settings{};
};

// Never fails: what cannot be queried is left out.
[[nodiscard]] UcxInfo query_ucx();

// A transport on a device that a context may use.
struct Lane {
  std::string transport;
  std::string device;
  bool set_up_only = false;  // it connects other ones and carries no payload
};

// What a program opens, an MPI library for one: a context with the settings of this process.
struct ContextLanes {
  std::string error;  // UCX's reason why there is none; empty: it was made
  std::vector<Lane> lanes;
  // UCX_TLS and UCX_NET_DEVICES as UCX has them, from variables and ucx.conf.
  std::vector<Variable> settings{};
};
[[nodiscard]] ContextLanes query_context();

}  // namespace verity::tools

#endif
