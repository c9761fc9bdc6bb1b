/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The calls of MPI: one operation with buffers of its own, which have poison in their gaps and
 * behind.
 */
#include <stdlib.h>

#include "onesided_model.h"

/* The arguments of a call that describe one side. */
typedef struct {
  MPI_Datatype type;
  int count, owned;
  size_t offset;
} side;

static side make_side(const layout* at, unit_kind unit) {
  side made;

  made.owned = layout_type(at, unit, &made.type, &made.count, &made.offset);
  return made;
}

static void free_side(side* made) {
  if (made->owned) { MPI_Type_free(&made->type); }
}

static uint8_t* make_buffer(const layout* at, size_t size, size_t* length_p) {
  int low, high;
  uint8_t* buffer;

  layout_bounds(at, &low, &high);
  *length_p = (size_t)high * size + kGuard;
  buffer = need(*length_p);
  memset(buffer, kPoison, *length_p);
  return buffer;
}

/* What a rank saw last in an element that several swap: what it compares with next. */
static void choose_compare(plan* p, entry* e) {
  const region* r = plan_region(p, e);
  size_t size = unit_size(r->unit);
  const program* own = &p->programs[e->origin];

  e->compare = 0;
  memcpy(&e->compare, r->before + (size_t)e->at_target.base * size, size);
  for (int i = 0; i < own->count && &own->entries[i] != e; ++i) {
    const entry* other = &own->entries[i];

    if (other->kind != kCompareAndSwap || other->target != e->target ||
        other->region != e->region || other->at_target.base != e->at_target.base ||
        other->state != kComplete) {
      continue;
    }
    e->compare = 0;
    memcpy(&e->compare, other->result + (size_t)other->at_result.base * size, size);
    if (e->compare == other->compare) { /* it swapped */
      uint8_t operand[16];
      model_operand(p, other, operand);
      memcpy(&e->compare, operand, size);
    }
  }
}

/* Adds to an element under an exclusive lock, with a get and a put. */
static void read_modify_write(job_state* job, plan* p, entry* e, MPI_Datatype type, MPI_Aint at) {
  unit_kind unit = plan_region(p, e)->unit;
  size_t size = unit_size(unit);
  uint8_t* now = e->result + (size_t)e->at_result.base * size;
  uint8_t* next = e->source + (size_t)e->at_origin.base * size;

  if (e->variant & 1) {
    MPI_Rget(now, 1, type, e->target, at, 1, type, job->win, &e->request);
    MPI_Wait(&e->request, MPI_STATUS_IGNORE);
  } else {
    MPI_Get(now, 1, type, e->target, at, 1, type, job->win);
    if (e->variant & 2) {
      MPI_Win_flush(e->target, job->win);
    } else {
      MPI_Win_flush_local(e->target, job->win);
    }
  }
  model_combine(kSum, unit, next, now, 1);
  if (e->variant & 4) {
    MPI_Rput(next, 1, type, e->target, at, 1, type, job->win, &e->request);
  } else {
    MPI_Put(next, 1, type, e->target, at, 1, type, job->win);
  }
}

/* Operations on single elements. */
static void issue_single(job_state* job, plan* p, entry* e, MPI_Aint at) {
  MPI_Datatype type = unit_type(plan_region(p, e)->unit);
  size_t size = unit_size(plan_region(p, e)->unit);
  uint8_t* source = e->source + (size_t)e->at_origin.base * size;
  uint8_t* result = e->result + (size_t)e->at_result.base * size;

  at += (MPI_Aint)((size_t)e->at_target.base * size);
  if (e->kind == kFetchAndOp) {
    MPI_Fetch_and_op(source, result, type, e->target, at, op_handle(e->op), job->win);
  } else if (e->kind == kCompareAndSwap) {
    if (plan_region(p, e)->access == kSwapped) { choose_compare(p, e); }
    MPI_Compare_and_swap(source, &e->compare, result, type, e->target, at, job->win);
  } else {
    read_modify_write(job, p, e, type, at);
  }
}

static void issue_many(job_state* job, entry* e, side from, side to, side result, MPI_Aint at) {
  uint8_t *source = e->source + from.offset, *fetched = e->result + result.offset;
  MPI_Op op = op_handle(e->op);
  int n = e->target;

  at += (MPI_Aint)to.offset;
  switch (e->kind) {
    case kPut: MPI_Put(source, from.count, from.type, n, at, to.count, to.type, job->win); break;
    case kRput:
      MPI_Rput(source, from.count, from.type, n, at, to.count, to.type, job->win, &e->request);
      break;
    case kGet:
      MPI_Get(fetched, result.count, result.type, n, at, to.count, to.type, job->win);
      break;
    case kRget:
      MPI_Rget(fetched, result.count, result.type, n, at, to.count, to.type, job->win, &e->request);
      break;
    case kAccumulate:
      MPI_Accumulate(source, from.count, from.type, n, at, to.count, to.type, op, job->win);
      break;
    case kRaccumulate:
      MPI_Raccumulate(source, from.count, from.type, n, at, to.count, to.type, op, job->win,
                      &e->request);
      break;
    case kGetAccumulate:
      MPI_Get_accumulate(source, from.count, from.type, fetched, result.count, result.type, n, at,
                         to.count, to.type, op, job->win);
      break;
    default:
      MPI_Rget_accumulate(source, from.count, from.type, fetched, result.count, result.type, n, at,
                          to.count, to.type, op, job->win, &e->request);
  }
}

void issue_operation(job_state* job, plan* p, entry* e) {
  const region* r = plan_region(p, e);
  size_t size = unit_size(r->unit), length;
  uint8_t* packed = need((size_t)e->at_target.count * size);
  MPI_Aint at = job->remote[e->target] + (MPI_Aint)r->offset;

  e->source = make_buffer(&e->at_origin, size, &length);
  e->result = make_buffer(&e->at_result, size, &length);
  model_operand(p, e, packed);
  layout_unpack(&e->at_origin, size, e->source, packed);
  free(packed);
  if (e->kind == kFetchAndOp || e->kind == kCompareAndSwap || e->kind == kReadModifyWrite) {
    issue_single(job, p, e, at);
  } else {
    side from = make_side(&e->at_origin, r->unit), to = make_side(&e->at_target, r->unit);
    side result = make_side(&e->at_result, r->unit);

    issue_many(job, e, from, to, result, at);
    free_side(&from);
    free_side(&to);
    free_side(&result);
  }
  e->state = kIssued;
  ++job->operations;
}
