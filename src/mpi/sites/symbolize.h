// SPDX-License-Identifier: BSD-3-Clause
#ifndef VERITY_MPI_SITES_SYMBOLIZE_H
#define VERITY_MPI_SITES_SYMBOLIZE_H

#include <cstdint>
#include <string>

namespace verity::mpi {

// "function (file:line)" or "function" or nothing, from symbols and debug information. By elfutils'
// libdw, opened when first needed; without it from the dynamic symbols alone.
[[nodiscard]] std::string source_of(uintptr_t address);

}  // namespace verity::mpi

#endif
