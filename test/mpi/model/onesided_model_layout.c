/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Basic types, and how the elements of an operation are laid out: in one piece, as a vector, or
 * indexed.
 */
#include "onesided_model.h"

static MPI_Datatype mixed_type = MPI_DATATYPE_NULL;

void unit_start(void) {
  int lengths[] = {1, 1, 4};
  MPI_Aint offsets[] = {0, 8, 12};
  MPI_Datatype types[] = {MPI_INT64_T, MPI_INT32_T, MPI_BYTE};

  MPI_Type_create_struct(3, lengths, offsets, types, &mixed_type);
  MPI_Type_commit(&mixed_type);
}

void unit_stop(void) { MPI_Type_free(&mixed_type); }

size_t unit_size(unit_kind unit) {
  static const size_t kSizes[kUnits] = {1, 4, 4, 8, 8, 4, 8, 16};
  return kSizes[unit];
}

MPI_Datatype unit_type(unit_kind unit) {
  switch (unit) {
    case kByte: return MPI_UINT8_T;
    case kInt32: return MPI_INT32_T;
    case kUint32: return MPI_UINT32_T;
    case kInt64: return MPI_INT64_T;
    case kUint64: return MPI_UINT64_T;
    case kFloat: return MPI_FLOAT;
    case kDouble: return MPI_DOUBLE;
    default: return mixed_type;
  }
}

MPI_Op op_handle(reduce_op op) {
  switch (op) {
    case kSum: return MPI_SUM;
    case kProd: return MPI_PROD;
    case kMax: return MPI_MAX;
    case kMin: return MPI_MIN;
    case kBand: return MPI_BAND;
    case kBor: return MPI_BOR;
    case kBxor: return MPI_BXOR;
    case kReplace: return MPI_REPLACE;
    default: return MPI_NO_OP;
  }
}

/* Blocks of equal length at equal distances; the length divides the count. */
static void make_vector(content_rng* rng, int available, layout* at) {
  int length = 1 + (int)content_below(rng, 16), most;

  while (at->count % length != 0) { --length; }
  if (at->count / length > 5000) {
    length = at->count; /* no more blocks than an implementation handles in reasonable time */
  }
  at->blocks = at->count / length;
  at->length = length;
  if (at->blocks < 2) { return; }
  most = (available - length) / (at->blocks - 1);
  if (most > length + 40) { most = length + 40; }
  at->kind = kVector;
  at->stride = length + (int)content_below(rng, (uint64_t)(most - length + 1));
  at->base =
      (int)content_below(rng, (uint64_t)(available - (at->blocks - 1) * at->stride - length + 1));
}

/* Some blocks of random lengths and distances, now and then not in ascending order. */
static void make_indexed(content_rng* rng, int available, layout* at) {
  int left = at->count, gaps = available - at->count, next = 0;

  at->blocks = 2 + (int)content_below(rng, kMaxBlocks - 1);
  if (at->blocks > at->count) { at->blocks = at->count; }
  at->kind = kIndexed;
  for (int i = 0; i < at->blocks; ++i) {
    int most = left - (at->blocks - 1 - i);
    int gap = (int)content_below(rng, (uint64_t)(gaps / (at->blocks - i) + 1));
    at->lengths[i] = i + 1 == at->blocks ? left : 1 + (int)content_below(rng, (uint64_t)most);
    at->starts[i] = next + gap;
    next = at->starts[i] + at->lengths[i];
    left -= at->lengths[i];
    gaps -= gap;
  }
  for (int i = at->blocks - 1; i > 0 && content_below(rng, 3) == 0; --i) {
    int other = (int)content_below(rng, (uint64_t)i + 1), start = at->starts[i],
        length = at->lengths[i];
    at->starts[i] = at->starts[other];
    at->lengths[i] = at->lengths[other];
    at->starts[other] = start;
    at->lengths[other] = length;
  }
}

layout layout_make(content_rng* rng, int available, int count, int derived) {
  layout at = {.kind = kContiguous, .count = count};
  uint64_t choice = content_below(rng, 8);

  at.base = (int)content_below(rng, (uint64_t)(available - count + 1));
  if (!derived || count == 0 || choice < 4) { return at; }
  if (choice == 4) {
    at.kind = kContiguousType;
  } else if (choice < 7) {
    make_vector(rng, available, &at);
  } else if (count > 1) {
    make_indexed(rng, available, &at);
  }
  return at;
}

int layout_blocks(const layout* at) {
  return at->count == 0 ? 0 : at->kind == kVector || at->kind == kIndexed ? at->blocks : 1;
}

void layout_block(const layout* at, int index, int* start_p, int* length_p) {
  switch (at->kind) {
    case kVector:
      *start_p = at->base + index * at->stride;
      *length_p = at->length;
      break;
    case kIndexed:
      *start_p = at->starts[index];
      *length_p = at->lengths[index];
      break;
    default: *start_p = at->base; *length_p = at->count;
  }
}

void layout_bounds(const layout* at, int* low_p, int* high_p) {
  int start, length;

  *low_p = 0;
  *high_p = 0;
  for (int i = 0; i < layout_blocks(at); ++i) {
    layout_block(at, i, &start, &length);
    *low_p = i == 0 || start < *low_p ? start : *low_p;
    *high_p = start + length > *high_p ? start + length : *high_p;
  }
}

void layout_pack(const layout* at, size_t size, const uint8_t* from, uint8_t* packed) {
  int start, length;

  for (int i = 0; i < layout_blocks(at); ++i) {
    layout_block(at, i, &start, &length);
    memcpy(packed, from + (size_t)start * size, (size_t)length * size);
    packed += (size_t)length * size;
  }
}

void layout_unpack(const layout* at, size_t size, uint8_t* to, const uint8_t* packed) {
  int start, length;

  for (int i = 0; i < layout_blocks(at); ++i) {
    layout_block(at, i, &start, &length);
    memcpy(to + (size_t)start * size, packed, (size_t)length * size);
    packed += (size_t)length * size;
  }
}

int layout_type(const layout* at, unit_kind unit, MPI_Datatype* type_p, int* count_p,
                size_t* offset_p) {
  MPI_Datatype basic = unit_type(unit);

  *offset_p = (size_t)at->base * unit_size(unit);
  *count_p = 1;
  switch (at->kind) {
    case kContiguousType: MPI_Type_contiguous(at->count, basic, type_p); break;
    case kVector: MPI_Type_vector(at->blocks, at->length, at->stride, basic, type_p); break;
    case kIndexed:
      MPI_Type_indexed(at->blocks, at->lengths, at->starts, basic, type_p);
      *offset_p = 0;
      break;
    default:
      *type_p = basic;
      *count_p = at->count;
      return 0;
  }
  MPI_Type_commit(type_p);
  return 1;
}
