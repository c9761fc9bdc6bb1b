// SPDX-License-Identifier: BSD-3-Clause
#include "uct/compat/load_check.h"

#include <dlfcn.h>
#include <limits.h>

#include <cstdio>
#include <cstring>
#include <string>

#include "uct/compat/ucx.h"

namespace verity::uct {
namespace {

using GetVersion = const char* (*)();

// Only libucp has the version. A program that uses UCT alone may not have it in memory: then it
// is taken from beside libuct, and stays, since UCX's libraries do not like to be unloaded.
const char* run_time_version() {
  Dl_info uct_library;
  if (dladdr(reinterpret_cast<void*>(&uct_component_register), &uct_library) == 0) {
    return nullptr;
  }
  std::string path(uct_library.dli_fname);
  const size_t name = path.rfind("libuct.so");
  if (name == std::string::npos) { return nullptr; }
  path.replace(name, strlen("libuct.so"), "libucp.so");
  void* library = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) { return nullptr; }
  const auto get_version = reinterpret_cast<GetVersion>(dlsym(library, "ucp_get_version_string"));
  return get_version != nullptr ? get_version() : nullptr;
}

}  // namespace

bool ucx_fits_this_build(const char* who) noexcept {
  try {
    const char* version = run_time_version();
    if (version == nullptr || std::strcmp(version, VERITY_UCX_VERSION) != 0) {
      std::fprintf(stderr,
                   "%s: built for UCX %s but this process runs UCX %s: plugin not used; install "
                   "the ucx-verity built for this UCX\n",
                   who, VERITY_UCX_VERSION, version != nullptr ? version : "of unknown version");
      return false;
    }
    if (uct_base_iface_t_class.size != sizeof(uct_base_iface_t) ||
        uct_base_ep_t_class.size != sizeof(uct_base_ep_t)) {
      std::fprintf(
          stderr,
          "%s: this process runs another build of UCX %s (interface %zu bytes, not %zu; "
          "statistics or debugging differ): plugin not used; build ucx-verity against it\n",
          who, VERITY_UCX_VERSION, uct_base_iface_t_class.size, sizeof(uct_base_iface_t));
      return false;
    }
    return true;
  } catch (...) { return false; }
}

}  // namespace verity::uct
