// SPDX-License-Identifier: BSD-3-Clause
//
// What a datatype was made with. Errors of MPI are exceptions (MpiError).
#ifndef VERITY_TYPELIB_CONTENTS_H
#define VERITY_TYPELIB_CONTENTS_H

#include <vector>

#include "typelib/handle.h"

namespace verity::typelib {

struct Envelope {
  int integers = 0, addresses = 0, types = 0, combiner = MPI_COMBINER_NAMED;

  [[nodiscard]] bool predefined() const {
    return combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_INTEGER ||
           combiner == MPI_COMBINER_F90_REAL || combiner == MPI_COMBINER_F90_COMPLEX;
  }
};

inline Envelope envelope_of(MPI_Datatype datatype) {
  Envelope e;
  check(MPI_Type_get_envelope(datatype, &e.integers, &e.addresses, &e.types, &e.combiner));
  return e;
}

// The types in it that have to be freed are, with it.
struct Contents {
  Contents(MPI_Datatype datatype, const Envelope& e)
      : integers(static_cast<size_t>(e.integers)),
        addresses(static_cast<size_t>(e.addresses)),
        types(static_cast<size_t>(e.types)) {
    check(MPI_Type_get_contents(datatype, e.integers, e.addresses, e.types, integers.data(),
                                addresses.data(), types.data()));
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
