// SPDX-License-Identifier: BSD-3-Clause
#ifndef VERITY_TOOLS_ENV_ENV_H
#define VERITY_TOOLS_ENV_ENV_H

#include <string>
#include <vector>

#include "policy/policy.h"
#include "tools/env/environment.h"
#include "tools/ucx_query.h"

namespace verity::tools {

// What a job needs set, or why it is unknown (`error`).
struct JobEnvironment {
  std::string ucx_version;
  std::vector<std::string> transports;  // lower names
  std::vector<Variable> variables;
  std::string error;
  policy::Policy policy{};  // the site's
};

// A request; the defaults are the command's.
struct JobRequest {
  std::string tls;           // as for --tls
  std::string typecheck{};   // warn, error, or empty: no checks of datatypes
  bool transparent = false;  // wrapped transports keep the names of UCX's own
  std::string prefix{};      // of another installation, or a build tree; empty: this one
};

// Reads LD_PRELOAD and the installation's folders.
[[nodiscard]] JobEnvironment job_environment(const UcxInfo& ucx, const JobRequest& request);

}  // namespace verity::tools

#endif
