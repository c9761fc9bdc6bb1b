// SPDX-License-Identifier: BSD-3-Clause
#include <new>

#include "typelib/shape.h"
#include "ucx-verity/types.h"

#define EXPORTED extern "C" __attribute__((visibility("default")))

namespace {

using verity::typelib::Extent;
using verity::typelib::Handle;

int normalize(MPI_Datatype oldtype, MPI_Datatype* newtype) {
  using namespace verity::typelib;
  std::vector<Handle> atoms;
  const Extent bounds = extent_of(oldtype);
  Handle made = build(shape_of(oldtype, 0, &atoms), bounds);
  if (made.get() == MPI_DATATYPE_NULL) check(MPI_Type_dup(oldtype, made.out()));
  *newtype = made.release();
  return MPI_SUCCESS;
}

}  // namespace

EXPORTED int verity_type_normalize(MPI_Datatype oldtype, MPI_Datatype* newtype) {
  if (newtype == nullptr) return MPI_ERR_ARG;
  *newtype = MPI_DATATYPE_NULL;
  if (oldtype == MPI_DATATYPE_NULL) return MPI_ERR_TYPE;
  try {
    return normalize(oldtype, newtype);
  } catch (const verity::typelib::MpiError& error) {
    return error.code;
  } catch (const std::bad_alloc&) { return MPI_ERR_NO_MEM; }
}

EXPORTED void verity_type_normalize_f(const MPI_Fint* oldtype, MPI_Fint* newtype,
                                      MPI_Fint* ierror) {
  MPI_Datatype made;
  *ierror = static_cast<MPI_Fint>(verity_type_normalize(MPI_Type_f2c(*oldtype), &made));
  *newtype = MPI_Type_c2f(made);
}
