// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/handles/contents.h"

#include "mpi/process/library.h"

namespace verity::mpi {

bool get_envelope(MPI_Datatype datatype, TypeEnvelope* envelope_p) {
  TypeEnvelope& e = *envelope_p;
#ifdef VERITY_MPI4_COUNTS
  if (library().Type_get_envelope_c != nullptr) {
    return library().Type_get_envelope_c(datatype, &e.integers, &e.addresses, &e.counts, &e.types,
                                         &e.combiner) == MPI_SUCCESS;
  }
#endif
  int integers = 0, addresses = 0, types = 0;
  if (library().Type_get_envelope(datatype, &integers, &addresses, &types, &e.combiner) !=
      MPI_SUCCESS)
    return false;
  e.integers = integers;
  e.addresses = addresses;
  e.types = types;
  return true;
}

bool get_contents(MPI_Datatype datatype, const TypeEnvelope& e, Contents* contents_p) {
  Contents& c = *contents_p;
  c.integers.resize(static_cast<size_t>(e.integers));
  c.counts.resize(static_cast<size_t>(e.counts));
  c.types.resize(static_cast<size_t>(e.types));
  c.addresses.resize(static_cast<size_t>(e.addresses));
#ifdef VERITY_MPI4_COUNTS
  if (library().Type_get_contents_c != nullptr) {
    return library().Type_get_contents_c(datatype, e.integers, e.addresses, e.counts, e.types,
                                         c.integers.data(), c.addresses.data(), c.counts.data(),
                                         c.types.data()) == MPI_SUCCESS;
  }
#endif
  return library().Type_get_contents(datatype, static_cast<int>(e.integers),
                                     static_cast<int>(e.addresses), static_cast<int>(e.types),
                                     c.integers.data(), c.addresses.data(),
                                     c.types.data()) == MPI_SUCCESS;
}

bool must_be_freed(MPI_Datatype datatype) {
  TypeEnvelope envelope;
  if (!get_envelope(datatype, &envelope)) return false;
  switch (envelope.combiner) {
    case MPI_COMBINER_NAMED:
    case MPI_COMBINER_F90_INTEGER:
    case MPI_COMBINER_F90_REAL:
    case MPI_COMBINER_F90_COMPLEX: return false;
#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
    case MPI_COMBINER_VALUE_INDEX: return false;
#endif
    default: return true;
  }
}

}  // namespace verity::mpi
