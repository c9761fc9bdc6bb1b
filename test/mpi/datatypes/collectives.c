/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Collective operations in which rank 1 does something else than the others, and correct ones.
 *
 *   collectives right                 all correct, repeated; prints 'collectives right N calls'
 *   collectives list                  'OPERATION KIND' for each wrong one
 *   collectives types [persistent]    all with another type in rank 1; ends as right does
 *   collectives groups                between two groups, the last one not the same in both
 *   collectives wrong OPERATION KIND  KIND: operation, root, reduction, type, count, form
 *
 * A wrong one may hang or fail: it ends by itself after a few seconds, with status 0 whatever
 * became of it.
 */
#include <mpi.h>
#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum kind { kNone, kOperation, kRoot, kReduction, kType, kCount, kForm, kKinds };
static const char* const kind_names[] = {"none", "operation", "root", "reduction",
                                         "type", "count",     "form"};
enum { kBlocking, kNonblocking, kPersistent };
enum {
  kAll = 1 << kOperation | 1 << kForm,
  kData = 1 << kType | 1 << kCount,
  kLength = 64,
  kMost = 8
};

static int rank, size;
static MPI_Comm comm;
static int from[kLength * kMost], to[kLength * kMost];
static int counts[kMost], places[kMost];

/* What this rank names in the call under way. */
static struct {
  MPI_Datatype type;
  int count, root;
  MPI_Op op;
  int form;
} mine;

/* Before MPI 4, of which Open MPI 5 has them already, Open MPI had them under names of its own. */
#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
#define INIT(name) MPI_##name##_init
#elif defined(OMPI_HAVE_MPI_EXT_PCOLLREQ)
#define INIT(name) MPIX_##name##_init
#endif
/* MPICH 4.0.2 ends the job at the second one, by itself. */
#ifdef OPEN_MPI
enum { kStarts = 2 };
#else
enum { kStarts = 1 };
#endif
#ifdef INIT
#define PERSISTENT(name, ...)                       \
  INIT(name)(__VA_ARGS__, MPI_INFO_NULL, &request); \
  for (int start = 0; start < kStarts; ++start) {   \
    MPI_Start(&request);                            \
    MPI_Wait(&request, MPI_STATUS_IGNORE);          \
  }                                                 \
  MPI_Request_free(&request)
#else
#define PERSISTENT(name, ...) MPI_##name(__VA_ARGS__)
#endif

#define CALL(name, nonblocking_name, ...)             \
  do {                                                \
    MPI_Request request;                              \
    if (mine.form == kBlocking) {                     \
      MPI_##name(__VA_ARGS__);                        \
    } else if (mine.form == kNonblocking) {           \
      MPI_I##nonblocking_name(__VA_ARGS__, &request); \
      MPI_Wait(&request, MPI_STATUS_IGNORE);          \
    } else {                                          \
      PERSISTENT(name, __VA_ARGS__);                  \
    }                                                 \
  } while (0)

static void barrier(void) { CALL(Barrier, barrier, comm); }
static void bcast(void) { CALL(Bcast, bcast, from, mine.count, mine.type, mine.root, comm); }
static void reduce(void) {
  CALL(Reduce, reduce, from, to, mine.count, mine.type, mine.op, mine.root, comm);
}
static void allreduce(void) {
  CALL(Allreduce, allreduce, from, to, mine.count, mine.type, mine.op, comm);
}
static void scan(void) { CALL(Scan, scan, from, to, mine.count, mine.type, mine.op, comm); }
static void exscan(void) { CALL(Exscan, exscan, from, to, mine.count, mine.type, mine.op, comm); }
static void reduce_scatter_block(void) {
  CALL(Reduce_scatter_block, reduce_scatter_block, from, to, mine.count, mine.type, mine.op, comm);
}
static void reduce_scatter(void) {
  for (int i = 0; i < size; ++i) counts[i] = mine.count;
  CALL(Reduce_scatter, reduce_scatter, from, to, counts, mine.type, mine.op, comm);
}
static void gather(void) {
  CALL(Gather, gather, from, mine.count, mine.type, to, mine.count, mine.type, mine.root, comm);
}
static void scatter(void) {
  CALL(Scatter, scatter, from, mine.count, mine.type, to, mine.count, mine.type, mine.root, comm);
}
static void allgather(void) {
  CALL(Allgather, allgather, from, mine.count, mine.type, to, mine.count, mine.type, comm);
}
static void alltoall(void) {
  CALL(Alltoall, alltoall, from, mine.count, mine.type, to, mine.count, mine.type, comm);
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
  CALL(Gatherv, gatherv, from, counts[rank], mine.type, to, counts, places, mine.type, mine.root,
       comm);
}
static void scatterv(void) {
  lengths();
  CALL(Scatterv, scatterv, from, counts, places, mine.type, to, counts[rank], mine.type, mine.root,
       comm);
}
static void allgatherv(void) {
  lengths();
  CALL(Allgatherv, allgatherv, from, counts[rank], mine.type, to, counts, places, mine.type, comm);
}
/* To rank i as much as it has in number from each: what rank r gets from i is r blocks. */
static void alltoallv(void) {
  int got[kMost], got_places[kMost];
  lengths();
  for (int i = 0; i < size; ++i) {
    got[i] = counts[rank];
    got_places[i] = i * counts[rank];
  }
  CALL(Alltoallv, alltoallv, from, counts, places, mine.type, to, got, got_places, mine.type, comm);
}
static void alltoallw(void) {
  MPI_Datatype types[kMost];
  int each[kMost], bytes[kMost];
  for (int i = 0; i < size; ++i) {
    types[i] = mine.type;
    each[i] = mine.count;
    bytes[i] = i * mine.count * (int)sizeof(int);
  }
  CALL(Alltoallw, alltoallw, from, each, bytes, types, to, each, bytes, types, comm);
}
static void neighbor_allgather(void) {
  CALL(Neighbor_allgather, neighbor_allgather, from, mine.count, mine.type, to, mine.count,
       mine.type, comm);
}
static void neighbor_alltoall(void) {
  CALL(Neighbor_alltoall, neighbor_alltoall, from, mine.count, mine.type, to, mine.count, mine.type,
       comm);
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
    {"alltoallw", alltoallw, kAll | 1 << kType},
    {"neighbor_allgather", neighbor_allgather, kAll | kData},
    {"neighbor_alltoall", neighbor_alltoall, kAll | kData},
};
enum { kOperations = sizeof(operations) / sizeof(operations[0]) };

static void set_mine(MPI_Datatype type, int count, int root, MPI_Op op, int form) {
  mine.type = type;
  mine.count = count;
  mine.root = root;
  mine.op = op;
  mine.form = form;
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
      const int otherwise =
          !reduces && rank == round % size && strstr(operations[i].name, "v") == NULL;
      set_mine(otherwise ? quadruple : MPI_INT, otherwise ? 2 : 8, round % size,
               round % 2 ? MPI_SUM : MPI_MAX, round % 3);
      operations[i].call();
      ++calls;
    }
    /* Blocks of no elements, of another type; the own block in place. */
    const int other = rank == 1;
    memset(counts, 0, sizeof(counts));
    memset(places, 0, sizeof(places));
    MPI_Alltoallv(from, counts, places, other ? MPI_FLOAT : MPI_INT, to, counts, places,
                  other ? MPI_FLOAT : MPI_INT, comm);
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
  set_mine(differs && kind == kType ? MPI_FLOAT : MPI_INT, differs && kind == kCount ? 4 : 8,
           differs && kind == kRoot ? 1 : 0, differs && kind == kReduction ? MPI_MAX : MPI_SUM,
           differs && kind == kForm ? kNonblocking : kBlocking);
  if (differs && kind == kOperation) {
    operations[(i + 1) % kOperations].call();
  } else {
    operations[i].call();
  }
  MPI_Barrier(MPI_COMM_WORLD);
  usleep(1000000); /* the launcher ends all when one goes */
  _exit(0);        /* MPI_Finalize would meet what was left behind */
}

/* Of as many bytes: the library does not mind. */
static int wrong_types(int form) {
  int calls = 0;
  for (int i = 0; i < kOperations; ++i) {
    if (!(operations[i].kinds & 1 << kType)) continue;
    set_mine(rank == 1 ? MPI_FLOAT : MPI_INT, 8, 0, MPI_SUM, form);
    operations[i].call();
    ++calls;
  }
  return calls;
}

/* Rank 0 in one group, the others in the other one. */
static void two_groups(void) {
  MPI_Comm group, between;
  int value = rank, sum = 0, values[kMost];
  MPI_Comm_split(MPI_COMM_WORLD, rank == 0, rank, &group);
  MPI_Intercomm_create(group, 0, MPI_COMM_WORLD, rank == 0, 1, &between);
  MPI_Comm_set_name(between, "between");
  for (int i = 0; i < 10; ++i) {
    MPI_Barrier(between);
    MPI_Allreduce(&value, &sum, 1, MPI_INT, i % 2 ? MPI_SUM : MPI_MAX, between);
    /* Each group's data are reduced by themselves: nothing says that it is in the same way. */
    MPI_Allreduce(&value, &sum, 1, MPI_INT, rank == 0 ? MPI_SUM : MPI_MAX, between);
    MPI_Bcast(&value, 1, MPI_INT, rank == 0 ? MPI_ROOT : 0, between);
  }
  if (rank == 0) printf("collectives groups right\n");
  fflush(stdout);
  signal(SIGALRM, on_alarm);
  alarm(4);
  if (rank == 0) {
    MPI_Allgather(&value, 1, MPI_INT, values, 1, MPI_INT, between);
  } else {
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_MAX, between);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Comm_free(&between);
  MPI_Comm_free(&group);
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
        if (operations[i].kinds & 1 << kind)
          printf("%s %s\n", operations[i].name, kind_names[kind]);
      }
    }
  } else if (argc > 1 && strcmp(argv[1], "types") == 0) {
    const int calls =
        wrong_types(argc > 2 && strcmp(argv[2], "persistent") == 0 ? kPersistent : kBlocking);
    if (rank == 0) printf("collectives types %d calls\n", calls);
  } else if (argc > 1 && strcmp(argv[1], "groups") == 0) {
    two_groups();
  } else if (argc > 3 && strcmp(argv[1], "wrong") == 0) {
    for (int i = 0; i < kOperations; ++i) {
      for (int kind = 1; kind < kKinds; ++kind) {
        if (strcmp(argv[2], operations[i].name) == 0 && strcmp(argv[3], kind_names[kind]) == 0)
          wrong(i, (enum kind)kind);
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
