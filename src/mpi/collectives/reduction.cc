// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/collectives/reduction.h"

#include "mpi/interpose/next.h"

namespace verity::mpi {

namespace {

// X(name, Open MPI's data object)
#define VERITY_REDUCTIONS(X)          \
  X(MPI_MAX, ompi_mpi_op_max)         \
  X(MPI_MIN, ompi_mpi_op_min)         \
  X(MPI_SUM, ompi_mpi_op_sum)         \
  X(MPI_PROD, ompi_mpi_op_prod)       \
  X(MPI_LAND, ompi_mpi_op_land)       \
  X(MPI_BAND, ompi_mpi_op_band)       \
  X(MPI_LOR, ompi_mpi_op_lor)         \
  X(MPI_BOR, ompi_mpi_op_bor)         \
  X(MPI_LXOR, ompi_mpi_op_lxor)       \
  X(MPI_BXOR, ompi_mpi_op_bxor)       \
  X(MPI_MAXLOC, ompi_mpi_op_maxloc)   \
  X(MPI_MINLOC, ompi_mpi_op_minloc)   \
  X(MPI_REPLACE, ompi_mpi_op_replace) \
  X(MPI_NO_OP, ompi_mpi_op_no_op)

struct Reduction {
  const char* name;
  MPI_Op op;
};

const Reduction* reductions() noexcept {
#if defined(OPEN_MPI)
#define VERITY_REDUCTION(name, object) {#name, static_cast<MPI_Op>(find_data(#object))},
#else
#define VERITY_REDUCTION(name, object) {#name, name},
#endif
  static const Reduction all[] = {VERITY_REDUCTIONS(VERITY_REDUCTION)};
  return all;
}

#define VERITY_ONE(name, object) +1
constexpr uint8_t kReductions = 0 VERITY_REDUCTIONS(VERITY_ONE);

}  // namespace

uint8_t reduction_number(MPI_Op op) noexcept {
  for (uint8_t i = 0; i < kReductions; ++i) {
    if (reductions()[i].op == op) return static_cast<uint8_t>(i + 1);
  }
  return kUserReduction;
}

const char* reduction_name(uint8_t number) noexcept {
  if (number == kUserReduction) return "an operation of the program";
  return number >= 1 && number <= kReductions ? reductions()[number - 1].name : "no operation";
}

}  // namespace verity::mpi
