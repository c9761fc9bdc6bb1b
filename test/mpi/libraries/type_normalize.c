/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Datatypes of random nestings and what verity_type_normalize() makes of them: the same bytes in
 * the same order, the same bounds, and messages from one to the other in both directions.
 *
 * Usage: type_normalize [COUNT [SEED]]
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucx-verity/types.h>

enum { kMost = 1 << 16, kBefore = 1 << 14 };

static uint64_t state;
static unsigned dice(unsigned sides) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (unsigned)(state >> 33) % sides;
}

static MPI_Aint extent_of(MPI_Datatype type) {
  MPI_Aint lower_bound, extent;
  MPI_Type_get_extent(type, &lower_bound, &extent);
  return extent;
}

static MPI_Datatype basic(void) {
  const MPI_Datatype all[] = {MPI_INT,        MPI_DOUBLE, MPI_CHAR, MPI_SHORT,
                              MPI_DOUBLE_INT, MPI_INT,    MPI_INT};
  return all[dice(7)];
}

/* Around `old`, which is freed when it is derived. No element overlaps another. */
static MPI_Datatype surround(MPI_Datatype old, int derived) {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  const MPI_Aint extent = extent_of(old);
  const int count = 1 + (int)dice(4), length = 1 + (int)dice(3), regular = dice(2) == 0;
  int lengths[4], indices[4], sizes[2], subsizes[2], starts[2];
  MPI_Aint bytes[4];
  for (int i = 0, at = (int)dice(3); i < count; ++i) {
    lengths[i] = regular ? length : (int)dice(4);
    indices[i] = at;
    bytes[i] = at * extent + (regular ? 0 : (MPI_Aint)dice(2) * 3);
    at += (lengths[i] > length ? lengths[i] : length) + (regular ? 1 : (int)dice(3) + 1);
  }
  for (int d = 0; d < 2; ++d) {
    sizes[d] = 1 + (int)dice(4);
    subsizes[d] = 1 + (int)dice((unsigned)sizes[d]);
    starts[d] = (int)dice((unsigned)(sizes[d] - subsizes[d] + 1));
  }
  switch (dice(11)) {
    case 0: MPI_Type_contiguous(count, old, &type); break;
    case 1: MPI_Type_vector(count, length, length + (int)dice(3), old, &type); break;
    case 2:
      MPI_Type_create_hvector(count, length, length * extent + (MPI_Aint)dice(3) * 4, old, &type);
      break;
    case 3: MPI_Type_indexed(count, lengths, indices, old, &type); break;
    case 4: MPI_Type_create_hindexed(count, lengths, bytes, old, &type); break;
    case 5: MPI_Type_create_indexed_block(count, length, indices, old, &type); break;
    case 6: MPI_Type_create_hindexed_block(count, length, bytes, old, &type); break;
    case 7:
      MPI_Type_create_subarray(2, sizes, subsizes, starts,
                               dice(2) ? MPI_ORDER_C : MPI_ORDER_FORTRAN, old, &type);
      break;
    case 8: MPI_Type_create_resized(old, 0, extent + (MPI_Aint)dice(3) * 8, &type); break;
    case 9: MPI_Type_dup(old, &type); break;
    default: {
      MPI_Datatype types[4];
      for (int i = 0; i < count; ++i) types[i] = i == 0 || regular ? old : MPI_SHORT;
      MPI_Aint at = 0;
      for (int i = 0; i < count; ++i) {
        bytes[i] = at;
        at += lengths[i] * extent_of(types[i]) + (MPI_Aint)dice(2) * 8;
      }
      MPI_Type_create_struct(count, lengths, bytes, types, &type);
    }
  }
  if (derived) MPI_Type_free(&old);
  return type;
}

static MPI_Datatype random_type(void) {
  MPI_Datatype type = basic();
  int derived = 0;
  for (unsigned depth = 1 + dice(4); depth > 0; --depth) {
    MPI_Aint lower_bound, extent;
    MPI_Type_get_extent(type, &lower_bound, &extent);
    if (extent > kMost / 64) break;
    type = surround(type, derived);
    derived = 1;
  }
  return type;
}

static unsigned char memory[2 * kMost], got[2 * kMost], packed[2][4 * kMost];

static int receives(MPI_Datatype from, MPI_Datatype to, MPI_Datatype reference) {
  int size[2] = {0, 0};
  memset(got, 0, sizeof got);
  MPI_Sendrecv(memory + kBefore, 2, from, 0, 5, got + kBefore, 2, to, 0, 5, MPI_COMM_SELF,
               MPI_STATUS_IGNORE);
  MPI_Pack(memory + kBefore, 2, reference, packed[0], sizeof packed[0], &size[0], MPI_COMM_SELF);
  MPI_Pack(got + kBefore, 2, reference, packed[1], sizeof packed[1], &size[1], MPI_COMM_SELF);
  return size[0] == size[1] && memcmp(packed[0], packed[1], (size_t)size[0]) == 0;
}

static const char* compare(MPI_Datatype old, MPI_Datatype type) {
  MPI_Aint lb[2], extent[2], true_lb[2], true_extent[2];
  int size[2] = {0, 0}, bytes_of_data;
  MPI_Type_get_extent(old, &lb[0], &extent[0]);
  MPI_Type_get_extent(type, &lb[1], &extent[1]);
  if (lb[0] != lb[1] || extent[0] != extent[1]) return "bounds";
  /* Open MPI has none for a type without elements; MPICH's may reach to blocks without elements. */
  MPI_Type_get_true_extent(old, &true_lb[0], &true_extent[0]);
  MPI_Type_get_true_extent(type, &true_lb[1], &true_extent[1]);
  MPI_Type_size(old, &bytes_of_data);
  if (bytes_of_data > 0 &&
      (true_lb[1] < true_lb[0] || true_lb[1] + true_extent[1] > true_lb[0] + true_extent[0]))
    return "true bounds";
  MPI_Type_commit(&old);
  MPI_Type_commit(&type);
  MPI_Pack(memory + kBefore, 2, old, packed[0], sizeof packed[0], &size[0], MPI_COMM_SELF);
  MPI_Pack(memory + kBefore, 2, type, packed[1], sizeof packed[1], &size[1], MPI_COMM_SELF);
  if (size[0] != size[1] || memcmp(packed[0], packed[1], (size_t)size[0]) != 0) return "type map";
  if (!receives(old, type, old)) return "message from the original";
  if (!receives(type, old, old)) return "message to the original";
  return NULL;
}

/* A million blocks: what takes long in MPI is not counted. */
static void large(void) {
  const int blocks = 1000000;
  int* indices = malloc(sizeof *indices * (size_t)blocks);
  MPI_Datatype type[2], made;
  for (int i = 0; i < blocks; ++i) indices[i] = 3 * i + (i % 7 == 3);
  MPI_Type_create_indexed_block(blocks, 1, indices, MPI_DOUBLE, &type[0]);
  for (int i = 0; i < blocks; ++i) indices[i] = 3 * i;
  MPI_Type_create_indexed_block(blocks, 1, indices, MPI_DOUBLE, &type[1]);
  free(indices);
  for (int i = 0; i < 2; ++i) {
    const double begin = MPI_Wtime();
    int integers, addresses, types, combiner;
    const int code = verity_type_normalize(type[i], &made);
    const double seconds = MPI_Wtime() - begin;
    if (code != MPI_SUCCESS) MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Type_get_envelope(made, &integers, &addresses, &types, &combiner);
    printf("%s million of blocks: %d arguments, %.2f s\n", i == 0 ? "irregular" : "regular",
           integers + addresses, seconds);
    MPI_Type_free(&made);
    MPI_Type_free(&type[i]);
  }
}

/* Types made with counts of MPI_Count, alone and inside others: copied unchanged. */
static int large_counts(void) {
  int wrong = 0;
#if MPI_VERSION >= 4
  MPI_Datatype type[5], made;
  const MPI_Count lengths[2] = {2, 1}, places[2] = {0, 16};
  const MPI_Datatype members[2] = {MPI_INT, MPI_DOUBLE};
  MPI_Type_contiguous_c(3, MPI_INT, &type[0]);
  MPI_Type_vector_c(3, 2, 4, MPI_INT, &type[1]);
  MPI_Type_create_struct_c(2, lengths, places, members, &type[2]);
  MPI_Type_contiguous(2, type[1], &type[3]);
  MPI_Type_create_struct(2, (int[]){1, 2}, (MPI_Aint[]){64, 0}, (MPI_Datatype[]){type[2], MPI_INT},
                         &type[4]);
  for (int i = 0; i < 5; ++i) {
    const char* difference = "code";
    if (verity_type_normalize(type[i], &made) == MPI_SUCCESS) {
      difference = compare(type[i], made);
      MPI_Type_free(&made);
    }
    if (difference != NULL) printf("large counts, datatype %d: another %s\n", i, difference);
    wrong += difference != NULL;
  }
  for (int i = 0; i < 5; ++i) MPI_Type_free(&type[i]);
#endif
#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
  /* A predefined type without a name, inside another: not to be freed. */
  MPI_Datatype pair;
  MPI_Type_get_value_index(MPI_DOUBLE, MPI_LONG, &pair);
  for (int i = 0; i < 2 && pair != MPI_DATATYPE_NULL; ++i) {
    const char* difference = "code";
    MPI_Type_contiguous(3, pair, &type[0]);
    if (verity_type_normalize(type[0], &made) == MPI_SUCCESS) {
      difference = compare(type[0], made);
      MPI_Type_free(&made);
    }
    if (difference != NULL) printf("pairs without a name: another %s\n", difference);
    wrong += difference != NULL;
    MPI_Type_free(&type[0]);
  }
#endif
  return wrong;
}

/* Blocks that follow each other, of more bytes together than an int counts. */
static int large_blocks(void) {
  enum { block = 1 << 29, last = 8 };
  int wrong = 0;
  for (int factor = 1; factor <= 2; ++factor) {
    MPI_Datatype type, made;
    MPI_Count size[2] = {0, 0};
    MPI_Aint places[9], lb[2] = {0, 0}, extent[2] = {0, 0};
    for (int i = 0; i <= last; ++i)
      places[i] = (MPI_Aint)(i == last ? last + 1 : i) * block * factor;
    MPI_Type_create_hindexed_block(last + 1, block * factor, places, MPI_BYTE, &type);
    MPI_Type_size_x(type, &size[0]);
    MPI_Type_get_true_extent(type, &lb[0], &extent[0]);
    if (verity_type_normalize(type, &made) == MPI_SUCCESS) {
      MPI_Type_size_x(made, &size[1]);
      MPI_Type_get_true_extent(made, &lb[1], &extent[1]);
      MPI_Type_free(&made);
    }
    if (size[0] != size[1] || lb[0] != lb[1] || extent[0] != extent[1]) {
      printf("blocks of %d bytes: %lld bytes instead of %lld\n", block * factor, (long long)size[1],
             (long long)size[0]);
      ++wrong;
    }
    MPI_Type_free(&type);
  }
  return wrong;
}

int main(int argc, char** argv) {
  const int count = argc > 1 ? atoi(argv[1]) : 2000;
  const uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
  MPI_Datatype made;
  int wrong = 0;
  MPI_Init(&argc, &argv);
  state = seed;
  for (size_t i = 0; i < sizeof memory; ++i) memory[i] = (unsigned char)dice(256);
  for (int i = 0; i < count; ++i) {
    const char* difference;
    state = (seed << 32) + (uint64_t)i;
    MPI_Datatype old = random_type();
    if (verity_type_normalize(old, &made) != MPI_SUCCESS) {
      printf("datatype %d: not normalized\n", i);
      ++wrong;
      continue;
    }
    difference = compare(old, made);
    if (difference != NULL) printf("datatype %d: another %s\n", i, difference);
    wrong += difference != NULL;
    MPI_Type_free(&made);
    int integers, addresses, types, combiner;
    MPI_Type_get_envelope(old, &integers, &addresses, &types, &combiner);
    if (combiner != MPI_COMBINER_NAMED) MPI_Type_free(&old);
  }
  large();
  wrong += large_counts() + large_blocks();
  if (verity_type_normalize(MPI_INT, NULL) != MPI_ERR_ARG ||
      verity_type_normalize(MPI_DATATYPE_NULL, &made) != MPI_ERR_TYPE) {
    printf("wrong arguments are not refused\n");
    ++wrong;
  }
  printf("datatypes %d wrong %d\n", count, wrong);
  MPI_Finalize();
  return wrong != 0;
}
