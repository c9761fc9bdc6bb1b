// SPDX-License-Identifier: BSD-3-Clause
#include "uct/extensions/extensions.h"

#include "uct/process/interposer.h"
#include "uct/process/warnings.h"

namespace verity::uct {

void Extensions::open(void* uct_worker, bool has_room) noexcept {
  const verity_interposer* const interposer = has_room ? find_interposer() : nullptr;
  const bool is_mpis = interposer != nullptr && interposer->interface_opened(uct_worker) != 0;
  mpi_ = is_mpis ? interposer : nullptr;
}

uint32_t Extensions::agree(link::Mode mode, unsigned theirs) const noexcept {
  if (mpi_ == nullptr || theirs == 0 || mode == link::Mode::kOff) return 0;
  if (theirs == VERITY_INTERPOSER_VERSION) return mpi_->am_ids;
  warnings().trailers_differ(theirs);
  return 0;
}

}  // namespace verity::uct
