/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Breaks MPI's rule: rank 0 writes to the buffer of a nonblocking send until that has completed.
 * Rank 1 gets whatever was there last; the job must end all the same. Each time after a blocking
 * send of the buffer, which is over by then.
 *
 *   mpirun -np 2 scribble [-n MESSAGES] [-f 1] [-t SECONDS]
 *
 *   -f 1  the nonblocking send is over a communicator that is freed at once, and another one, with
 *         other ranks, is used first meanwhile
 *
 * Last line of rank 1: scribble messages N
 */
#include <mpi.h>
#include <stdlib.h>

#include "content.h"
#include "watch.h"

enum { kLength = 16 << 20, kStride = 4096, kTag = 5 };

static struct {
  MPI_Comm send, next; /* with -f: the one that is freed, and the one used then */
  int frees;
} comms;

/* In the first one the ranks are the other way round. */
static void make_comms(int rank) {
  comms.send = MPI_COMM_WORLD;
  if (!comms.frees) return;
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comms.send);
  MPI_Comm_dup(MPI_COMM_WORLD, &comms.next);
}

static void send_and_scribble(uint8_t* buffer) {
  MPI_Request request;
  int done = 0;
  uint8_t value = 0;
  MPI_Send(buffer, kLength, MPI_BYTE, 1, kTag, MPI_COMM_WORLD);
  MPI_Isend(buffer, kLength, MPI_BYTE, comms.frees ? 0 : 1, kTag, comms.send, &request);
  if (comms.frees) {
    MPI_Comm_free(&comms.send);
    MPI_Send(NULL, 0, MPI_BYTE, 1, kTag, comms.next);
  }
  while (!done) {
    ++value;
    for (size_t at = 0; at < kLength; at += kStride) buffer[at] = value;
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
  }
}

int main(int argc, char** argv) {
  int rank, size, messages = 4, seconds = 60;
  uint8_t* buffer;
  MPI_Init(&argc, &argv);
  for (int i = 1; i + 1 < argc; i += 2) {
    if (strcmp(argv[i], "-n") == 0) messages = atoi(argv[i + 1]);
    if (strcmp(argv[i], "-f") == 0) comms.frees = atoi(argv[i + 1]);
    if (strcmp(argv[i], "-t") == 0) seconds = atoi(argv[i + 1]);
  }
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size != 2 || (buffer = malloc(kLength)) == NULL) {
    fprintf(stderr, "scribble: needs two ranks\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
    return 2;
  }
  watch_start(rank, (unsigned)seconds);
  content_fill(buffer, kLength, 3);
  for (int i = 0; i < messages; ++i) {
    watch_at("message %d", i);
    make_comms(rank);
    if (rank == 0) {
      send_and_scribble(buffer);
    } else {
      MPI_Recv(buffer, kLength, MPI_BYTE, 0, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Recv(buffer, kLength, MPI_BYTE, comms.frees ? 1 : 0, kTag, comms.send, MPI_STATUS_IGNORE);
      if (comms.frees) {
        MPI_Comm_free(&comms.send);
        MPI_Recv(NULL, 0, MPI_BYTE, 0, kTag, comms.next, MPI_STATUS_IGNORE);
      }
    }
    if (comms.frees) MPI_Comm_free(&comms.next);
  }
  if (rank == 1) printf("scribble messages %d\n", messages);
  watch_stop();
  free(buffer);
  MPI_Finalize();
  return 0;
}
