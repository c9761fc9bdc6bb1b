/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A checkpoint that is read back from disk is validated against a rank that still has the data.
 *
 * Rank 0 computes and writes a checkpoint. Rank 1 takes over: it reads the file, which storage or a
 * copy may have damaged, and compares it with rank 0's memory. Only segments that differ travel.
 * Here the program damages the file itself, to show it.
 *
 *   mpicc -o checkpoint checkpoint.c $(pkg-config --cflags --libs verity-validate-openmpi)      #
 * or -mpich mpirun -np 2 ./checkpoint FILE [DAMAGED-BYTES]
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucx-verity/validate.h>

enum { kCells = 1 << 20, kTag = 1 };

static void fail(const char* what, const char* file) {
  fprintf(stderr, "checkpoint: %s %s\n", what, file);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void compute(double* cells) {
  for (int i = 0; i < kCells; ++i) cells[i] = 1.0 / (i + 1);
}

static void write_checkpoint(const char* file, const double* cells) {
  FILE* out = fopen(file, "wb");
  if (out == NULL || fwrite(cells, sizeof(double), kCells, out) != kCells || fclose(out) != 0)
    fail("cannot write", file);
}

static void read_checkpoint(const char* file, double* cells) {
  FILE* in = fopen(file, "rb");
  if (in == NULL || fread(cells, sizeof(double), kCells, in) != kCells) fail("cannot read", file);
  fclose(in);
}

/* What a disk, a controller or a copy over the network may do. */
static void damage(const char* file, int bytes) {
  FILE* both = fopen(file, "r+b");
  if (both == NULL) fail("cannot open", file);
  for (int i = 0; i < bytes; ++i) {
    fseek(both, (long)i * 777777 % (kCells * (long)sizeof(double)), SEEK_SET);
    fputc('?', both);
  }
  fclose(both);
}

int main(int argc, char** argv) {
  int rank, ranks;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc < 2 || ranks != 2) fail("usage: mpirun -np 2 checkpoint FILE [DAMAGED-BYTES]", "");
  double* cells = malloc(kCells * sizeof(double));
  if (cells == NULL) fail("no memory", "");

  if (rank == 0) {
    compute(cells);
    write_checkpoint(argv[1], cells);
    damage(argv[1], argc > 2 ? atoi(argv[2]) : 10);
  }
  MPI_Barrier(MPI_COMM_WORLD);

  struct verity_validation v;
  int code;
  if (rank == 0) {
    code = verity_validate_send(cells, kCells, MPI_DOUBLE, 1, kTag, MPI_COMM_WORLD, NULL, &v);
  } else {
    read_checkpoint(argv[1], cells);
    code = verity_validate_recv(cells, kCells, MPI_DOUBLE, 0, kTag, MPI_COMM_WORLD, NULL, &v);
    printf(
        "checkpoint of %llu bytes: %llu of %llu segments were damaged, %llu bytes were sent "
        "again\n",
        (unsigned long long)v.bytes, (unsigned long long)v.damaged, (unsigned long long)v.segments,
        (unsigned long long)v.bytes_sent_again);
    double* right = malloc(kCells * sizeof(double));
    int wrong = 0;
    compute(right);
    for (int i = 0; i < kCells; ++i) wrong += cells[i] != right[i];
    printf("%d wrong values are left\n", wrong);
    free(right);
  }
  if (code != MPI_SUCCESS) fail("the data could not be repaired", argv[1]);
  free(cells);
  MPI_Finalize();
  return 0;
}
