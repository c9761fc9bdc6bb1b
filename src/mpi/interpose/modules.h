// SPDX-License-Identifier: BSD-3-Clause
// The program and its libraries, as far as code that calls the wrappers lies in them.
#ifndef VERITY_MPI_INTERPOSE_MODULES_H
#define VERITY_MPI_INTERPOSE_MODULES_H

#include <cstdint>
#include <string>

namespace verity::mpi {

struct Module {
  uintptr_t base = 0;   // where the file's address 0 is
  uintptr_t begin = 0;  // of its code
  uintptr_t end = 0;    // 0: no module
  uint16_t id = 0;      // never 0 for a module
  bool mpi_library = false;
  bool ucp = false;
  bool binding = false;  // functions that call the C ones in another's name: Fortran's
};

// The module whose code holds the address; one with end == 0 when there is none. Thread-safe.
[[nodiscard]] Module module_at(uintptr_t address) noexcept;
// The module with this id, in which the offset lies; the program itself first. False when this
// process has none.
[[nodiscard]] bool module_with(uint16_t id, uint64_t offset, Module* module_p, std::string* name_p);

}  // namespace verity::mpi

#endif
