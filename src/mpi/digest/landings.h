// SPDX-License-Identifier: BSD-3-Clause
// The buffers into which receives are under way whose data are digested. Two that overlap, as
// programs have them that do not read what they receive, would each find the other's data: both are
// left out.
#ifndef VERITY_MPI_DIGEST_LANDINGS_H
#define VERITY_MPI_DIGEST_LANDINGS_H

#include <cstdint>

#include "mpi/handles/layout.h"

namespace verity::mpi {

class Landings {
 public:
  // False: no memory, or it is known already that another one's data may land there.
  [[nodiscard]] static bool begin(const void* owner, const Layout& layout, const void* address,
                                  uint64_t copies) noexcept;
  // Precondition: begin() returned true. Whether no other one was under way that overlaps.
  [[nodiscard]] static bool end(const void* owner) noexcept;
};

}  // namespace verity::mpi

#endif
