// SPDX-License-Identifier: BSD-3-Clause
#include "uct/process/interposer.h"

#include <dlfcn.h>

#include "uct/compat/ucx.h"

namespace verity::uct {

namespace {

const verity_interposer* look_up() noexcept {
  const auto* found =
      static_cast<const verity_interposer*>(dlsym(RTLD_DEFAULT, "verity_interposer"));
  if (found == nullptr) return nullptr;
  if (found->version != VERITY_INTERPOSER_VERSION) {
    ucs_warn(
        "ucx-verity: the preloaded libverity_mpi has version %u, the transport plugin %u: "
        "datatypes are not checked; preload "
        "the one that was installed with this plugin",
        found->version, VERITY_INTERPOSER_VERSION);
    return nullptr;
  }
  return found;
}

}  // namespace

const verity_interposer* find_interposer() noexcept {
  static const verity_interposer* const interposer = look_up();
  if (interposer == nullptr) return nullptr;
  // A program may open interfaces before MPI begins.
  return __atomic_load_n(&interposer->am_ids, __ATOMIC_ACQUIRE) != 0 ? interposer : nullptr;
}

}  // namespace verity::uct
