// SPDX-License-Identifier: BSD-3-Clause
// Collective operations: blocking, nonblocking and persistent.
#include <numeric>
#include <optional>

#include "mpi/collectives/collecting.h"
#include "mpi/collectives/reduction.h"
#include "mpi/pmpi/wrap.h"
#include "mpi/process/library.h"

using namespace verity::mpi;  // NOLINT: the wrappers are C functions

namespace {

using Op = Collective;

struct Which {
  Collective operation;
  Form form;
};

int rank_in(MPI_Comm comm) {
  int rank = -1;
  if (mpi_runs() && comm != handles().comm_null) library().Comm_rank(comm, &rank);
  return rank;
}
// How long arrays with one entry for each rank are. 0 for communicators of two groups, whose calls
// are not compared: there the other group's size may count.
int size_of(MPI_Comm comm) {
  int size = 0, between_groups = 0;
  if (!mpi_runs() || comm == handles().comm_null) return 0;
  if (library().Comm_test_inter(comm, &between_groups) != MPI_SUCCESS || between_groups != 0)
    return 0;
  library().Comm_size(comm, &size);
  return size;
}

CollectiveCall start(Which which, int root = -1, uint8_t reduction = kNoReduction) {
  CollectiveCall call;
  call.operation = which.operation;
  call.form = which.form;
  call.root = root;
  call.reduction = reduction;
  return call;
}

CollectiveCall barrier(Which which) { return start(which); }

// All ranks name the same data.
CollectiveCall alike(Which which, Buffer data, int root, uint8_t reduction) {
  CollectiveCall call = start(which, root, reduction);
  call.gives = call.expects = data;
  return call;
}

// One block for each rank, of the same signature: the root's side of it, or that of the others.
CollectiveCall rooted(Which which, Buffer roots, Buffer others, int root, MPI_Comm comm) {
  return alike(which, rank_in(comm) == root ? roots : others, root, kNoReduction);
}

// A block to each, a block from each.
CollectiveCall exchange(Which which, const void* from, Buffer given, Buffer got) {
  CollectiveCall call = start(which);
  call.gives = from == MPI_IN_PLACE ? got : given;
  call.expects = got;
  return call;
}

template <typename Count>
std::vector<MPI_Count> copied(const Count* counts, MPI_Comm comm) {
  const int size = counts == nullptr ? 0 : size_of(comm);
  return std::vector<MPI_Count>(counts, counts + size);
}

template <typename Count>
CollectiveCall gather_v(Which which, Buffer given, const Count* counts, MPI_Datatype type, int root,
                        MPI_Comm comm) {
  CollectiveCall call = start(which, root);
  if (rank_in(comm) == root) {
    call.expects = Buffer{0, type};
    call.lengths = copied(counts, comm);
  } else {
    call.gives = given;
  }
  return call;
}

template <typename Count>
CollectiveCall allgather_v(Which which, const void* from, Buffer given, const Count* counts,
                           MPI_Datatype type, MPI_Comm comm) {
  CollectiveCall call = start(which);
  call.expects = Buffer{0, type};
  call.lengths = copied(counts, comm);
  const int rank = rank_in(comm);
  if (from != MPI_IN_PLACE) {
    call.gives = given;
  } else if (rank >= 0 && static_cast<size_t>(rank) < call.lengths.size()) {
    call.gives = Buffer{call.lengths[static_cast<size_t>(rank)], type};
  }
  return call;
}

// How much goes to each is not sent: only what it is made of.
CollectiveCall scatter_v(Which which, MPI_Datatype given, Buffer got, int root, MPI_Comm comm) {
  CollectiveCall call = start(which, root);
  call.by_element = true;
  if (rank_in(comm) == root) {
    call.gives = Buffer{1, given};
  } else {
    call.expects = got;
  }
  return call;
}

template <typename Count>
CollectiveCall alltoall_v(Which which, const void* from, MPI_Datatype given, const Count* counts,
                          MPI_Datatype got, MPI_Comm comm) {
  CollectiveCall call = start(which);
  call.by_element = true;
  call.gives = Buffer{1, from == MPI_IN_PLACE ? got : given};
  call.expects = Buffer{0, got};
  call.lengths = copied(counts, comm);
  return call;
}

// Of blocks of types of their own, all made of one basic type: a type that is so; nullopt: there is
// none, or they are of several.
template <typename Count>
std::optional<Buffer> one_basic(const Count* counts, const MPI_Datatype* types, size_t ranks) {
  const TypeInfo* first = nullptr;
  std::optional<Buffer> found;
  for (size_t i = 0; i < ranks; ++i) {
    const TypeInfo* type = counts[i] > 0 ? find_type(types[i]) : nullptr;
    if (counts[i] <= 0) continue;
    if (type == nullptr || !type->checkable || !type->type.homogeneous()) return std::nullopt;
    if (first != nullptr && !(first->type.basic() == type->type.basic())) return std::nullopt;
    if (first == nullptr) found = Buffer{1, types[i]};
    first = type;
  }
  return found;
}

template <typename Count>
CollectiveCall alltoall_w(Which which, const void* from, const Count* given,
                          const MPI_Datatype* given_types, const Count* counts,
                          const MPI_Datatype* types, MPI_Comm comm) {
  CollectiveCall call = start(which);
  call.by_element = true;
  call.lengths = copied(counts, comm);
  const bool in_place = from == MPI_IN_PLACE;
  if (call.lengths.empty() || types == nullptr) return call;
  if (!in_place && (given == nullptr || given_types == nullptr)) return call;  // MPI refuses it
  // Types of empty blocks are not decoded: programs have anything there.
  for (size_t i = 0; i < call.lengths.size(); ++i)
    call.types.push_back(call.lengths[i] > 0 ? types[i] : handles().type_null);
  call.expects = Buffer{0, handles().type_null};
  call.gives =
      one_basic(in_place ? counts : given, in_place ? types : given_types, call.lengths.size());
  return call;
}

template <typename Count>
MPI_Count sum(const Count* counts, MPI_Comm comm) {
  return counts == nullptr ? 0 : std::accumulate(counts, counts + size_of(comm), MPI_Count{0});
}

// Of exceptions those of the program's error handlers alone may pass into C: an operation for which
// there is no memory goes unchecked.
template <typename Make>
CollectiveCall guarded(Make make) {
  try {
    return make();
  } catch (const std::bad_alloc&) { return {}; }
}

}  // namespace

#define COLLECTING(make, request) \
  const Collecting collecting(guarded([&] { return make; }), comm, call.rc, request)

// Before they came with MPI 4, Open MPI had the persistent ones under names of its own.
#ifdef VERITY_MPI4_CALLS
#define PERSISTENT(name, s, parameters, arguments, operation, make)                                \
  PERSISTENT_ONE(MPI_##name##_init##s, "MPI_" #name "_init" #s, parameters, arguments, operation,  \
                 make)                                                                             \
  PERSISTENT_ONE(PMPI_##name##_init##s, "MPI_" #name "_init" #s, parameters, arguments, operation, \
                 make)
#elif defined(OMPI_HAVE_MPI_EXT_PCOLLREQ)
#define PERSISTENT(name, s, parameters, arguments, operation, make)                       \
  PERSISTENT_ONE(MPIX_##name##_init##s, "MPIX_" #name "_init" #s, parameters, arguments,  \
                 operation, make)                                                         \
  PERSISTENT_ONE(PMPIX_##name##_init##s, "MPIX_" #name "_init" #s, parameters, arguments, \
                 operation, make)
#else
#define PERSISTENT(name, s, parameters, arguments, operation, make)
#endif
#define PERSISTENT_ONE(function, label, parameters, arguments, operation, make)               \
  VERITY_TYPED(function, label,                                                               \
               (VERITY_STRIP parameters MPI_Comm comm, MPI_Info info, MPI_Request * request), \
               (VERITY_STRIP arguments comm, info, request),                                  \
               const Which which{operation, Form::kPersistent};                               \
               const Collecting collecting(guarded([&] { return make; }), comm, call.rc, request))
// One shape for the forms of a call: name and its suffix, parameters and arguments before the
// communicator.
#define FORMS(name, inonblocking, s, parameters, arguments, operation, make)                   \
  VERITY_WRAP(name##s, (VERITY_STRIP parameters MPI_Comm comm), (VERITY_STRIP arguments comm), \
              const Which which{operation, Form::kBlocking};                                   \
              COLLECTING(make, nullptr))                                                       \
  VERITY_WRAP(inonblocking##s, (VERITY_STRIP parameters MPI_Comm comm, MPI_Request * request), \
              (VERITY_STRIP arguments comm, request),                                          \
              const Which which{operation, Form::kNonblocking};                                \
              COLLECTING(make, request))                                                       \
  PERSISTENT(name, s, parameters, arguments, operation, make)
#define VERITY_STRIP(...) __VA_ARGS__ __VA_OPT__(, )

// A call with counts and displacements of both sizes: a rank may make the one, its peers the other.
#ifdef VERITY_MPI4_COUNTS
#define BOTH(SHAPE, ...)                      \
  SHAPE(__VA_ARGS__ __VA_OPT__(, ), int, int) \
  SHAPE(__VA_ARGS__ __VA_OPT__(, ) _c, MPI_Count, MPI_Aint)
#else
#define BOTH(SHAPE, ...) SHAPE(__VA_ARGS__ __VA_OPT__(, ), int, int)
#endif

FORMS(Barrier, Ibarrier, , (), (), Op::kBarrier, barrier(which))

#define BCAST(s, Count, Place)                                                      \
  FORMS(Bcast, Ibcast, s, (void* buffer, Count count, MPI_Datatype type, int root), \
        (buffer, count, type, root), Op::kBcast,                                    \
        alike(which, Buffer{count, type}, root, kNoReduction))
BOTH(BCAST)
#define REDUCE(s, Count, Place)                                                            \
  FORMS(Reduce, Ireduce, s,                                                                \
        (const void* from, void* to, Count count, MPI_Datatype type, MPI_Op op, int root), \
        (from, to, count, type, op, root), Op::kReduce,                                    \
        alike(which, Buffer{count, type}, root, reduction_number(op)))
BOTH(REDUCE)
#define REDUCTION(name, inonblocking, operation, s, Count, Place)                \
  FORMS(name, inonblocking, s,                                                   \
        (const void* from, void* to, Count count, MPI_Datatype type, MPI_Op op), \
        (from, to, count, type, op), operation,                                  \
        alike(which, Buffer{count, type}, -1, reduction_number(op)))
BOTH(REDUCTION, Allreduce, Iallreduce, Op::kAllreduce)
BOTH(REDUCTION, Scan, Iscan, Op::kScan)
BOTH(REDUCTION, Exscan, Iexscan, Op::kExscan)
BOTH(REDUCTION, Reduce_scatter_block, Ireduce_scatter_block, Op::kReduceScatterBlock)
#define REDUCE_SCATTER(s, Count, Place)                                                   \
  FORMS(Reduce_scatter, Ireduce_scatter, s,                                               \
        (const void* from, void* to, const Count counts[], MPI_Datatype type, MPI_Op op), \
        (from, to, counts, type, op), Op::kReduceScatter,                                 \
        alike(which, Buffer{sum(counts, comm), type}, -1, reduction_number(op)))
BOTH(REDUCE_SCATTER)

#define SENT(Count) const void *from, Count sent, MPI_Datatype sent_type
#define GOT(Count) void *to, Count got, MPI_Datatype got_type
#define GATHER(s, Count, Place)                                        \
  FORMS(Gather, Igather, s, (SENT(Count), GOT(Count), int root),       \
        (from, sent, sent_type, to, got, got_type, root), Op::kGather, \
        rooted(which, Buffer{got, got_type}, Buffer{sent, sent_type}, root, comm))
BOTH(GATHER)
#define SCATTER(s, Count, Place)                                        \
  FORMS(Scatter, Iscatter, s, (SENT(Count), GOT(Count), int root),      \
        (from, sent, sent_type, to, got, got_type, root), Op::kScatter, \
        rooted(which, Buffer{sent, sent_type}, Buffer{got, got_type}, root, comm))
BOTH(SCATTER)
#define GATHERV(s, Count, Place)                                                                   \
  FORMS(Gatherv, Igatherv, s,                                                                      \
        (SENT(Count), void* to, const Count counts[], const Place places[], MPI_Datatype got_type, \
         int root),                                                                                \
        (from, sent, sent_type, to, counts, places, got_type, root), Op::kGatherv,                 \
        gather_v(which, Buffer{sent, sent_type}, counts, got_type, root, comm))
BOTH(GATHERV)
#define SCATTERV(s, Count, Place)                                                              \
  FORMS(Scatterv, Iscatterv, s,                                                                \
        (const void* from, const Count counts[], const Place places[], MPI_Datatype sent_type, \
         GOT(Count), int root),                                                                \
        (from, counts, places, sent_type, to, got, got_type, root), Op::kScatterv,             \
        scatter_v(which, sent_type, Buffer{got, got_type}, root, comm))
BOTH(SCATTERV)

#define EXCHANGE(name, inonblocking, operation, s, Count, Place) \
  FORMS(name, inonblocking, s, (SENT(Count), GOT(Count)),        \
        (from, sent, sent_type, to, got, got_type), operation,   \
        exchange(which, from, Buffer{sent, sent_type}, Buffer{got, got_type}))
BOTH(EXCHANGE, Allgather, Iallgather, Op::kAllgather)
BOTH(EXCHANGE, Alltoall, Ialltoall, Op::kAlltoall)
BOTH(EXCHANGE, Neighbor_allgather, Ineighbor_allgather, Op::kNeighborAllgather)
BOTH(EXCHANGE, Neighbor_alltoall, Ineighbor_alltoall, Op::kNeighborAlltoall)

#define GATHERS_V(name, inonblocking, operation, make, s, Count, Place)                           \
  FORMS(                                                                                          \
      name, inonblocking, s,                                                                      \
      (SENT(Count), void* to, const Count counts[], const Place places[], MPI_Datatype got_type), \
      (from, sent, sent_type, to, counts, places, got_type), operation, make)
BOTH(GATHERS_V, Allgatherv, Iallgatherv, Op::kAllgatherv,
     allgather_v(which, from, Buffer{sent, sent_type}, counts, got_type, comm))
BOTH(GATHERS_V, Neighbor_allgatherv, Ineighbor_allgatherv, Op::kNeighborAllgatherv, start(which))

#define ALL_V(name, inonblocking, operation, make, s, Count, Place)                                \
  FORMS(name, inonblocking, s,                                                                     \
        (const void* from, const Count sents[], const Place sent_places[], MPI_Datatype sent_type, \
         void* to, const Count counts[], const Place places[], MPI_Datatype got_type),             \
        (from, sents, sent_places, sent_type, to, counts, places, got_type), operation, make)
BOTH(ALL_V, Alltoallv, Ialltoallv, Op::kAlltoallv,
     alltoall_v(which, from, sent_type, counts, got_type, comm))
BOTH(ALL_V, Neighbor_alltoallv, Ineighbor_alltoallv, Op::kNeighborAlltoallv, start(which))

#define ALL_W(name, inonblocking, operation, make, s, Count, Place)                             \
  FORMS(name, inonblocking, s,                                                                  \
        (const void* from, const Count sents[], const Place sent_places[],                      \
         const MPI_Datatype sent_types[], void* to, const Count counts[], const Place places[], \
         const MPI_Datatype got_types[]),                                                       \
        (from, sents, sent_places, sent_types, to, counts, places, got_types), operation, make)
BOTH(ALL_W, Alltoallw, Ialltoallw, Op::kAlltoallw,
     alltoall_w(which, from, sents, sent_types, counts, got_types, comm))
// Its displacements have one size only.
#define NEIGHBOR_ALL_W(s, Count, Place)                                                          \
  ALL_W(Neighbor_alltoallw, Ineighbor_alltoallw, Op::kNeighborAlltoallw, start(which), s, Count, \
        MPI_Aint)
BOTH(NEIGHBOR_ALL_W)
