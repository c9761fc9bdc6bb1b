// SPDX-License-Identifier: BSD-3-Clause
// Reduction operations by a number that all processes understand.
#ifndef VERITY_MPI_COLLECTIVES_REDUCTION_H
#define VERITY_MPI_COLLECTIVES_REDUCTION_H

#include <cstdint>

#include "mpi/process/mpi_api.h"

namespace verity::mpi {

inline constexpr uint8_t kNoReduction = 0;
inline constexpr uint8_t kUserReduction = 255;  // made with MPI_Op_create: which one is not known

// 1 to 14 for the predefined ones. On the wire: the numbers stay.
[[nodiscard]] uint8_t reduction_number(MPI_Op op) noexcept;
// "MPI_SUM", "an operation of the program's". Static storage.
[[nodiscard]] const char* reduction_name(uint8_t number) noexcept;

}  // namespace verity::mpi

#endif
