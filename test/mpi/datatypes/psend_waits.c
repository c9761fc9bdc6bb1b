/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A message of MPI_Psend_init waits for its connection while messages of the library's own go to
 * another process, to which nothing else was sent before. Right: nothing may be reported.
 *
 *   mpirun -np 3 psend_waits
 *
 * The last line, on rank 0: "psend_waits wrong values N". Without MPI 4: "partitioned none".
 */
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

#include "watch.h"

#if MPI_VERSION >= 4
enum { kTag = 5, kBackTag = 6, kBusy = 1000000 /* microseconds */ };

static void communicate(MPI_Request* request, int sends) {
  MPI_Start(request);
  if (sends) MPI_Pready(0, *request);
  MPI_Wait(request, MPI_STATUS_IGNORE);
  MPI_Request_free(request);
}

/* The data of both, and that rank 2's receive is there, show only when rank 0 has sent its answer
 * to rank 2, beside the message to rank 1, which is busy. */
static int run(int rank) {
  const MPI_Comm comm = MPI_COMM_WORLD;
  const MPI_Info none = MPI_INFO_NULL;
  MPI_Request first, second;
  int number = rank == 0 ? 7 : 0;
  float half = rank == 2 ? 0.5f : 0, quarter = rank == 0 ? 0.25f : 0;
  if (rank == 0) {
    MPI_Psend_init(&number, 1, 1, MPI_INT, 1, kTag, comm, none, &first);
    MPI_Precv_init(&half, 1, 1, MPI_FLOAT, 2, kBackTag, comm, none, &second);
    communicate(&second, 0);
    communicate(&first, 1);
    MPI_Psend_init(&quarter, 1, 1, MPI_FLOAT, 2, kTag, comm, none, &first);
    communicate(&first, 1);
    return half != 0.5f;
  }
  if (rank == 1) {
    usleep(kBusy);
    MPI_Precv_init(&number, 1, 1, MPI_INT, 0, kTag, comm, none, &first);
    communicate(&first, 0);
    return number != 7;
  }
  MPI_Precv_init(&quarter, 1, 1, MPI_FLOAT, 0, kTag, comm, none, &first);
  MPI_Psend_init(&half, 1, 1, MPI_FLOAT, 0, kBackTag, comm, none, &second);
  communicate(&second, 1);
  communicate(&first, 0);
  return quarter != 0.25f;
}

int main(int argc, char** argv) {
  int rank, wrong, all_wrong = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  watch_start(rank, 60);
  wrong = run(rank);
  MPI_Reduce(&wrong, &all_wrong, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("psend_waits wrong values %d\n", all_wrong);
  watch_stop();
  MPI_Finalize();
  return 0;
}
#else
int main(void) {
  printf("partitioned none\n");
  return 0;
}
#endif
