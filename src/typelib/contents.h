// SPDX-License-Identifier: BSD-3-Clause
//
// What a datatype was made with. Errors of MPI are exceptions (MpiError).
#ifndef VERITY_TYPELIB_CONTENTS_H
#define VERITY_TYPELIB_CONTENTS_H

#include <climits>
#include <vector>

#include "typelib/handle.h"

namespace verity::typelib {

struct Envelope {
  MPI_Count integers = 0, addresses = 0, types = 0;
  MPI_Count counts = 0;  // arguments of MPI_Count, which the functions for large counts take
  int combiner = MPI_COMBINER_NAMED;

  [[nodiscard]] bool predefined() const {
#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
    if (combiner == MPI_COMBINER_VALUE_INDEX) return true;
#endif
    return combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_INTEGER ||
           combiner == MPI_COMBINER_F90_REAL || combiner == MPI_COMBINER_F90_COMPLEX;
  }
  // Whether MPI_Type_get_contents returns its arguments.
  [[nodiscard]] bool has_contents() const { return counts == 0 && integers <= INT_MAX; }
};

// MPI_Type_get_envelope fails, and calls the error handler, for a datatype made with MPI_Count
// arguments: only its form for large counts describes every datatype.
inline Envelope envelope_of(MPI_Datatype datatype) {
  Envelope e;
#if MPI_VERSION >= 4
  check(MPI_Type_get_envelope_c(datatype, &e.integers, &e.addresses, &e.counts, &e.types,
                                &e.combiner));
#else
  int integers = 0, addresses = 0, types = 0;
  check(MPI_Type_get_envelope(datatype, &integers, &addresses, &types, &e.combiner));
  e.integers = integers;
  e.addresses = addresses;
  e.types = types;
#endif
  return e;
}

// The types in it that have to be freed are, with it. Precondition: e.has_contents().
struct Contents {
  Contents(MPI_Datatype datatype, const Envelope& e)
      : integers(static_cast<size_t>(e.integers)),
        addresses(static_cast<size_t>(e.addresses)),
        types(static_cast<size_t>(e.types)) {
    check(MPI_Type_get_contents(datatype, static_cast<int>(e.integers),
                                static_cast<int>(e.addresses), static_cast<int>(e.types),
                                integers.data(), addresses.data(), types.data()));
    for (MPI_Datatype type : types) {
      if (!envelope_of(type).predefined()) owned.emplace_back(type);
    }
  }

  std::vector<int> integers;
  std::vector<MPI_Aint> addresses;
  std::vector<MPI_Datatype> types;
  std::vector<Handle> owned;
};

}  // namespace verity::typelib

#endif
