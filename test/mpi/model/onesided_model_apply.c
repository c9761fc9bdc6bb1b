/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The sequential model: every window, and what each operation does to it. The ranks' programs are
 * done one after another, which is as good as any order: what they share commutes, or is only
 * checked for its invariants and taken over afterwards.
 */
#include <stdio.h>
#include <stdlib.h>

#include "onesided_model.h"

enum { kNumbers = 1000 };

void* need(size_t length) {
  void* memory = malloc(length + 1);

  if (memory == NULL) {
    fprintf(stderr, "no memory\n");
    abort();
  }
  return memory;
}

/* Small numbers, exact in each type. */
static void fill_numbers(unit_kind unit, uint8_t* to, int count, uint64_t key) {
  for (int i = 0; i < count; ++i) {
    uint32_t number = 1 + (uint32_t)(content_word(key, (size_t)i) % kNumbers);
    uint64_t wide = number;
    float single = (float)number;
    double twice = (double)number;
    size_t size = unit_size(unit);
    const void* from = unit == kFloat    ? (const void*)&single
                       : unit == kDouble ? (const void*)&twice
                                         : &wide;
    memcpy(to + (size_t)i * size, from, size);
  }
}

static void fill(const region* r, uint8_t* to, int count, uint64_t key) {
  if (r->small || r->unit == kFloat || r->unit == kDouble) {
    fill_numbers(r->unit, to, count, key);
  } else {
    content_fill(to, (size_t)count * unit_size(r->unit), key);
  }
}

void model_operand(plan* p, const entry* e, uint8_t* packed) {
  fill(plan_region(p, e), packed, e->at_target.count, e->key);
}

void model_store(const region* r, uint8_t* window) {
  fill(r, window + r->offset, r->count, r->key);
}

int64_t model_number(unit_kind unit, const uint8_t* at) {
  int32_t half;
  int64_t whole;
  float single;
  double twice;

  memcpy(&half, at, unit == kByte ? 1 : 4);
  memcpy(&single, at, unit == kByte ? 1 : 4);
  switch (unit) {
    case kByte: return *at;
    case kInt32: return half;
    case kUint32: return (uint32_t)half;
    case kFloat: return (int64_t)single;
    case kDouble: memcpy(&twice, at, 8); return (int64_t)twice;
    default: memcpy(&whole, at, 8); return whole;
  }
}

#define COMBINE_ONE(type, expression)                       \
  for (int i = 0; i < count; ++i) {                         \
    type a, b;                                              \
    memcpy(&a, into + (size_t)i * sizeof(a), sizeof(a));    \
    memcpy(&b, operand + (size_t)i * sizeof(b), sizeof(b)); \
    a = (type)(expression);                                 \
    memcpy(into + (size_t)i * sizeof(a), &a, sizeof(a));    \
  }                                                         \
  break

#define COMBINE_NUMBERS(name, type, wide)                                            \
  static void name(reduce_op op, uint8_t* into, const uint8_t* operand, int count) { \
    switch (op) {                                                                    \
      case kSum: COMBINE_ONE(type, (wide)a + (wide)b);                               \
      case kProd: COMBINE_ONE(type, (wide)a*(wide)b);                                \
      case kMax: COMBINE_ONE(type, a > b ? a : b);                                   \
      case kMin: COMBINE_ONE(type, a < b ? a : b);                                   \
      default: break;                                                                \
    }                                                                                \
  }

COMBINE_NUMBERS(combine_byte, uint8_t, uint32_t)
COMBINE_NUMBERS(combine_int32, int32_t, uint32_t)
COMBINE_NUMBERS(combine_uint32, uint32_t, uint32_t)
COMBINE_NUMBERS(combine_int64, int64_t, uint64_t)
COMBINE_NUMBERS(combine_uint64, uint64_t, uint64_t)
COMBINE_NUMBERS(combine_float, float, float)
COMBINE_NUMBERS(combine_double, double, double)

void model_combine(reduce_op op, unit_kind unit, uint8_t* into, const uint8_t* operand, int count) {
  static void (*const kCombine[])(reduce_op, uint8_t*, const uint8_t*, int) = {
      combine_byte,   combine_int32, combine_uint32, combine_int64,
      combine_uint64, combine_float, combine_double};
  size_t length = (size_t)count * unit_size(unit);

  if (op == kNoOp) { return; }
  if (op == kReplace) {
    memcpy(into, operand, length);
  } else if (op == kBand || op == kBor || op == kBxor) {
    for (size_t i = 0; i < length; ++i) {
      into[i] = (uint8_t)(op == kBand  ? into[i] & operand[i]
                          : op == kBor ? into[i] | operand[i]
                                       : into[i] ^ operand[i]);
    }
  } else {
    kCombine[unit](op, into, operand, count);
  }
}

/* The owner compares with what is there, so that it swaps, or with something else. */
static void compare_and_swap(plan* p, entry* e, uint8_t* at, const uint8_t* operand, size_t size) {
  e->compare = e->variant & 1 ? content_mix(e->key) : 0;
  if (e->variant & 2) { memcpy(&e->compare, at, size); }
  if (plan_region(p, e)->access == kOwner && memcmp(&e->compare, at, size) == 0) {
    memcpy(at, operand, size);
  }
}

static void apply(job_state* job, plan* p, entry* e) {
  region* r = plan_region(p, e);
  size_t size = unit_size(r->unit), length = (size_t)e->at_target.count * size;
  uint8_t* window = job->model[e->target] + r->offset;
  uint8_t *now = need(length), *operand = need(length);

  layout_pack(&e->at_target, size, window, now);
  if (is_fetching(e->kind) && e->origin == job->rank && !is_contended(r)) {
    e->wanted = need(length);
    memcpy(e->wanted, now, length);
  }
  model_operand(p, e, operand);
  if (e->kind == kPut || e->kind == kRput) {
    memcpy(now, operand, length);
  } else if (e->kind == kCompareAndSwap) {
    compare_and_swap(p, e, now, operand, size);
  } else if (e->kind != kGet && e->kind != kRget) {
    model_combine(e->kind == kReadModifyWrite ? kSum : e->op, r->unit, now, operand,
                  e->at_target.count);
  }
  if (r->access != kReaders) { layout_unpack(&e->at_target, size, window, now); }
  free(operand);
  free(now);
}

void model_step(job_state* job, plan* p) {
  for (int target = 0; target < job->size; ++target) {
    for (int i = 0; i < p->regions[target]; ++i) {
      region* r = &p->region[target][i];
      size_t length = (size_t)r->count * unit_size(r->unit);

      if (r->stored) { model_store(r, job->model[target]); }
      if (is_contended(r)) {
        r->before = need(length);
        memcpy(r->before, job->model[target] + r->offset, length);
      }
    }
  }
  for (int origin = 0; origin < job->size; ++origin) {
    for (int i = 0; i < p->programs[origin].count; ++i) {
      if (is_operation(p->programs[origin].entries[i].kind)) {
        apply(job, p, &p->programs[origin].entries[i]);
      }
    }
  }
}
