// SPDX-License-Identifier: BSD-3-Clause
// Whose calls of UCP these are: the MPI library makes them, or a program or another library that
// uses UCP for its own ends.
#ifndef VERITY_MPI_INTERPOSE_CALLERS_H
#define VERITY_MPI_INTERPOSE_CALLERS_H

#include <cstdint>

namespace verity::mpi {

enum class Origin : uint8_t {
  kUnknown,  // code in no module, an interposer's
  kMpi,      // the MPI library or one of its components
  kUcp,      // UCP itself, inside of another call
  kOther,
};

// Of a call that returns there. Each module is looked up once; takes no lock then. Any thread.
[[nodiscard]] Origin origin_of(const void* return_address) noexcept;
// Calls from the module of this address are the MPI library's, from now on.
void regard_as_mpi(const void* return_address) noexcept;

}  // namespace verity::mpi

#endif
