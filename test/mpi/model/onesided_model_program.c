/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What one origin does in a step: operations that the regions' accesses permit, and between them
 * what MPI demands to be complete, and some completions more.
 */
#include <stdlib.h>

#include "onesided_model.h"

enum { kMaxBytes = 4 << 20, kLargeBytes = 16 << 20, kMaxContended = 2000, kMaxArea = 1 << 20 };

typedef struct {
  const job_state* job;
  plan* p;
  content_rng* rng;
  int origin;
  size_t bytes; /* still to be spent */
  pending_list pending;
} planner;

static uint64_t below(planner* its, uint64_t limit) { return content_below(its->rng, limit); }

static void append_completion(planner* its, completion what, int target) {
  entry_kind kinds[] = {kFlush, kFlushAll, kFlushLocal, kFlushLocalAll};
  entry_kind kind = kinds[below(its, what == kLocal && !kLocalFlushFails ? 4 : 2)];
  int local = kind == kFlushLocal || kind == kFlushLocalAll;
  int all = kind == kFlushAll || kind == kFlushLocalAll;

  plan_append(its->p, its->origin, kind, target);
  order_complete(its->p, its->origin, &its->pending, local ? kLocal : kRemote, all ? -1 : target,
                 -1);
}

static void append_wait(planner* its, int index) {
  entry* e =
      plan_append(its->p, its->origin, kWait, its->p->programs[its->origin].entries[index].target);

  e->awaited = index;
  e->variant = (int)below(its, 4);
  order_complete(its->p, its->origin, &its->pending, kLocal, -1, index);
}

/* Whether the origin may do anything with the region. */
static int may_use(const planner* its, int target, const region* r) {
  return (its->p->reach[its->origin] >> target & 1) != 0 && r->access != kIdle &&
         (r->access != kOwner || r->owner == its->origin);
}

static entry_kind any_kind(planner* its, const region* r) {
  static const entry_kind kOwners[] = {
      kPut,        kPut,           kGet,         kGet,           kRput,          kRget,
      kRget,       kAccumulate,    kRaccumulate, kGetAccumulate, kGetAccumulate, kRgetAccumulate,
      kFetchAndOp, kCompareAndSwap};
  static const entry_kind kGetters[] = {kGet, kRget, kGetAccumulate, kRgetAccumulate, kFetchAndOp};
  static const entry_kind kAdders[] = {kAccumulate, kRaccumulate};
  static const entry_kind kBoth[] = {kAccumulate,     kRaccumulate, kGetAccumulate, kGetAccumulate,
                                     kRgetAccumulate, kFetchAndOp,  kFetchAndOp};

  switch (r->access) {
    case kReaders: return kGetters[below(its, 5)];
    case kShared: return r->fetching ? kBoth[below(its, 7)] : kAdders[below(its, 2)];
    case kReplaced: return kBoth[below(its, 7)];
    case kSwapped: return kCompareAndSwap;
    case kLocked: return kReadModifyWrite;
    default: return kOwners[below(its, 14)];
  }
}

/* Whether the kind exists for the type and under the synchronization, and was not taken out: by
 * options, or because stock Open MPI 4.1.4 over UCX fails at it. */
static int is_permitted(const planner* its, const region* r, entry_kind kind) {
  int single = kind == kFetchAndOp || kind == kCompareAndSwap;
  int floating = r->unit == kFloat || r->unit == kDouble;

  if (((its->job->kinds & its->p->kinds) >> kind & 1) == 0 ||
      (is_requested(kind) && !is_passive(its->p->mode))) {
    return 0;
  }
  if (r->unit == kMixed) { return kind == kPut || kind == kGet || kind == kRput || kind == kRget; }
  if (kind == kCompareAndSwap && floating) { return 0; }
  return !single || its->job->quirks || (!floating && r->unit != kByte);
}

static reduce_op any_operation(planner* its, const region* r, entry_kind kind) {
  reduce_op op = r->op;

  if (r->access == kReaders) { return kNoOp; }
  if (is_fetching(kind) && kind != kCompareAndSwap && r->access != kLocked && below(its, 6) == 0) {
    return kNoOp;
  }
  if (r->access == kOwner && is_passive(its->p->mode) && below(its, 4) == 0) {
    do { op = (reduce_op)below(its, kNoOp); } while (!is_allowed(its->job, r->unit, op));
  }
  return op;
}

/* How many elements: nothing, one, few, or up to all. */
static int any_count(planner* its, const region* r, entry_kind kind) {
  size_t size = unit_size(r->unit), most = (size_t)r->count;
  uint64_t choice = below(its, 12);
  unsigned bits = 0;

  if (kind == kFetchAndOp || kind == kCompareAndSwap || kind == kReadModifyWrite) { return 1; }
  most = most * size > its->bytes ? its->bytes / size : most;
  if (is_contended(r) && most > kMaxContended) {
    most = its->p->area < kMaxArea ? kMaxContended : 1;
  }
  if (choice == 0 || most == 0) { return 0; }
  if (choice < 4) { return 1; }
  while (most >> bits > 1) { ++bits; }
  if (choice < (its->p->large ? 6 : 11)) { most = most >> below(its, bits + 1); }
  return (int)(most - below(its, most / 2 + 1));
}

static void fill_layouts(planner* its, const region* r, entry* e) {
  int fails =
      e->kind >= kAccumulate ? kDerivedAccumulateFails : e->kind == kRget && kDerivedRgetFails;
  int derived = its->job->derived && (its->job->quirks || !fails);
  int count = any_count(its, r, e->kind);
  int extra = count + (int)below(its, 64), available = r->count;

  if (e->kind == kFetchAndOp || e->kind == kCompareAndSwap || e->kind == kReadModifyWrite) {
    derived = 0;
    /* So that ranks contend for few elements. */
    available = is_contended(r) && available > 3 ? 3 : available;
  }
  e->at_target = layout_make(its->rng, available, count, derived);
  e->at_origin = layout_make(its->rng, extra, count, derived);
  e->at_result = layout_make(its->rng, extra, count, derived);
}

/* One operation on a region, after what has to be complete before. */
static void append_operation(planner* its, int target, int index) {
  const region* r = &its->p->region[target][index];
  entry e = {.origin = its->origin, .target = target, .region = index, .request = MPI_REQUEST_NULL};
  completion needed;
  int awaited = -1;

  for (int tries = 0; tries < 8 && !is_permitted(its, r, e.kind = any_kind(its, r)); ++tries) {
    e.kind = kDropped;
  }
  if (!is_operation(e.kind) || !is_permitted(its, r, e.kind) || its->pending.count == kMaxPending) {
    return;
  }
  e.op = any_operation(its, r, e.kind);
  fill_layouts(its, r, &e);
  e.key = content_next(its->rng);
  e.variant = (int)below(its, 64);
  needed = order_needed(its->p, its->origin, &its->pending, &e, &awaited);
  if (needed != kNone && !is_passive(its->p->mode)) { return; }
  if (needed == kLocal && awaited >= 0 && below(its, 3) != 0 &&
      is_requested(its->p->programs[its->origin].entries[awaited].kind)) {
    append_wait(its, awaited);
  } else if (needed != kNone) {
    append_completion(its, needed, target);
  }
  its->bytes -= (size_t)e.at_target.count * unit_size(r->unit);
  if (is_contended(r) && is_fetching(e.kind)) {
    e.area = its->p->area;
    its->p->area += (size_t)(e.at_target.count + (e.kind == kCompareAndSwap)) * unit_size(r->unit);
  }
  *plan_append(its->p, its->origin, e.kind, target) = e;
  order_add(&its->pending, its->p->programs[its->origin].count - 1);
  if (r->access == kSwapped && is_passive(its->p->mode) && below(its, 2) == 0) {
    append_completion(its, kLocal, target); /* so that the next one compares with what came */
  }
}

/* Completions that nothing demands. */
static void append_some_completion(planner* its, int target) {
  const program* all = &its->p->programs[its->origin];

  if (!is_passive(its->p->mode)) { return; }
  if (below(its, 12) == 0) {
    append_completion(its, kLocal, target);
  } else if (its->pending.count > 0 && below(its, 4) == 0) {
    int index = its->pending.items[below(its, (uint64_t)its->pending.count)].index;
    if (is_requested(all->entries[index].kind) && all->entries[index].target == target) {
      append_wait(its, index);
    }
  }
}

/* Operations on one target, or on any if that is -1. */
static void append_some(planner* its, int target, int count) {
  for (int i = 0; i < count; ++i) {
    int at = target >= 0 ? target : (int)below(its, (uint64_t)its->job->size);
    at = target < 0 && its->p->crowded >= 0 && below(its, 8) != 0 ? its->p->crowded : at;
    int index = (int)below(its, (uint64_t)its->p->regions[at]);

    index = its->p->large && below(its, 4) == 0 ? 0 : index;
    if (may_use(its, at, &its->p->region[at][index])) {
      append_operation(its, at, index);
      append_some_completion(its, at);
    }
  }
}

/* Locks one target after another, in an order of its own. */
static void append_locked(planner* its, int count) {
  int size = its->job->size, first = (int)below(its, (uint64_t)size);

  for (int i = 0; i < size; ++i) {
    int target = (first + i) % size;

    plan_append(its->p, its->origin, kLock, target)->variant = (int)below(its, 4);
    append_some(its, target, count / size + 1);
    if (below(its, 2) == 0) { plan_append(its->p, its->origin, kWaitAll, target); }
    plan_append(its->p, its->origin, kUnlock, target);
    order_complete(its->p, its->origin, &its->pending, kRemote, target, -1);
  }
}

void plan_program(const job_state* job, plan* p, int origin, content_rng* rng) {
  planner* its = malloc(sizeof(*its));
  int count = 1 << content_below(rng, 7);

  if (its == NULL) { abort(); }
  *its = (planner){.job = job,
                   .p = p,
                   .rng = rng,
                   .origin = origin,
                   .bytes = p->large ? kLargeBytes : kMaxBytes};
  count += (int)content_below(rng, (uint64_t)count);
  if (p->mode == kLockShared || p->mode == kLockExclusive) {
    append_locked(its, count);
  } else {
    append_some(its, -1, count);
    if (content_below(rng, 2) == 0) { plan_append(p, origin, kWaitAll, -1); }
  }
  free(its);
}
