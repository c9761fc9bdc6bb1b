// SPDX-License-Identifier: BSD-3-Clause
#include "uct/compat/load_check.h"

#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <string>

#include "uct/compat/ucx.h"
#include "util/complain.h"

namespace verity::uct {
namespace {

using GetVersion = const char* (*)();

// The file that holds `address`; empty: unknown.
std::string file_of(const void* address) {
  Dl_info info;
  return dladdr(address, &info) != 0 && info.dli_fname != nullptr ? info.dli_fname : std::string();
}

// Up to the last '/', without it.
std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string(".") : path.substr(0, slash);
}

std::string libuct_path() { return file_of(reinterpret_cast<void*>(&uct_component_register)); }

// Only libucp has the version. A program that uses UCT alone may not have it in memory: then it
// is taken from beside libuct, and stays, since UCX's libraries do not like to be unloaded.
std::string run_time_version() {
  std::string path = libuct_path();
  const size_t name = path.rfind("libuct.so");
  if (name == std::string::npos) { return {}; }
  path.replace(name, strlen("libuct.so"), "libucp.so");
  void* library = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) { return {}; }
  const auto get_version = reinterpret_cast<GetVersion>(dlsym(library, "ucp_get_version_string"));
  return get_version != nullptr ? get_version() : std::string();
}

// Assertions put fields in front of the mode of UCX's asynchronous context. One whose mode is known
// shows whether it is where this build looks for it.
bool has_same_assertions() {
  ucs_async_context_t* async = nullptr;
  if (ucs_async_context_create(UCS_ASYNC_MODE_POLL, &async) != UCS_OK) return false;
  const bool same = async->mode == UCS_ASYNC_MODE_POLL;
  ucs_async_context_destroy(async);
  return same;
}

bool has_same_statistics() noexcept {
  return uct_base_iface_t_class.size == sizeof(uct_base_iface_t) &&
         uct_base_ep_t_class.size == sizeof(uct_base_ep_t);
}

bool is_same_file(const std::string& a, const std::string& b) {
  struct stat of_a {};
  struct stat of_b {};
  return stat(a.c_str(), &of_a) == 0 && stat(b.c_str(), &of_b) == 0 && of_a.st_dev == of_b.st_dev &&
         of_a.st_ino == of_b.st_ino;
}

// The plugin of that version in its place: <folder>/<version>/<this file's name>. False: none, or
// this one, which someone put there.
bool load_sibling(const std::string& version, std::string* error_p) {
  const std::string own = file_of(reinterpret_cast<void*>(&ucx_fits_this_build));
  const std::string folder = folder_of(own);
  const std::string sibling =
      folder_of(folder) + '/' + version + '/' + own.substr(own.rfind('/') + 1);
  if (own.find('/') == std::string::npos || access(sibling.c_str(), R_OK) != 0 ||
      is_same_file(own, sibling))
    return false;
  if (dlopen(sibling.c_str(), RTLD_NOW | RTLD_LOCAL) != nullptr) return true;
  const char* reason = dlerror();
  *error_p = "; " + std::string(reason != nullptr ? reason : sibling + " cannot be loaded");
  return false;
}

void refuse_version(const char* who, const std::string& version, const std::string& error) {
  util::complain(
      "%s: built for UCX %s but this process runs UCX %s (%s)%s: plugin not used; install "
      "the ucx-verity built for this UCX (contrib/build-for-ucx %s)\n",
      who, VERITY_UCX_VERSION, version.empty() ? "of unknown version" : version.c_str(),
      libuct_path().c_str(), error.c_str(), folder_of(folder_of(libuct_path())).c_str());
}

void refuse_build(const char* who, const char* difference) {
  util::complain(
      "%s: this process runs another build of UCX %s (%s; %s): plugin not used; build "
      "ucx-verity for it (contrib/build-for-ucx %s)\n",
      who, VERITY_UCX_VERSION, libuct_path().c_str(), difference,
      folder_of(folder_of(libuct_path())).c_str());
}

// The options of this build that change structures, as configure read them from `ucx_info -b`.
#if VERITY_UCX_STATISTICS
constexpr const char* kStatistics = "it has no statistics, this plugin expects them";
#else
constexpr const char* kStatistics = "it has statistics, this plugin expects none";
#endif
#if VERITY_UCX_ASSERTIONS
constexpr const char* kAssertions = "it has no assertions, this plugin expects them";
#else
constexpr const char* kAssertions = "it has assertions, this plugin expects none";
#endif

}  // namespace

bool ucx_fits_this_build(const char* who) noexcept {
  try {
    const std::string version = run_time_version();
    if (version != VERITY_UCX_VERSION) {
      std::string error;
      if (version.empty() || !load_sibling(version, &error)) refuse_version(who, version, error);
      return false;
    }
    if (!has_same_statistics()) {
      refuse_build(who, kStatistics);
      return false;
    }
    if (!has_same_assertions()) {
      refuse_build(who, kAssertions);
      return false;
    }
    return true;
  } catch (...) { return false; }
}

}  // namespace verity::uct
