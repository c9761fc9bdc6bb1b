// SPDX-License-Identifier: BSD-3-Clause
// Whether this process checks, and how: from the environment and from which MPI library it has.
#include <strings.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "mpi/interpose/behind.h"
#include "mpi/interpose/next.h"
#include "mpi/process/library.h"
#include "mpi/process/this_process.h"
#include "util/complain.h"

namespace verity::mpi {

namespace {

// The index of a variable's value in `names`; the first one with a line on stderr when it is none
// of them.
int choice(const char* variable, const char* const names[], const char* allowed) noexcept {
  const char* value = std::getenv(variable);
  if (value == nullptr || *value == '\0') return 0;
  for (int i = 0; names[i] != nullptr; ++i) {
    if (strcasecmp(value, names[i]) == 0) return i;
  }
  util::complain("ucx-verity: %s=%s: bad value; allowed: %s. Using %s\n", variable, value, allowed,
                 names[0]);
  return 0;
}

// The environment may change, and the program may go to another folder.
const char* path_of_now(const char* name) noexcept {
  char* folder = name[0] != '/' ? get_current_dir_name() : nullptr;
  char* path = nullptr;
  if (folder == nullptr || asprintf(&path, "%s/%s", folder, name) < 0) path = strdup(name);
  std::free(folder);
  return path;
}

Settings read_settings() noexcept {
  static const char* const kChecks[] = {"off", "warn", "error", nullptr};
  static const char* const kLevels[] = {"layout", "names", nullptr};
  Settings read;
  read.check = static_cast<Check>(choice("UCX_VERITY_TYPECHECK", kChecks, "off, warn, error"));
  if (read.check == Check::kOff) return read;
  read.level =
      static_cast<signature::Level>(choice("UCX_VERITY_TYPECHECK_LEVEL", kLevels, "layout, names"));
  const char* log = std::getenv("UCX_VERITY_TYPECHECK_LOG");
  if (log != nullptr && *log != '\0') read.log = path_of_now(log);
  static const char* const kNo[] = {"n", "no", "off", "0", "y", "yes", "on", "1", nullptr};
  read.digest = choice("UCX_VERITY_TYPECHECK_DIGEST", kNo, "y, n") >= 4;
  const char* attest = std::getenv("UCX_VERITY_ATTEST");
  read.always_attest = attest != nullptr && strcasecmp(attest, "always") == 0;
  return read;
}

// Whether the process's MPI is the one whose header this was compiled with. May be asked before
// MPI_Init.
bool is_own_mpi() noexcept {
  using GetVersion = int (*)(char*, int*);
  const auto get_version = reinterpret_cast<GetVersion>(find_next("PMPI_Get_library_version"));
  if (get_version == nullptr) return false;
  char version[MPI_MAX_LIBRARY_VERSION_STRING + 8192] = {};  // as long as any library's
  int length = 0;
  get_version(version, &length);
#if defined(OPEN_MPI)
  return std::strstr(version, "Open MPI") != nullptr;
#else
  for (const char* kin : {"MPICH", "MVAPICH", "Intel(R) MPI"}) {
    if (std::strstr(version, kin) != nullptr) return true;
  }
  return false;
#endif
}

void start_checking() noexcept {
  if (!load_library()) {
    util::complain("ucx-verity: this " VERITY_MPI_NAME
                   " lacks functions that the checks of datatypes need: none is made\n");
    this_process.state.store(kForward, std::memory_order_relaxed);
    return;
  }
  this_process.state.store(kChecking, std::memory_order_release);
}

}  // namespace

void decide() noexcept {
  static std::once_flag once;
  std::call_once(once, [] {
    const Settings read = read_settings();
    if (read.check == Check::kOff || !is_own_mpi()) {
      this_process.state.store(kForward, std::memory_order_relaxed);
      return;
    }
    this_process.settings = read;
    start_checking();
  });
}

}  // namespace verity::mpi

extern "C" int verity_step_aside(const char* name, void** next_p) {
  if (!verity::mpi::forwarding()) return 0;
  *next_p = verity::mpi::find_behind(name);
  return 1;
}
