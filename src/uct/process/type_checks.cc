// SPDX-License-Identifier: BSD-3-Clause
#include "uct/process/type_checks.h"

#include <dlfcn.h>
#include <strings.h>

#include <cstdio>
#include <cstdlib>

#include "util/complain.h"

namespace verity::uct {

void warn_without_type_library() noexcept {
  const char* wanted = std::getenv("UCX_VERITY_TYPECHECK");
  if (wanted == nullptr || (strcasecmp(wanted, "warn") != 0 && strcasecmp(wanted, "error") != 0))
    return;
  if (dlsym(RTLD_DEFAULT, "verity_interposer") != nullptr) return;
  util::complain(
      "ucx-verity: UCX_VERITY_TYPECHECK=%s, but LD_PRELOAD has neither "
      "libverity_mpi_openmpi.so nor libverity_mpi_mpich.so: no "
      "datatype is compared (run: eval \"$(ucx-verity env --typecheck %s)\")\n",
      wanted, wanted);
}

}  // namespace verity::uct
