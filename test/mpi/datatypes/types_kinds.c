/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The kinds of mismatches.
 */
#include "types.h"

static MPI_Datatype made[kMaxCases];
static int number_made;

static MPI_Datatype keep(MPI_Datatype type) {
  MPI_Type_commit(&type);
  made[number_made++] = type;
  return type;
}

static MPI_Datatype two(int first_count, MPI_Datatype first, int second_count,
                        MPI_Datatype second) {
  int blocks[2] = {first_count, second_count};
  MPI_Aint displacements[2] = {0, 512};
  MPI_Datatype types[2] = {first, second};
  MPI_Datatype type;
  MPI_Type_create_struct(2, blocks, displacements, types, &type);
  return keep(type);
}

static MPI_Datatype corner(int rows, int columns, MPI_Datatype element) {
  int sizes[2] = {16, 16}, subsizes[2] = {rows, columns}, starts[2] = {1, 2};
  MPI_Datatype type;
  MPI_Type_create_subarray(2, sizes, subsizes, starts, MPI_ORDER_C, element, &type);
  return keep(type);
}

static MPI_Datatype column(int rows, MPI_Datatype element) {
  MPI_Datatype type;
  MPI_Type_vector(rows, 1, 16, element, &type);
  return keep(type);
}

static MPI_Datatype scattered(MPI_Datatype element) {
  int blocks[3] = {1, 4, 2}, displacements[3] = {9, 0, 30};
  MPI_Datatype type;
  MPI_Type_indexed(3, blocks, displacements, element, &type);
  return keep(type);
}

/* A pair as a structure of a program's own would have it. */
static MPI_Datatype pair(MPI_Datatype first, MPI_Datatype second) {
  return two(1, first, 1, second);
}

static MPI_Datatype copy_of(MPI_Datatype old) {
  MPI_Datatype type;
  MPI_Type_dup(old, &type);
  return keep(type);
}

static MPI_Datatype spaced(MPI_Datatype element) {
  MPI_Datatype type;
  MPI_Type_create_resized(element, 0, 64, &type);
  return keep(type);
}

static MPI_Datatype nested(int depth, MPI_Datatype element) {
  MPI_Datatype type = column(2, element);
  while (--depth > 0) {
    MPI_Datatype outer;
    MPI_Type_create_hvector(1, 1, 0, type, &outer);
    type = outer;
    MPI_Type_commit(&type);
    if (depth == 1)
      made[number_made++] = type;
    else { /* freed below: a type lives on in those made of it */
    }
  }
  return type;
}

int make_kinds(struct kind* kinds) {
  const struct kind all[] = {
      {"another class", {MPI_INT, 100}, {MPI_FLOAT, 100}, {MPI_INT, 100}, kAlways},
      {"unsigned", {MPI_UNSIGNED, 3}, {MPI_INT, 3}, {MPI_UNSIGNED, 3}, kAlways},
      {"large, another class", {MPI_INT, 10000}, {MPI_FLOAT, 10000}, {MPI_INT, 10000}, kAlways},
      /* kBasicKinds so far */
      {"another size", {MPI_DOUBLE, 10}, {MPI_FLOAT, 20}, {MPI_DOUBLE, 20}, kAlways},
      {"complex as floats",
       {MPI_C_DOUBLE_COMPLEX, 4},
       {MPI_DOUBLE, 8},
       {MPI_C_DOUBLE_COMPLEX, 4},
       kAlways},
      {"order in a structure",
       {two(1, MPI_INT, 2, MPI_DOUBLE), 3},
       {two(1, MPI_DOUBLE, 2, MPI_INT), 4},
       {two(1, MPI_INT, 2, MPI_DOUBLE), 3},
       kAlways},
      {"a field",
       {two(4, MPI_SHORT, 2, MPI_CHAR), 1},
       {two(4, MPI_SHORT, 1, MPI_SHORT), 1},
       {two(4, MPI_SHORT, 2, MPI_CHAR), 2},
       kAlways},
      {"a field's number",
       {two(2, MPI_INT, 2, MPI_FLOAT), 2},
       {two(3, MPI_INT, 2, MPI_FLOAT), 2},
       {two(2, MPI_INT, 2, MPI_FLOAT), 2},
       kAlways},
      {"a pair as another", {MPI_DOUBLE_INT, 3}, {MPI_LONG_INT, 3}, {MPI_DOUBLE_INT, 3}, kAlways},
      {"a pair as its parts", {MPI_2INT, 3}, {MPI_FLOAT_INT, 3}, {MPI_INT, 6}, kAlways},
      {"a subarray",
       {corner(3, 4, MPI_INT), 1},
       {corner(3, 4, MPI_FLOAT), 1},
       {corner(4, 3, MPI_INT), 1},
       kAlways},
      {"a vector", {column(8, MPI_DOUBLE), 1}, {column(8, MPI_LONG), 1}, {MPI_DOUBLE, 8}, kAlways},
      {"blocks", {scattered(MPI_INT), 2}, {MPI_UNSIGNED, 14}, {MPI_INT, 14}, kAlways},
      {"a copy", {copy_of(MPI_INT), 5}, {copy_of(MPI_FLOAT), 5}, {copy_of(MPI_INT), 5}, kAlways},
      {"resized", {spaced(MPI_CHAR), 8}, {spaced(MPI_SHORT), 8}, {MPI_CHAR, 8}, kAlways},
      {"nested", {nested(200, MPI_LONG), 2}, {MPI_DOUBLE, 4}, {MPI_LONG, 4}, kAlways},
      {"a part of the receive",
       {two(1, MPI_INT, 1, MPI_FLOAT), 1},
       {MPI_INT, 100},
       {two(1, MPI_INT, 1, MPI_FLOAT), 7},
       kAlways},
      {"a part of a structure",
       {MPI_SHORT, 3},
       {two(2, MPI_SHORT, 2, MPI_CHAR), 5},
       {two(4, MPI_SHORT, 2, MPI_CHAR), 5},
       kAlways},
      {"a structure less",
       {two(1, MPI_INT, 1, MPI_DOUBLE), 4},
       {pair(MPI_INT, MPI_LONG), 9},
       {pair(MPI_INT, MPI_DOUBLE), 9},
       kAlways},
      {"logical", {MPI_C_BOOL, 9}, {MPI_CHAR, 9}, {MPI_C_BOOL, 9}, kAlways},
      {"characters as numbers", {MPI_CHAR, 6}, {MPI_SIGNED_CHAR, 6}, {MPI_CHAR, 6}, kAlways},
      {"wide characters", {MPI_WCHAR, 6}, {MPI_FLOAT, 6}, {MPI_WCHAR, 6}, kAlways},
      {"a pair as a structure",
       {MPI_FLOAT_INT, 3},
       {pair(MPI_INT, MPI_FLOAT), 3},
       {pair(MPI_FLOAT, MPI_INT), 3},
       kAlways},
      {"a short pair", {MPI_SHORT_INT, 2}, {MPI_2INT, 2}, {pair(MPI_SHORT, MPI_INT), 2}, kAlways},
      {"a long double's pair",
       {MPI_LONG_DOUBLE_INT, 2},
       {pair(MPI_LONG_DOUBLE, MPI_FLOAT), 2},
       {pair(MPI_LONG_DOUBLE, MPI_INT), 2},
       kAlways},
      {"a name of another size", {MPI_INT, 8}, {MPI_INT64_T, 8}, {MPI_INT, 8}, kAlways},
      /* Told by name alone. */
      {"a sized name", {MPI_INT, 8}, {MPI_INT32_T, 8}, {MPI_INT, 8}, kByNames},
      {"long as 64 bits", {MPI_LONG, 8}, {MPI_INT64_T, 8}, {MPI_LONG, 8}, kByNames},
      {"Fortran's name", {MPI_INT, 8}, {MPI_INTEGER, 8}, {MPI_INT, 8}, kByNames},
      {"an address as an offset", {MPI_AINT, 8}, {MPI_OFFSET, 8}, {MPI_AINT, 8}, kByNames},
      {"names in a structure",
       {pair(MPI_LONG, MPI_INT), 3},
       {pair(MPI_LONG, MPI_INT32_T), 3},
       {MPI_LONG_INT, 3},
       kByNames},
      {"bytes as numbers", {MPI_BYTE, 64}, {MPI_DOUBLE, 8}, {MPI_BYTE, 64}, kByNames},
      {"numbers as bytes", {MPI_DOUBLE, 8}, {MPI_BYTE, 64}, {MPI_DOUBLE, 8}, kByNames},
      {"bytes as characters", {MPI_BYTE, 64}, {MPI_CHAR, 64}, {MPI_BYTE, 64}, kByNames},
      /* Never. */
      {"packed as numbers", {MPI_PACKED, 64}, {MPI_DOUBLE, 8}, {MPI_PACKED, 64}, kNever},
      {"numbers as packed", {MPI_DOUBLE, 8}, {MPI_PACKED, 64}, {MPI_DOUBLE, 8}, kNever},
      {"nothing", {MPI_INT, 0}, {MPI_FLOAT, 8}, {MPI_INT, 8}, kNever},
  };
  const int number = (int)(sizeof(all) / sizeof(all[0]));
  for (int i = 0; i < number; ++i) kinds[i] = all[i];
  return number;
}

void free_kinds(void) {
  while (number_made > 0) MPI_Type_free(&made[--number_made]);
}
