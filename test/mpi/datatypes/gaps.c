/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages of contiguous elements received into vectors with gaps: the library unpacks them piece
 * by piece as they come, wherever the transport cuts them. From rank 1 to rank 0, and from each
 * rank to itself; doubles and complex ones, from 1 KB to 512 KB. (Elements of 16 bytes, as
 * MPI_C_DOUBLE_COMPLEX, MPICH gets wrong on stock UCX when its eager messages are cut:
 * UCX_RNDV_THRESH=inf.)
 *
 * Last line of rank 0: gaps messages N wrong N. Exit status: 0, 1 wrong.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { kRow = 128, kGap = 2, kMostRows = 512 };
static double sent[kRow * kMostRows], received[(kRow + kGap) * kMostRows];

/* Whether the message of `rows` rows came whole. */
static int is_right(int rows) {
  for (int row = 0; row < rows; ++row) {
    for (int i = 0; i < kRow; ++i) {
      if (received[row * (kRow + kGap) + i] != sent[row * kRow + i]) return 0;
    }
  }
  return 1;
}

/* 1 when the message is wrong. */
static int one_message(MPI_Datatype element, int rows, int from, int rank) {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Status status;
  int wrong = 0, bytes;
  MPI_Type_size(element, &bytes);
  const int doubles = bytes / (int)sizeof(double);
  if (rank == 0) {
    MPI_Datatype vector;
    MPI_Type_vector(rows, kRow / doubles, (kRow + kGap) / doubles, element, &vector);
    MPI_Type_commit(&vector);
    for (size_t i = 0; i < sizeof(received) / sizeof(*received); ++i) received[i] = -1;
    MPI_Irecv(received, 1, vector, from, rows, MPI_COMM_WORLD, &request);
    MPI_Type_free(&vector);
  }
  if (rank == from) MPI_Send(sent, rows * kRow / doubles, element, 0, rows, MPI_COMM_WORLD);
  if (rank == 0) wrong = MPI_Wait(&request, &status) != MPI_SUCCESS || !is_right(rows);
  return wrong;
}

int main(int argc, char** argv) {
  int rank, wrong = 0, messages = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  for (size_t i = 0; i < sizeof(sent) / sizeof(*sent); ++i) sent[i] = (double)i;
  for (int rows = 1; rows <= kMostRows; rows *= 2) {
    for (int from = 0; from < 2; ++from, messages += 2) {
      wrong += one_message(MPI_DOUBLE, rows, from, rank);
      wrong += one_message(MPI_C_DOUBLE_COMPLEX, rows, from, rank);
    }
  }
  if (rank == 0) printf("gaps messages %d wrong %d\n", messages, wrong);
  MPI_Finalize();
  return wrong != 0;
}
