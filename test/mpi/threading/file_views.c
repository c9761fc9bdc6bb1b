/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Threads in which the MPI library takes the program's datatypes to pieces and frees its own
 * handles of them (MPI_File_set_view, as ROMIO does), while another one sends and receives with the
 * same datatype, and with short-lived ones.
 *
 *   mpirun -np 2 file_views -n ROUNDS FOLDER
 *
 * Needs MPI_THREAD_MULTIPLE; says so and ends well without. Last line of rank 0:
 * file views N rounds N wrong N
 */
#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "watch.h"

enum { kThreads = 2, kInts = 6, kSpan = 16, kTag = 9 };

static MPI_Datatype pairs; /* what all use */
static const char* folder;
static int rank;
static atomic_int is_over;
static atomic_ulong views;

static void* set_views(void* number) {
  char name[512];
  MPI_File file;
  snprintf(name, sizeof(name), "%s/view.%d.%d", folder, rank, *(const int*)number);
  if (MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                    MPI_INFO_NULL, &file) != MPI_SUCCESS) {
    fprintf(stderr, "file_views: %s cannot be opened\n", name);
    exit(2);
  }
  while (!atomic_load(&is_over)) {
    MPI_Datatype rows;
    MPI_Type_vector(2, 1, 2, pairs, &rows);
    MPI_Type_commit(&rows);
    MPI_File_set_view(file, 0, MPI_INT, rows, "native", MPI_INFO_NULL);
    MPI_Type_free(&rows);
    atomic_fetch_add(&views, 1);
  }
  MPI_File_close(&file);
  return NULL;
}

/* Of another shape each time, so that a handle comes again for something else. */
static int exchange(int round) {
  int out[kSpan], in[kSpan], wrong = 0, bytes;
  char text_out[kSpan], text_in[kSpan];
  const int count = 1 + round % kSpan;
  MPI_Datatype texts;
  MPI_Status status;
  for (int i = 0; i < kSpan; ++i) out[i] = round + i;
  memset(in, 0, sizeof(in));
  MPI_Sendrecv(out, 1, pairs, 1 - rank, kTag, in, 1, pairs, 1 - rank, kTag, MPI_COMM_WORLD,
               &status);
  for (int i = 0; i < kSpan; ++i)
    wrong += in[i] != (i < kInts / 2 || (i >= kSpan / 2 && i < (kSpan + kInts) / 2) ? out[i] : 0);
  memset(text_out, 'a' + round % 26, sizeof(text_out));
  MPI_Type_contiguous(count, MPI_CHAR, &texts);
  MPI_Type_commit(&texts);
  MPI_Sendrecv(text_out, 1, texts, 1 - rank, kTag, text_in, 1, texts, 1 - rank, kTag,
               MPI_COMM_WORLD, &status);
  MPI_Type_free(&texts);
  MPI_Get_count(&status, MPI_CHAR, &bytes);
  return wrong + (bytes != count || memcmp(text_out, text_in, (size_t)count) != 0);
}

int main(int argc, char** argv) {
  const int rounds = argc == 4 ? atoi(argv[2]) : 0;
  int numbers[kThreads], level, wrong = 0, all_wrong = 0;
  pthread_t threads[kThreads];
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (level < MPI_THREAD_MULTIPLE || rounds == 0) {
    if (rank == 0) printf("file views not tested: %s\n", rounds == 0 ? "usage" : "no threads");
    MPI_Finalize();
    return rounds == 0;
  }
  watch_start(rank, 60);
  folder = argv[3];
  MPI_Type_vector(2, kInts / 2, kSpan / 2, MPI_INT, &pairs);
  MPI_Type_commit(&pairs);
  for (int i = 0; i < kThreads; ++i) {
    numbers[i] = i;
    pthread_create(&threads[i], NULL, set_views, &numbers[i]);
  }
  for (int round = 0; round < rounds; ++round) {
    wrong += exchange(round);
    watch.progress++;
    if (round % 1000 == 0) watch_at("round %d", round);
  }
  atomic_store(&is_over, 1);
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  MPI_Reduce(&wrong, &all_wrong, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0)
    printf("file views %lu rounds %d wrong %d\n", atomic_load(&views), rounds, all_wrong);
  MPI_Type_free(&pairs);
  watch_stop();
  MPI_Finalize();
  return 0;
}
