// SPDX-License-Identifier: BSD-3-Clause
// Calls that end the life of a handle, which may then come again for something else.
#include "mpi/collectives/collecting.h"
#include "mpi/handles/comms.h"
#include "mpi/handles/types.h"
#include "mpi/pmpi/partitioned.h"
#include "mpi/pmpi/wrap.h"

using namespace verity::mpi;  // NOLINT: the wrappers are C functions

namespace {

// The table drops the handle before the call, as another thread may get the same one before the
// call returns.
template <typename Table>
class Ending {
 public:
  template <typename Handle>
  Ending(const Handle* handle, Handle none, void (*forget)(Handle)) noexcept
      : ending_(forgotten(handle != nullptr ? *handle : none, forget)) {}

 private:
  template <typename Handle>
  static Handle forgotten(Handle handle, void (*forget)(Handle)) noexcept {
    if (thread.depth == 1) Table::Ending::forget_all();
    forget(handle);
    return handle;
  }
  typename Table::Ending ending_;
};

void end_comm(MPI_Comm comm) {
  forget_collectives(comm);
  forget_partitioned(comm);
  forget_comm(comm);
}
void end_type(MPI_Datatype type) { forget_type(type); }

void decode_type(MPI_Datatype type) noexcept {
  if (mpi_runs() && type != handles().type_null) static_cast<void>(find_type(type));
}

}  // namespace

VERITY_WRAP(Type_free, (MPI_Datatype * type), (type),
            const Ending<TypeTable> ending(type, handles().type_null, end_type))
VERITY_WRAP(Comm_free, (MPI_Comm * comm), (comm),
            const Ending<CommTable> ending(comm, handles().comm_null, end_comm))
VERITY_WRAP(Comm_disconnect, (MPI_Comm * comm), (comm),
            const Ending<CommTable> ending(comm, handles().comm_null, end_comm))
// A predefined type is known by its name, before the program gives it another.
VERITY_WRAP(Type_set_name, (MPI_Datatype type, const char* name), (type, name), decode_type(type))
VERITY_WRAP(Comm_set_name, (MPI_Comm comm, const char* name), (comm, name), rename_comm(comm, name))
