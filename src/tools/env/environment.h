// SPDX-License-Identifier: BSD-3-Clause
//
// The variables that make a job use the plugin: computed, not set.
#ifndef VERITY_TOOLS_ENV_ENVIRONMENT_H
#define VERITY_TOOLS_ENV_ENVIRONMENT_H

#include <string>
#include <string_view>
#include <vector>

#include "tools/variable.h"

namespace verity::tools {

struct Version {
  int major = 0;
  int minor = 0;
};

// "1.13.1" -> {1, 13}; zeros where it is no version.
[[nodiscard]] Version parse_version(std::string_view text);

// From UCX 1.22 on UCX_PLUGIN_PATH loads the plugin; before, a preload does.
[[nodiscard]] bool needs_preload(Version ucx);

// The variable whose first folder has the plugin for that UCX. The other one may be set as well, to
// what UCX does not load the plugin from.
[[nodiscard]] const char* plugin_variable(Version ucx);

struct EnvironmentRequest {
  Version ucx;
  std::string preload;                   // path of libverity_preload.so
  std::string module_dir;                // folder of libuct_verity
  std::string ucx_tls;                   // empty: is left as it is
  bool transparent = false;              // wrapped transports have the names of UCX's own
  bool was_transparent = false;          // UCX_VERITY_TRANSPARENT is set now
  bool opens_filter = true;              // Open MPI's filters let nothing through here
  std::string old_preload;               // LD_PRELOAD now
  std::string old_plugin_path;           // UCX_PLUGIN_PATH now
  std::vector<std::string> interposers;  // paths of libverity_mpi_*.so
  std::string typecheck;  // warn or error: the interposers compare datatypes; empty: without them
};

// In the order in which they are to be set.
[[nodiscard]] std::vector<Variable> make_environment(const EnvironmentRequest& request);

// `list` (entries between any of `separators`) with `entry` first, and without other entries of the
// same file name: a second evaluation, or another installation, does not pile up.
[[nodiscard]] std::string prepend_path(std::string_view list, const std::string& entry,
                                       std::string_view separators);

}  // namespace verity::tools

#endif
