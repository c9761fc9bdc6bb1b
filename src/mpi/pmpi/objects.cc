// SPDX-License-Identifier: BSD-3-Clause
// Calls that end the life of a handle, which may then come again for something else; those that
// make a communicator of which more must be known than shows; and that which begins a datatype's.
#include <optional>

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
  Ending(const Handle* handle, Handle none, void (*forget)(Handle))
      : ending_(forgotten(handle != nullptr ? *handle : none, forget)) {}

 private:
  template <typename Handle>
  static Handle forgotten(Handle handle, void (*forget)(Handle)) {
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
// By the MPI library itself, whose own ones are not probed.
void end_known_comm(MPI_Comm comm) {
  if (CommTable::known(comm) != nullptr) end_comm(comm);
}
void end_type(MPI_Datatype type) { forget_type(type); }

// What the MPI library frees by itself may be a second handle of the program's own datatype, as
// ROMIO gets them by MPI_Type_get_contents: that goes on, perhaps in other threads at once.
class EndingType {
 public:
  EndingType(const Call& call, const MPI_Datatype* type) noexcept
      : doubted_(call.internal() && type != nullptr ? *type : handles().type_null) {
    if (!call.internal()) ending_.emplace(type, handles().type_null, end_type);
    doubt_type(doubted_);
  }
  // A callback of the call may have looked it up.
  ~EndingType() { doubt_type(doubted_); }
  EndingType(const EndingType&) = delete;
  EndingType& operator=(const EndingType&) = delete;

 private:
  MPI_Datatype doubted_;
  std::optional<Ending<TypeTable>> ending_;
};

// MPI may refuse to free a communicator, as where an attribute's delete callback fails: it goes on,
// but how many calls were made in it is forgotten. That is known before it may be entered again.
// Open MPI's MPI_Comm_disconnect returns MPI_SUCCESS then.
class Refusal {
 public:
  Refusal(const Call& call, const MPI_Comm* comm) noexcept
      : call_(call), comm_(comm), before_(comm != nullptr ? *comm : handles().comm_null) {}
  ~Refusal() {
    if (before_ == handles().comm_null) return;
    if (call_.rc != MPI_SUCCESS || *comm_ == before_) stop_comparing(before_);
  }
  Refusal(const Refusal&) = delete;
  Refusal& operator=(const Refusal&) = delete;

 private:
  const Call& call_;
  const MPI_Comm* comm_;
  MPI_Comm before_;
};

#ifdef OPEN_MPI
// From Open MPI 6 on each process numbers a communicator of these for itself, and the tags of its
// messages hold the receiver's number. (What is made of such a communicator has one number again:
// ompi_comm_nextcid() in ompi/communicator/comm_cid.c.)
class Numbering {
 public:
  Numbering(const Call& call, const MPI_Comm* made) noexcept : call_(call), made_(made) {}
  ~Numbering() {
    if (call_.rc == MPI_SUCCESS && *made_ != handles().comm_null) never_compare(*made_);
  }
  Numbering(const Numbering&) = delete;
  Numbering& operator=(const Numbering&) = delete;

 private:
  const Call& call_;
  const MPI_Comm* made_;
};
#endif

void decode_type(MPI_Datatype type) {
  if (mpi_runs() && type != handles().type_null) static_cast<void>(find_type(type));
}

}  // namespace

VERITY_WRAP_FOR_ALL(Type_free, (MPI_Datatype * type), (type), const EndingType ending(call, type))
// One of this handle that is known may have been freed past MPI_Type_free above: by a function that
// was looked up in the MPI library itself.
VERITY_WRAP(Type_commit, (MPI_Datatype * type), (type), if (type != nullptr) doubt_type(*type))
#define ENDS_COMM                                                              \
  const Ending<CommTable> ending(comm, handles().comm_null,                    \
                                 call.internal() ? end_known_comm : end_comm); \
  const Refusal refusal(call, comm)
VERITY_WRAP_FOR_ALL(Comm_free, (MPI_Comm * comm), (comm), ENDS_COMM)
VERITY_WRAP_FOR_ALL(Comm_disconnect, (MPI_Comm * comm), (comm), ENDS_COMM)

#ifdef OPEN_MPI
// As older headers lack them, and the library may be a newer one.
extern "C" {
int MPI_Comm_create_from_group(MPI_Group, const char*, MPI_Info, MPI_Errhandler, MPI_Comm*);
int PMPI_Comm_create_from_group(MPI_Group, const char*, MPI_Info, MPI_Errhandler, MPI_Comm*);
int MPI_Intercomm_create_from_groups(MPI_Group, int, MPI_Group, int, const char*, MPI_Info,
                                     MPI_Errhandler, MPI_Comm*);
int PMPI_Intercomm_create_from_groups(MPI_Group, int, MPI_Group, int, const char*, MPI_Info,
                                      MPI_Errhandler, MPI_Comm*);
}
VERITY_WRAP(Comm_create_from_group,
            (MPI_Group group, const char* tag, MPI_Info info, MPI_Errhandler handler,
             MPI_Comm* made),
            (group, tag, info, handler, made), const Numbering numbering(call, made))
VERITY_WRAP(Intercomm_create_from_groups,
            (MPI_Group local, int local_leader, MPI_Group remote, int remote_leader,
             const char* tag, MPI_Info info, MPI_Errhandler handler, MPI_Comm* made),
            (local, local_leader, remote, remote_leader, tag, info, handler, made),
            const Numbering numbering(call, made))
#endif

// A predefined type is known by its name, before the program gives it another.
VERITY_WRAP(Type_set_name, (MPI_Datatype type, const char* name), (type, name), decode_type(type))
VERITY_WRAP(Comm_set_name, (MPI_Comm comm, const char* name), (comm, name), rename_comm(comm, name))
