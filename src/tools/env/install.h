// SPDX-License-Identifier: BSD-3-Clause
//
// Where this installation, or build tree, has its plugin and preload.
#ifndef VERITY_TOOLS_ENV_INSTALL_H
#define VERITY_TOOLS_ENV_INSTALL_H

#include <string>
#include <vector>

namespace verity::tools {

struct Install {
  std::string preload;                   // libverity_preload.so, empty when it is missing
  std::vector<std::string> interposers;  // libverity_mpi_*.so that there are
  std::string fault{};  // the corrupting transport of 'doctor --selftest', empty when it is missing
  std::string module_dir;             // the folder for the running UCX, empty when there is none
  std::vector<std::string> versions;  // UCX versions with a plugin here
  std::string base;                   // the folder that was searched
};

// For UCX `ucx_version`. Looks beside the command itself (build tree, or an installation that was
// moved), then where `make install` put it.
[[nodiscard]] Install find_install(const std::string& ucx_version);

// The same, below `base`: base/libverity_preload.so and base/<UCX version>/libuct_verity.so*.
[[nodiscard]] Install read_install(const std::string& base, const std::string& ucx_version);

// The same of an installation, or of a build tree.
[[nodiscard]] Install read_prefix(const std::string& prefix, const std::string& ucx_version);

// Absolute path of this program.
[[nodiscard]] std::string own_path();

}  // namespace verity::tools

#endif
