// SPDX-License-Identifier: BSD-3-Clause
#include "tools/env/environment.h"

#include <algorithm>
#include <cstdio>

namespace verity::tools {

namespace {

std::string_view file_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// The preload first, the interposers behind it. Without type checks those of an earlier evaluation
// stay: they do nothing then.
std::string preload_list(const EnvironmentRequest& request) {
  std::string list = request.old_preload;
  if (!request.typecheck.empty()) {
    for (auto path = request.interposers.rbegin(); path != request.interposers.rend(); ++path) {
      list = prepend_path(list, *path, " :");
    }
  }
  return needs_preload(request.ucx) ? prepend_path(list, request.preload, " :") : list;
}

void add_loader(const EnvironmentRequest& request, std::vector<Variable>* variables) {
  if (needs_preload(request.ucx) || !request.typecheck.empty()) {
    variables->push_back({"LD_PRELOAD", preload_list(request)});
  }
  if (needs_preload(request.ucx)) {
    variables->push_back({"UCX_MODULE_DIR", request.module_dir});
  } else {
    variables->push_back(
        {"UCX_PLUGIN_PATH", prepend_path(request.old_plugin_path, request.module_dir, ":")});
  }
  if (!request.typecheck.empty()) variables->push_back({"UCX_VERITY_TYPECHECK", request.typecheck});
}

// Open MPI falls back to other components silently when the chosen one is not named, and its
// UCX components refuse transports whose names they do not know.
void add_open_mpi(const EnvironmentRequest& request, std::vector<Variable>* variables) {
  variables->push_back({"OMPI_MCA_pml", "ucx"});
  // Each window goes to the component of the highest priority that offers its kind, and to no other
  // one when that fails. osc/sm offers shared windows and MPI_Win_allocate at 100: below osc/ucx it
  // gets the shared windows alone, which osc/ucx of Open MPI 4 does not offer.
  variables->push_back({"OMPI_MCA_osc", "ucx,sm"});
  variables->push_back({"OMPI_MCA_osc_ucx_priority", "200"});
  if (!request.opens_filter) return;
  variables->push_back({"OMPI_MCA_opal_common_ucx_tls", "any"});
  variables->push_back({"OMPI_MCA_opal_common_ucx_devices", "any"});
}

}  // namespace

Version parse_version(std::string_view text) {
  Version version;
  if (std::sscanf(std::string(text).c_str(), "%d.%d", &version.major, &version.minor) != 2) {
    return {};
  }
  return version;
}

bool needs_preload(Version ucx) { return ucx.major < 1 || (ucx.major == 1 && ucx.minor < 22); }

const char* plugin_variable(Version ucx) {
  return needs_preload(ucx) ? "UCX_MODULE_DIR" : "UCX_PLUGIN_PATH";
}

std::vector<Variable> make_environment(const EnvironmentRequest& request) {
  std::vector<Variable> variables;
  add_loader(request, &variables);
  if (!request.ucx_tls.empty()) variables.push_back({"UCX_TLS", request.ucx_tls});
  if (request.transparent || request.was_transparent)
    variables.push_back({"UCX_VERITY_TRANSPARENT", request.transparent ? "y" : "n"});
  add_open_mpi(request, &variables);
  return variables;
}

std::string prepend_path(std::string_view list, const std::string& entry,
                         std::string_view separators) {
  std::string result = entry;
  while (!list.empty()) {
    const std::size_t end = std::min(list.find_first_of(separators), list.size());
    const std::string_view old = list.substr(0, end);
    if (!old.empty() && old != entry && file_name(old) != file_name(entry)) {
      result += ":" + std::string(old);
    }
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return result;
}

}  // namespace verity::tools
