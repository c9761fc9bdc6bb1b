/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Collective operations in which rank 1 does something else than the others, and correct ones.
 *
 *   collectives right                  all of them correct, several times; prints 'collectives right N calls'
 *   collectives list                   'OPERATION KIND' for each wrong one
 *   collectives types                  all operations with another type in rank 1; ends as a correct one does
 *   collectives wrong OPERATION KIND   KIND: operation, root, reduction, type, count, form
 *
 * A wrong one may hang or fail: it ends by itself after a few seconds, with status 0 whatever became of it.
 */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>


enum kind { kNone, kOperation, kRoot, kReduction, kType, kCount, kForm, kKinds };
static const char* const kind_names[] = {"none", "operation", "root", "reduction", "type", "count", "form"};
enum { kAll = 1 << kOperation | 1 << kForm, kData = 1 << kType | 1 << kCount, kLength = 64, kMost = 8 };

static int rank, size;
static MPI_Comm comm;
static int from[kLength * kMost], to[kLength * kMost];
static int counts[kMost], places[kMost];

/* What this rank names in the call under way. */
static struct {
  MPI_Datatype type;
  int count, root;
  MPI_Op op;
  int nonblocking;
} mine;

#define BOTH(blocking, nonblocking_call)                 \
  do {                                                   \
    if (!mine.nonblocking) {                             \
      blocking;                                          \
    } else {                                             \
      MPI_Request request;                               \
      nonblocking_call;                                  \
      MPI_Wait(&request, MPI_STATUS_IGNORE);             \
    }                                                    \
  } while (0)

static void barrier(void) { BOTH(MPI_Barrier(comm), MPI_Ibarrier(comm, &request)); }
static void bcast(void) {
  BOTH(MPI_Bcast(from, mine.count, mine.type, mine.root, comm), MPI_Ibcast(from, mine.count, mine.type, mine.root, comm, &request));
}
static void reduce(void) {
  BOTH(MPI_Reduce(from, to, mine.count, mine.type, mine.op, mine.root, comm),
       MPI_Ireduce(from, to, mine.count, mine.type, mine.op, mine.root, comm, &request));
}
static void allreduce(void) {
  BOTH(MPI_Allreduce(from, to, mine.count, mine.type, mine.op, comm),
       MPI_Iallreduce(from, to, mine.count, mine.type, mine.op, comm, &request));
}
static void scan(void) {
  BOTH(MPI_Scan(from, to, mine.count, mine.type, mine.op, comm), MPI_Iscan(from, to, mine.count, mine.type, mine.op, comm, &request));
}
static void exscan(void) {
  BOTH(MPI_Exscan(from, to, mine.count, mine.type, mine.op, comm),
       MPI_Iexscan(from, to, mine.count, mine.type, mine.op, comm, &request));
}
static void reduce_scatter_block(void) {
  BOTH(MPI_Reduce_scatter_block(from, to, mine.count, mine.type, mine.op, comm),
       MPI_Ireduce_scatter_block(from, to, mine.count, mine.type, mine.op, comm, &request));
}
static void reduce_scatter(void) {
  for (int i = 0; i < size; ++i) counts[i] = mine.count;
  BOTH(MPI_Reduce_scatter(from, to, counts, mine.type, mine.op, comm),
       MPI_Ireduce_scatter(from, to, counts, mine.type, mine.op, comm, &request));
}
static void gather(void) {
  BOTH(MPI_Gather(from, mine.count, mine.type, to, mine.count, mine.type, mine.root, comm),
       MPI_Igather(from, mine.count, mine.type, to, mine.count, mine.type, mine.root, comm, &request));
}
static void scatter(void) {
  BOTH(MPI_Scatter(from, mine.count, mine.type, to, mine.count, mine.type, mine.root, comm),
       MPI_Iscatter(from, mine.count, mine.type, to, mine.count, mine.type, mine.root, comm, &request));
}
static void allgather(void) {
  BOTH(MPI_Allgather(from, mine.count, mine.type, to, mine.count, mine.type, comm),
       MPI_Iallgather(from, mine.count, mine.type, to, mine.count, mine.type, comm, &request));
}
static void alltoall(void) {
  BOTH(MPI_Alltoall(from, mine.count, mine.type, to, mine.count, mine.type, comm),
       MPI_Ialltoall(from, mine.count, mine.type, to, mine.count, mine.type, comm, &request));
}

/* Rank i gives i blocks. */
static void lengths(void) {
  for (int i = 0; i < size; ++i) {
    counts[i] = i * mine.count / 4;
    places[i] = i == 0 ? 0 : places[i - 1] + counts[i - 1];
  }
}
static void gatherv(void) {
  lengths();
  BOTH(MPI_Gatherv(from, counts[rank], mine.type, to, counts, places, mine.type, mine.root, comm),
       MPI_Igatherv(from, counts[rank], mine.type, to, counts, places, mine.type, mine.root, comm, &request));
}
static void scatterv(void) {
  lengths();
  BOTH(MPI_Scatterv(from, counts, places, mine.type, to, counts[rank], mine.type, mine.root, comm),
       MPI_Iscatterv(from, counts, places, mine.type, to, counts[rank], mine.type, mine.root, comm, &request));
}
static void allgatherv(void) {
  lengths();
  BOTH(MPI_Allgatherv(from, counts[rank], mine.type, to, counts, places, mine.type, comm),
       MPI_Iallgatherv(from, counts[rank], mine.type, to, counts, places, mine.type, comm, &request));
}
/* To rank i as much as it has in number from each: what rank r gets from i is r blocks. */
static void alltoallv(void) {
  int got[kMost], got_places[kMost];
  lengths();
  for (int i = 0; i < size; ++i) {
    got[i] = counts[rank];
    got_places[i] = i * counts[rank];
  }
  BOTH(MPI_Alltoallv(from, counts, places, mine.type, to, got, got_places, mine.type, comm),
       MPI_Ialltoallv(from, counts, places, mine.type, to, got, got_places, mine.type, comm, &request));
}
static void alltoallw(void) {
  MPI_Datatype types[kMost];
  int each[kMost], bytes[kMost];
  for (int i = 0; i < size; ++i) {
    types[i] = mine.type;
    each[i] = mine.count;
    bytes[i] = i * mine.count * (int)sizeof(int);
  }
  BOTH(MPI_Alltoallw(from, each, bytes, types, to, each, bytes, types, comm),
       MPI_Ialltoallw(from, each, bytes, types, to, each, bytes, types, comm, &request));
}
static void neighbor_allgather(void) {
  BOTH(MPI_Neighbor_allgather(from, mine.count, mine.type, to, mine.count, mine.type, comm),
       MPI_Ineighbor_allgather(from, mine.count, mine.type, to, mine.count, mine.type, comm, &request));
}
static void neighbor_alltoall(void) {
  BOTH(MPI_Neighbor_alltoall(from, mine.count, mine.type, to, mine.count, mine.type, comm),
       MPI_Ineighbor_alltoall(from, mine.count, mine.type, to, mine.count, mine.type, comm, &request));
}

static const struct {
  const char* name;
  void (*call)(void);
  int kinds; /* bitmap of what rank 1 can do otherwise */
} operations[] = {
    {"barrier", barrier, kAll},
    {"bcast", bcast, kAll | kData | 1 << kRoot},
    {"reduce", reduce, kAll | kData | 1 << kRoot | 1 << kReduction},
    {"allreduce", allreduce, kAll | kData | 1 << kReduction},
    {"scan", scan, kAll | kData | 1 << kReduction},
    {"exscan", exscan, kAll | kData | 1 << kReduction},
    {"reduce_scatter_block", reduce_scatter_block, kAll | kData | 1 << kReduction},
    {"reduce_scatter", reduce_scatter, kAll | kData | 1 << kReduction},
    {"gather", gather, kAll | kData | 1 << kRoot},
    {"scatter", scatter, kAll | kData | 1 << kRoot},
    {"allgather", allgather, kAll | kData},
    {"alltoall", alltoall, kAll | kData},
    {"gatherv", gatherv, kAll | kData | 1 << kRoot},
    {"scatterv", scatterv, kAll | 1 << kType | 1 << kRoot},
    {"allgatherv", allgatherv, kAll | kData},
    {"alltoallv", alltoallv, kAll | 1 << kType},
    {"alltoallw", alltoallw, kAll},
    {"neighbor_allgather", neighbor_allgather, kAll | kData},
    {"neighbor_alltoall", neighbor_alltoall, kAll | kData},
};
enum { kOperations = sizeof(operations) / sizeof(operations[0]) };

static void set_mine(MPI_Datatype type, int count, int root, MPI_Op op, int nonblocking) {
  mine.type = type;
  mine.count = count;
  mine.root = root;
  mine.op = op;
  mine.nonblocking = nonblocking;
}

/* As the standard has it: any types with the same sequence of basic ones. */
static int right(void) {
  int calls = 0;
  MPI_Datatype quadruple;
  MPI_Type_contiguous(4, MPI_INT, &quadruple);
  MPI_Type_commit(&quadruple);
  MPI_Barrier(MPI_COMM_WORLD); /* its first call is not the ring's */
  for (int round = 0; round < 20; ++round) {
    for (int i = 0; i < kOperations; ++i) {
      const int reduces = (operations[i].kinds & 1 << kReduction) != 0;
      const int otherwise = !reduces && rank == round % size && strstr(operations[i].name, "v") == NULL;
      set_mine(otherwise ? quadruple : MPI_INT, otherwise ? 2 : 8, round % size, round % 2 ? MPI_SUM : MPI_MAX, round % 3 == 0);
      operations[i].call();
      ++calls;
    }
    /* Blocks of no elements, of another type; the own block in place. */
    const int other = rank == 1;
    memset(counts, 0, sizeof(counts));
    memset(places, 0, sizeof(places));
    MPI_Alltoallv(from, counts, places, other ? MPI_FLOAT : MPI_INT, to, counts, places, other ? MPI_FLOAT : MPI_INT, comm);
    MPI_Gatherv(from, 0, other ? MPI_DOUBLE : MPI_INT, to, counts, places, MPI_INT, 0, comm);
    MPI_Bcast(from, 0, other ? MPI_DOUBLE : MPI_INT, 0, comm);
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, to, 3, MPI_INT, comm);
    MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, to, 3, MPI_INT, comm);
    MPI_Allreduce(MPI_IN_PLACE, to, 3, MPI_INT, MPI_SUM, comm);
    MPI_Bcast(from, 8, rank == 0 ? MPI_INT : MPI_INT, 0, comm);
    calls += 7;
    MPI_Comm other_comm;
    MPI_Comm_dup(comm, &other_comm);
    if (round % 2 == 0) MPI_Comm_set_name(other_comm, "round");
    MPI_Barrier(other_comm);
    MPI_Bcast(from, round, MPI_INT, 1, other_comm);
    calls += 2;
    MPI_Comm_free(&other_comm);
  }
  MPI_Type_free(&quadruple);
  return calls;
}

/* It may hang in the library, which then is left where it is. */
static void on_alarm(int signal) {
  (void)signal;
  _exit(0);
}
static void on_error(MPI_Comm* c, int* code, ...) {
  (void)c;
  (void)code;
  _exit(0);
}

static void wrong(int i, enum kind kind) {
  const int differs = rank == 1;
  MPI_Errhandler handler;
  signal(SIGALRM, on_alarm);
  alarm(8);
  MPI_Comm_create_errhandler(on_error, &handler);
  MPI_Comm_set_errhandler(comm, handler);
  set_mine(differs && kind == kType ? MPI_FLOAT : MPI_INT, differs && kind == kCount ? 4 : 8, differs && kind == kRoot ? 1 : 0,
           differs && kind == kReduction ? MPI_MAX : MPI_SUM, differs && kind == kForm);
  if (differs && kind == kOperation) {
    operations[(i + 1) % kOperations].call();
  } else {
    operations[i].call();
  }
  MPI_Barrier(MPI_COMM_WORLD);
  usleep(1000000); /* the launcher ends all when one goes */
  _exit(0);       /* MPI_Finalize would meet what was left behind */
}

/* Of as many bytes: the library does not mind. */
static int wrong_types(void) {
  int calls = 0;
  for (int i = 0; i < kOperations; ++i) {
    if (!(operations[i].kinds & 1 << kType)) continue;
    set_mine(rank == 1 ? MPI_FLOAT : MPI_INT, 8, 0, MPI_SUM, 0);
    operations[i].call();
    ++calls;
  }
  return calls;
}

int main(int argc, char** argv) {
  alarm(60);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int periods = 1;
  MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periods, 0, &comm);
  MPI_Comm_set_name(comm, "ring");
  if (argc > 1 && strcmp(argv[1], "list") == 0) {
    for (int i = 0; rank == 0 && i < kOperations; ++i) {
      for (int kind = 1; kind < kKinds; ++kind) {
        if (operations[i].kinds & 1 << kind) printf("%s %s\n", operations[i].name, kind_names[kind]);
      }
    }
  } else if (argc > 1 && strcmp(argv[1], "types") == 0) {
    const int calls = wrong_types();
    if (rank == 0) printf("collectives types %d calls\n", calls);
  } else if (argc > 3 && strcmp(argv[1], "wrong") == 0) {
    for (int i = 0; i < kOperations; ++i) {
      for (int kind = 1; kind < kKinds; ++kind) {
        if (strcmp(argv[2], operations[i].name) == 0 && strcmp(argv[3], kind_names[kind]) == 0) wrong(i, (enum kind)kind);
      }
    }
    fprintf(stderr, "collectives: no such operation or kind\n");
    return 2;
  } else {
    const int calls = right();
    if (rank == 0) printf("collectives right %d calls\n", calls);
  }
  MPI_Comm_free(&comm);
  MPI_Finalize();
  return 0;
}
