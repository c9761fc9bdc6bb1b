/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A halo exchange whose datatype is normalized: libverity_types rewrites a clumsy description of
 * the columns into the cheapest one.
 *
 * Each rank has a grid of rows of cells with several values, and exchanges two columns of one value
 * with its neighbours. The datatype is written as programs often have it, an index for every
 * element; verity_type_normalize() finds that it is regular.
 *
 *   mpicc -o halo halo.c $(pkg-config --cflags --libs verity-types-openmpi)      # or -mpich
 *   mpirun -np 4 ./halo [STEPS]
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucx-verity/types.h>

enum { kRows = 512, kColumns = 256, kValues = 3 };

static double grid[2][kRows][kColumns][kValues];

/* Value 1 of the two columns from 0 on: one index for each element. */
static MPI_Datatype two_columns(void) {
  static int places[2 * kRows];
  MPI_Datatype type;
  for (int row = 0; row < kRows; ++row) {
    for (int column = 0; column < 2; ++column)
      places[2 * row + column] = (row * kColumns + column) * kValues;
  }
  MPI_Type_create_indexed_block(2 * kRows, 1, places, MPI_DOUBLE, &type);
  return type;
}

/* Arguments with which a datatype was made, all of its parts together. */
static int arguments(MPI_Datatype type) {
  int integers, addresses, types, combiner;
  MPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
  if (combiner == MPI_COMBINER_NAMED) return 0;
  int* i = malloc((size_t)(integers + 1) * sizeof(int));
  MPI_Aint* a = malloc((size_t)(addresses + 1) * sizeof(MPI_Aint));
  MPI_Datatype* t = malloc((size_t)(types + 1) * sizeof(MPI_Datatype));
  MPI_Type_get_contents(type, integers, addresses, types, i, a, t);
  int sum = integers + addresses;
  for (int n = 0; n < types; ++n) {
    int inner_types;
    sum += arguments(t[n]);
    MPI_Type_get_envelope(t[n], &integers, &addresses, &inner_types, &combiner);
    if (combiner != MPI_COMBINER_NAMED) MPI_Type_free(&t[n]);
  }
  free(i);
  free(a);
  free(t);
  return sum;
}

/* Sends the two inner columns at each side, receives into the two outer ones. */
static void exchange(double (*cells)[kColumns][kValues], MPI_Datatype columns, int left,
                     int right) {
  MPI_Sendrecv(&cells[0][kColumns - 4][1], 1, columns, right, 0, &cells[0][0][1], 1, columns, left,
               0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Sendrecv(&cells[0][2][1], 1, columns, left, 1, &cells[0][kColumns - 2][1], 1, columns, right,
               1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char** argv) {
  int rank, ranks, wrong = 0;
  const int steps = argc > 1 ? atoi(argv[1]) : 100;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int left = rank > 0 ? rank - 1 : MPI_PROC_NULL,
            right = rank + 1 < ranks ? rank + 1 : MPI_PROC_NULL;

  MPI_Datatype types[2];
  types[0] = two_columns();
  if (verity_type_normalize(types[0], &types[1]) != MPI_SUCCESS) MPI_Abort(MPI_COMM_WORLD, 1);
  double seconds[2] = {0, 0};
  for (int i = 0; i < 2; ++i) MPI_Type_commit(&types[i]);
  for (int step = 0; step < steps; ++step) {
    for (int i = 0; i < 2; ++i) { /* the same with both: original and normalized in turns */
      for (int row = 0; row < kRows; ++row) {
        for (int column = 2; column < kColumns - 2; ++column)
          grid[i][row][column][1] = rank * 1e6 + row * 1e3 + column + step;
      }
      MPI_Barrier(MPI_COMM_WORLD);
      const double begin = MPI_Wtime();
      exchange(grid[i], types[i], left, right);
      seconds[i] += MPI_Wtime() - begin;
    }
    for (int row = 0; row < kRows; ++row) {
      for (int column = 0; column < kColumns; ++column)
        wrong += grid[0][row][column][1] != grid[1][row][column][1];
      if (left != MPI_PROC_NULL)
        wrong += grid[1][row][0][1] != left * 1e6 + row * 1e3 + kColumns - 4 + step;
    }
  }
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) {
    printf("described by %d numbers, normalized by %d\n", arguments(types[0]), arguments(types[1]));
    printf("an exchange takes %.1f us, normalized %.1f us\n", seconds[0] / steps * 1e6,
           seconds[1] / steps * 1e6);
    printf("%d wrong values\n", wrong);
  }
  for (int i = 0; i < 2; ++i) MPI_Type_free(&types[i]);
  MPI_Finalize();
  return wrong != 0;
}
