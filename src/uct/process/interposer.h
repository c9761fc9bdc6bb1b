// SPDX-License-Identifier: BSD-3-Clause
#ifndef VERITY_UCT_PROCESS_INTERPOSER_H
#define VERITY_UCT_PROCESS_INTERPOSER_H

#include "util/interposer.h"

namespace verity::uct {

// The MPI interposer that was preloaded and wants to observe messages; nullptr: none. Says so once
// when its version is another.
[[nodiscard]] const verity_interposer* find_interposer() noexcept;

}  // namespace verity::uct

#endif
