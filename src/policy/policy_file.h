// SPDX-License-Identifier: BSD-3-Clause
//
// Where a site's policy is: beside the installation, and in the host's folder of settings, which
// counts where both set a variable.
#ifndef VERITY_POLICY_POLICY_FILE_H
#define VERITY_POLICY_POLICY_FILE_H

#include <string>

#include "policy/policy.h"

namespace verity::policy {

// SYSCONFDIR/ucx-verity.conf of the build.
[[nodiscard]] std::string host_file();
// For a plugin in `module_folder`, PREFIX/lib/ucx-verity/1.13.1:
// PREFIX/lib/ucx-verity/ucx-verity.conf. Empty where the folder is.
[[nodiscard]] std::string installation_file(const std::string& module_folder);

// A file that does not exist is an empty policy. One that cannot be read, is no regular file, is
// not owned by root, this user or the owner of its folder, or may be written to by group or others,
// is an error.
[[nodiscard]] Policy read_file(const std::string& path);

// Both files. UCX_VERITY_MODE is locked to verify where one of them is in error.
[[nodiscard]] Policy read_site(const std::string& module_folder);

}  // namespace verity::policy

#endif
