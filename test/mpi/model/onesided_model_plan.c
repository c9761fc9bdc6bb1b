/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The plan: the kind of synchronization, the regions of each window, and who may do what with them.
 */
#include <stdlib.h>

#include "onesided_model.h"

int is_operation(entry_kind kind) { return kind <= kReadModifyWrite; }

int is_fetching(entry_kind kind) {
  return kind == kGet || kind == kRget || kind == kGetAccumulate || kind == kRgetAccumulate ||
         kind == kFetchAndOp || kind == kCompareAndSwap || kind == kReadModifyWrite;
}

int is_requested(entry_kind kind) {
  return kind == kRput || kind == kRget || kind == kRaccumulate || kind == kRgetAccumulate;
}

int is_passive(sync_mode mode) { return mode != kFence && mode != kPscw; }

int is_contended(const region* r) {
  return r->access == kReplaced || r->access == kSwapped || r->access == kLocked ||
         (r->access == kShared && r->fetching);
}

region* plan_region(plan* p, const entry* e) { return &p->region[e->target][e->region]; }

entry* plan_append(plan* p, int origin, entry_kind kind, int target) {
  program* its = &p->programs[origin];
  entry* e;

  if (its->count == its->capacity) {
    its->capacity = its->capacity * 2 + 16;
    its->entries = realloc(its->entries, (size_t)its->capacity * sizeof(entry));
    if (its->entries == NULL) { abort(); }
  }
  e = &its->entries[its->count++];
  memset(e, 0, sizeof(*e));
  e->kind = kind;
  e->origin = origin;
  e->target = target;
  e->request = MPI_REQUEST_NULL;
  return e;
}

void plan_free(plan* p) {
  for (int origin = 0; origin < kMaxRanks; ++origin) { free(p->programs[origin].entries); }
}

/* A number up to limit whose logarithm is about evenly distributed. */
static uint64_t any_magnitude(content_rng* rng, uint64_t limit) {
  unsigned bits = 0;

  while (limit >> bits > 1) { ++bits; }
  limit >>= content_below(rng, bits + 1);
  return limit - content_below(rng, limit / 2 + 1);
}

/* Regions of random types one after another, with gaps that nothing may touch. */
static void make_regions(content_rng* rng, size_t length, plan* p, int target) {
  int wanted = 2 + (int)content_below(rng, kMaxRegions - 1);
  size_t offset = 0;

  p->regions[target] = 0;
  while (p->regions[target] < wanted) {
    region* r = &p->region[target][p->regions[target]];
    size_t size, align;

    memset(r, 0, sizeof(*r));
    r->unit = (unit_kind)content_below(rng, kUnits);
    size = unit_size(r->unit);
    align = size > 8 ? 8 : size;
    offset += content_below(rng, 3) == 0 ? (size_t)content_below(rng, 64) : 0;
    offset = (offset + align - 1) / align * align;
    if (offset + size > length) { break; }
    r->offset = offset;
    r->count = 1 + (int)any_magnitude(rng, (length - offset) / size - 1);
    if (p->large && p->regions[target] == 0) { r->count = (int)(length / 2 / size); }
    offset += (size_t)r->count * size;
    ++p->regions[target];
  }
}

static int pick_bit(content_rng* rng, unsigned bits, int count) {
  int picked;

  do { picked = (int)content_below(rng, (uint64_t)count); } while ((bits >> picked & 1) == 0);
  return picked;
}

void plan_phase(const job_state* job, uint64_t phase, plan* p) {
  content_rng rng = {content_mix2(job->seed, phase)};
  uint64_t scale = content_below(&rng, 10);

  p->seed = job->seed;
  p->phase = phase;
  p->mode = (sync_mode)pick_bit(&rng, job->modes, kModes);
  p->steps = 1 + (int)content_below(&rng, 4);
  p->length = scale < 5 ? 4096 : scale < 8 ? 100000 : job->max_length;
  p->length = p->length > job->max_length ? job->max_length : p->length;
  p->kinds = content_below(&rng, 2) == 0 ? ~0u : (unsigned)content_next(&rng);
  p->crowded = content_below(&rng, 2) == 0 ? (int)content_below(&rng, (uint64_t)job->size) : -1;
  p->large = content_below(&rng, 4) == 0;
  if (p->large) {
    p->length = job->max_length;
    p->kinds |= 1u << kGet | 1u << kGetAccumulate;
    p->crowded = (int)content_below(&rng, (uint64_t)job->size);
  }
  for (int target = 0; target < job->size; ++target) { make_regions(&rng, p->length, p, target); }
}

int is_allowed(const job_state* job, unit_kind unit, reduce_op op) {
  if (unit == kFloat || unit == kDouble) {
    return op == kSum || op == kMax || op == kMin || op == kReplace;
  }
  if (unit == kByte && op == kSum && !job->quirks) { return 0; }
  return !kUnsignedOrderFails || job->quirks || (op != kMax && op != kMin) || unit == kInt32 ||
         unit == kInt64;
}

static reduce_op any_op(const job_state* job, content_rng* rng, unit_kind unit) {
  reduce_op op;

  do {
    op = content_below(rng, 4) == 0 ? kReplace : (reduce_op)content_below(rng, kNoOp);
  } while (!is_allowed(job, unit, op));
  return op;
}

static void choose_access(content_rng* rng, const job_state* job, const plan* p, region* r) {
  uint64_t choice = content_below(rng, 20);
  int words = r->unit == kInt32 || r->unit == kUint32 || r->unit == kInt64 || r->unit == kUint64;

  r->owner = (int)content_below(rng, (uint64_t)job->size);
  r->op = any_op(job, rng, r->unit == kMixed ? kByte : r->unit);
  r->fetching = (int)content_below(rng, 2);
  if (choice < 1) {
    r->access = kIdle;
  } else if (choice < 4) {
    r->access = kReaders;
  } else if (choice < 11 || r->unit == kMixed) {
    r->access = kOwner;
  } else if (choice < 16 || !words) {
    r->access = choice == 16 ? kReplaced : kShared;
  } else if (choice < 17) {
    r->access = kReplaced;
  } else {
    r->access = p->mode == kLockExclusive && choice < 19 ? kLocked : kSwapped;
  }
  if (r->access == kShared && r->op == kReplace) {
    r->op = r->unit == kByte ? kBxor : kSum;
  } else if (r->access == kReplaced) {
    r->op = kReplace;
  } else if (r->access == kSwapped || r->access == kLocked) {
    r->op = kSum;
  }
  r->small =
      r->access == kLocked || (r->access == kShared && r->fetching && r->op == kSum && words);
}

/* Many large gets are answered late, and meanwhile others replace what they fetch: no put may
 * overtake the get before it. */
static void favour_overtaking(content_rng* rng, region* r, int index) {
  if (index == 0 && content_below(rng, 4) != 0) {
    r->access = kReaders;
    r->small = 0;
  } else if (r->access == kOwner && content_below(rng, 2) == 0) {
    r->op = kReplace;
  }
}

void plan_step(const job_state* job, plan* p, int step) {
  content_rng rng = {content_mix2(content_mix2(job->seed, p->phase), 1000 + (uint64_t)step)};

  p->step = step;
  p->area = 0;
  for (int target = 0; target < job->size; ++target) {
    for (int i = 0; i < p->regions[target]; ++i) {
      region* r = &p->region[target][i];

      choose_access(&rng, job, p, r);
      if (p->large) { favour_overtaking(&rng, r, i); }
      r->stored = step == 0 || is_contended(r) || content_below(&rng, 6) == 0;
      r->key = content_next(&rng);
    }
  }
  for (int origin = 0; origin < job->size; ++origin) {
    p->reach[origin] = p->mode != kPscw ? ~0u : (unsigned)(content_next(&rng) | content_next(&rng));
    p->programs[origin].count = 0;
    plan_program(job, p, origin, &rng);
  }
  for (int target = 0; target < job->size; ++target) {
    for (int i = 0; i < p->regions[target]; ++i) {
      const region* r = &p->region[target][i];
      p->area += is_contended(r) ? (size_t)r->count * unit_size(r->unit) : 0;
    }
  }
}
