// SPDX-License-Identifier: BSD-3-Clause
//
// Datatype handles that are freed with their owner, and MPI errors as exceptions, which end in the
// C functions.
#ifndef VERITY_TYPELIB_HANDLE_H
#define VERITY_TYPELIB_HANDLE_H

#include <utility>

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

namespace verity::typelib {

struct MpiError {
  int code;
};

inline void check(int code) {
  if (code != MPI_SUCCESS) throw MpiError{code};
}

// A derived datatype of ours.
class Handle {
 public:
  Handle() = default;
  explicit Handle(MPI_Datatype owned) noexcept : datatype_(owned) {}
  Handle(Handle&& other) noexcept : datatype_(std::exchange(other.datatype_, MPI_DATATYPE_NULL)) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(datatype_, other.datatype_);
    return *this;
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() {
    if (datatype_ != MPI_DATATYPE_NULL) MPI_Type_free(&datatype_);
  }

  [[nodiscard]] MPI_Datatype get() const noexcept { return datatype_; }
  [[nodiscard]] MPI_Datatype release() noexcept {
    return std::exchange(datatype_, MPI_DATATYPE_NULL);
  }
  // For the last argument of a constructor.
  [[nodiscard]] MPI_Datatype* out() noexcept { return &datatype_; }

 private:
  MPI_Datatype datatype_ = MPI_DATATYPE_NULL;
};

struct Extent {
  MPI_Aint lower_bound = 0;
  MPI_Aint extent = 0;
  [[nodiscard]] bool operator==(const Extent& other) const = default;
};

inline Extent extent_of(MPI_Datatype datatype) {
  Extent extent;
  check(MPI_Type_get_extent(datatype, &extent.lower_bound, &extent.extent));
  return extent;
}

}  // namespace verity::typelib

#endif
