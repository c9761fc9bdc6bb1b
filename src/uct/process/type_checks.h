// SPDX-License-Identifier: BSD-3-Clause
#ifndef VERITY_UCT_PROCESS_TYPE_CHECKS_H
#define VERITY_UCT_PROCESS_TYPE_CHECKS_H

namespace verity::uct {

// One line on stderr where UCX_VERITY_TYPECHECK wants checks of datatypes and the library that
// makes them is not in the process. To be called in one process of a job.
void warn_without_type_library() noexcept;

}  // namespace verity::uct

#endif
