/* SPDX-License-Identifier: BSD-3-Clause
 *
 * verity_validate_send() and verity_validate_recv() with datatypes.
 */
#include "validate_types.h"

#include <float.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <ucx-verity/validate.h>

/* The bytes of the buffer that MPI would send. */
static size_t packed(const void* buf, int count, MPI_Datatype type, unsigned char* out, int room) {
  int position = 0;
  MPI_Pack(buf, count, type, out, room, &position, MPI_COMM_WORLD);
  return (size_t)position;
}

static void one_type(const char* name, MPI_Datatype ours, int count, MPI_Datatype theirs,
                     int their_count) {
  enum { kRoom = 1 << 20 };
  static unsigned char buf[kRoom], sent[kRoom], got[kRoom], gaps[kRoom], mask[kRoom];
  struct verity_validation v;
  MPI_Type_commit(&ours);
  MPI_Type_commit(&theirs);
  for (int i = 0; i < kRoom; ++i) buf[i] = right_byte((size_t)i, 7);
  if (rank == 0) {
    const size_t size = packed(buf, count, ours, sent, kRoom);
    int length = (int)size;
    MPI_Send(&length, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
    MPI_Send(sent, length, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
    expect(verity_validate_send(buf, count, ours, 1, kTag, MPI_COMM_WORLD, NULL, &v) == MPI_SUCCESS,
           name);
  } else if (rank == 1) {
    int length, position = 0;
    MPI_Recv(&length, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Recv(sent, length, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    memset(mask, 0, kRoom);
    memset(got, 1, kRoom);
    MPI_Unpack(got, length, &position, mask, their_count, theirs,
               MPI_COMM_WORLD); /* 1 where there is data */
    memcpy(gaps, buf, kRoom);
    for (int i = 0; i < kRoom; ++i)
      buf[i] = mask[i] && i % 4999 == 3 ? (unsigned char)~buf[i] : buf[i];
    expect(verity_validate_recv(buf, their_count, theirs, 0, kTag, MPI_COMM_WORLD, NULL, &v) ==
               MPI_SUCCESS,
           name);
    expect(v.bytes == (uint64_t)length, name);
    expect(packed(buf, their_count, theirs, got, kRoom) == (size_t)length &&
               memcmp(sent, got, (size_t)length) == 0,
           name);
    int touched = 0;
    for (int i = 0; i < kRoom; ++i) touched += !mask[i] && buf[i] != gaps[i];
    expect(touched == 0, "bytes in gaps were written");
    printf("types %s: %d bytes, %llu damaged\n", name, length, (unsigned long long)v.damaged);
  }
}

/* What fills a long double up holds nothing, and need not travel: equal values are equal. */
static void filled_type(const char* name, MPI_Datatype type, int count, size_t value) {
  enum { kRoom = 1 << 16, kFilled = 10 };
  static unsigned char buf[kRoom], before[kRoom];
  struct verity_validation v = {0};
  if (rank > 1) return;
  MPI_Type_commit(&type);
  for (int damaged = 0; damaged < 2; ++damaged) {
    for (size_t i = 0; i < kRoom; ++i)
      buf[i] =
          i % value % sizeof(long double) < kFilled ? right_byte(i, 7) : (unsigned char)(rank + 1);
    if (rank == 1 && damaged) buf[9] ^= 1;
    memcpy(before, buf, kRoom);
    const int code =
        rank == 0 ? verity_validate_send(buf, count, type, 1, kTag, MPI_COMM_WORLD, NULL, &v)
                  : verity_validate_recv(buf, count, type, 0, kTag, MPI_COMM_WORLD, NULL, &v);
    expect(code == MPI_SUCCESS && v.damaged == (unsigned)damaged && v.rounds == (unsigned)damaged,
           name);
    before[9] = right_byte(9, 7);
    expect(memcmp(buf, before, kRoom) == 0, name);
  }
}

static void long_doubles(void) {
  const size_t one = sizeof(long double);
  MPI_Datatype vector, twice;
  if (LDBL_MANT_DIG != 64) return;
  filled_type("long doubles", MPI_LONG_DOUBLE, 1000, one);
  filled_type("complex long doubles", MPI_C_LONG_DOUBLE_COMPLEX, 500, one);
  MPI_Type_vector(100, 1, 2, MPI_LONG_DOUBLE, &vector);
  filled_type("a vector of long doubles", vector, 3, one);
  const MPI_Aint places[2] = {0, 32};
  const int lengths[2] = {1, 1};
  const MPI_Datatype members[2] = {MPI_LONG_DOUBLE, MPI_BYTE};
  MPI_Type_create_struct(2, lengths, places, members, &twice);
  filled_type("a structure with a long double", twice, 9, one);
  filled_type("pairs with a long double", MPI_LONG_DOUBLE_INT, 1000, 2 * one);
}

void types(void) {
  long_doubles();
  MPI_Datatype a, b, pair;
  MPI_Type_contiguous(100000, MPI_INT, &a);
  MPI_Type_vector(50000, 2, 4, MPI_INT, &b);
  one_type("vector", a, 1, b, 1);
  one_type("vector at the sender", b, 1, a, 1);
  const int lengths[3] = {1, 2, 3};
  const MPI_Aint places[3] = {16, 0, 40};
  const MPI_Datatype members[3] = {MPI_DOUBLE, MPI_INT, MPI_CHAR};
  MPI_Type_create_struct(3, lengths, places, members, &a);
  MPI_Type_create_resized(a, 0, 48, &b);
  one_type("structure", b, 20000, b, 20000);
  MPI_Type_contiguous(40000, MPI_SHORT_INT, &pair);
  one_type("pairs with a gap", pair, 1, MPI_SHORT_INT, 40000);
  const int sizes[2] = {300, 400}, distributions[2] = {MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_BLOCK};
  const int arguments[2] = {7, MPI_DISTRIBUTE_DFLT_DARG}, processes[2] = {2, 2};
  MPI_Type_create_darray(4, 1, 2, sizes, distributions, arguments, processes, MPI_ORDER_C, MPI_INT,
                         &a);
  one_type("distributed array", a, 2, a, 2);
  one_type("no elements", MPI_INT, 0, MPI_BYTE, 0);
#if MPI_VERSION >= 4
  MPI_Type_vector_c(25000, 2, 4, MPI_INT, &b);
  MPI_Type_contiguous(2, b, &pair);
  MPI_Type_contiguous(100000, MPI_INT, &a);
  one_type("large counts", pair, 1, a, 1);
#endif
}
