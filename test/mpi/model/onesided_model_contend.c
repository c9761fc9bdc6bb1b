/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where several ranks contend, the order is not determined, but what was fetched and what is left
 * must be the outcome of some order. What all fetched is exchanged; the target looks at each
 * element.
 */
#include <stdlib.h>

#include "onesided_model.h"

/* One operation on one element. */
typedef struct {
  int element, origin, order;
  int fetches, writes;
  uint64_t old, operand, compare; /* raw bytes */
  const entry* e;
} record;

typedef struct {
  job_state* job;
  plan* p;
  const region* r;
  int element;
  uint64_t first, last; /* content before and after */
  record* records;
  int count;
} contest;

static uint64_t load(const uint8_t* at, size_t size) {
  uint64_t value = 0;
  memcpy(&value, at, size);
  return value;
}

static int64_t number(const contest* c, uint64_t raw) {
  return model_number(c->r->unit, (const uint8_t*)&raw);
}

static void judge(contest* c, int right, const entry* e, const char* what, uint64_t value) {
  ++c->job->checks;
  if (!right) {
    complain(
        c->job, c->p, e,
        "rank %d, region %d, element %d: %s: found %llx (of %d operations; first %llx, last %llx)",
        c->job->rank, (int)(c->r - c->p->region[c->job->rank]), c->element, what,
        (unsigned long long)value, c->count, (unsigned long long)c->first,
        (unsigned long long)c->last);
  }
}

static int by_element(const void* left, const void* right) {
  const record *a = left, *b = right;
  return a->element != b->element ? (a->element < b->element ? -1 : 1)
         : a->origin != b->origin ? a->origin - b->origin
                                  : a->order - b->order;
}

/* By what was there; of equals those that change nothing come first. */
static int by_old(const void* left, const void* right) {
  const record *a = left, *b = right;
  return a->old != b->old ? (a->old < b->old ? -1 : 1) : a->writes - b->writes;
}

static int by_value(const void* left, const void* right) {
  uint64_t a = *(const uint64_t*)left, b = *(const uint64_t*)right;
  return a < b ? -1 : a > b;
}

/* Positive numbers were added: in the order of what was there each one continues the one before, or
 * leaves room for those that did not fetch. */
static void check_sums(contest* c) {
  int64_t now = number(c, c->first);
  int all = 1;

  for (int i = 0; i < c->count; ++i) {
    all &= c->records[i].fetches;
    c->records[i].old = c->records[i].fetches ? (uint64_t)number(c, c->records[i].old) : 0;
  }
  qsort(c->records, (size_t)c->count, sizeof(record), by_old);
  for (int i = 0; i < c->count; ++i) {
    const record* at = &c->records[i];
    if (at->fetches) {
      judge(c, all ? (int64_t)at->old == now : (int64_t)at->old >= now, at->e,
            "not the sum of an order", at->old);
      now = (int64_t)at->old + (at->writes ? number(c, at->operand) : 0);
    }
  }
  judge(c, all ? number(c, c->last) == now : number(c, c->last) >= now, NULL, "not the last sum",
        c->last);
}

/* Maxima, minima, bits set or cleared: who comes later finds what came earlier in effect. */
static void check_lattice(contest* c) {
  for (int i = 0; i < c->count; ++i) {
    const record* at = &c->records[i];
    uint64_t joined = at->old, end = c->last;

    if (!at->fetches) { continue; }
    model_combine(c->r->op, c->r->unit, (uint8_t*)&joined, (const uint8_t*)&c->first, 1);
    judge(c, joined == at->old, at->e, "not reached from the first content", at->old);
    model_combine(c->r->op, c->r->unit, (uint8_t*)&end, (const uint8_t*)&at->old, 1);
    judge(c, end == c->last, at->e, "does not lead to the last content", at->old);
    for (int j = 0; j < i; ++j) {
      const record* other = &c->records[j];
      if (other->origin == at->origin && other->writes) {
        joined = at->old;
        model_combine(c->r->op, c->r->unit, (uint8_t*)&joined, (const uint8_t*)&other->operand, 1);
        judge(c, joined == at->old, at->e, "without an earlier one of the same origin", at->old);
      }
    }
  }
}

/* Each value comes out once, by a fetch or at the end. */
static void check_replaced(contest* c) {
  uint64_t* in = need(((size_t)c->count + 1) * 8);
  uint64_t* out = need(((size_t)c->count + 1) * 8);
  int ins = 0, outs = 0, all = 1;

  in[ins++] = c->first;
  out[outs++] = c->last;
  for (int i = 0; i < c->count; ++i) {
    const record* at = &c->records[i];
    if (at->writes) {
      in[ins++] = at->operand;
      all &= at->fetches;
    }
    if (at->writes && at->fetches) { out[outs++] = at->old; }
  }
  qsort(in, (size_t)ins, 8, by_value);
  qsort(out, (size_t)outs, 8, by_value);
  for (int i = 0; i < c->count; ++i) {
    const record* at = &c->records[i];
    if (at->fetches) {
      judge(c, bsearch(&at->old, in, (size_t)ins, 8, by_value) != NULL, at->e, "nobody's value",
            at->old);
    }
  }
  judge(c, bsearch(&c->last, in, (size_t)ins, 8, by_value) != NULL, NULL, "nobody's value",
        c->last);
  for (int i = 0; all && i < ins; ++i) {
    judge(c, in[i] == out[i], NULL, "did not come out once", in[i]);
  }
  free(in);
  free(out);
}

/* Those that swapped form a chain from the first content to the last; the others saw one of it. */
static void check_swapped(contest* c) {
  uint64_t now = c->first;
  int left = 0, found = 1;

  for (int i = 0; i < c->count; ++i) { left += c->records[i].old == c->records[i].compare; }
  while (found) {
    found = 0;
    for (int i = 0; i < c->count && !found; ++i) {
      record* at = &c->records[i];
      if (at->order >= 0 && at->old == at->compare && at->compare == now) {
        now = at->operand;
        at->order = -1;
        found = 1;
        --left;
      }
    }
  }
  judge(c, left == 0, NULL, "swaps that form no chain", (uint64_t)left);
  judge(c, now == c->last, NULL, "not the chain's end", c->last);
  for (int i = 0; i < c->count; ++i) {
    int seen = c->records[i].old == c->first;
    for (int j = 0; j < c->count && !seen; ++j) {
      seen = c->records[j].order == -1 && c->records[j].operand == c->records[i].old;
    }
    judge(c, seen, c->records[i].e, "nobody's value", c->records[i].old);
  }
}

static void check_element(contest* c) {
  int words = c->r->unit == kInt32 || c->r->unit == kUint32 || c->r->unit == kInt64 ||
              c->r->unit == kUint64;

  if (c->r->access == kReplaced) {
    check_replaced(c);
  } else if (c->r->access == kSwapped) {
    check_swapped(c);
  } else if (c->r->op == kSum && words) {
    check_sums(c);
  } else if (words &&
             (c->r->op == kMax || c->r->op == kMin || c->r->op == kBand || c->r->op == kBor)) {
    check_lattice(c);
  }
}

/* The records of one operation. */
static int add_records(job_state* job, plan* p, const entry* e, int order, record* to) {
  const region* r = plan_region(p, e);
  size_t size = unit_size(r->unit);
  uint8_t* operand = need((size_t)e->at_target.count * size);
  int n = 0, start, length;

  model_operand(p, e, operand);
  for (int i = 0; i < layout_blocks(&e->at_target); ++i) {
    layout_block(&e->at_target, i, &start, &length);
    for (int j = 0; j < length; ++j, ++n) {
      to[n] = (record){.element = start + j, .origin = e->origin, .order = order, .e = e};
      to[n].fetches = is_fetching(e->kind);
      to[n].writes = e->op != kNoOp;
      to[n].operand = load(operand + (size_t)n * size, size);
      to[n].old = to[n].fetches ? load(job->area + e->area + (size_t)n * size, size) : 0;
      to[n].compare = e->kind == kCompareAndSwap ? load(job->area + e->area + size, size) : 0;
    }
  }
  free(operand);
  return n;
}

static void check_region(job_state* job, plan* p, int index) {
  const region* r = &p->region[job->rank][index];
  size_t size = unit_size(r->unit), room = 0;
  record* records;
  int count = 0, end;

  for (int pass = 0; pass < 2; ++pass) {
    records = pass == 0 ? NULL : need(room * sizeof(record));
    for (int origin = 0; origin < job->size; ++origin) {
      for (int i = 0; i < p->programs[origin].count; ++i) {
        const entry* e = &p->programs[origin].entries[i];
        if (!is_operation(e->kind) || e->target != job->rank || e->region != index) { continue; }
        room += pass == 0 ? (size_t)e->at_target.count : 0;
        count += pass == 0 ? 0 : add_records(job, p, e, i, records + count);
      }
    }
  }
  qsort(records, (size_t)count, sizeof(record), by_element);
  for (int i = 0; i < count; i = end) {
    size_t at = (size_t)records[i].element * size;
    contest c = {.job = job, .p = p, .r = r, .element = records[i].element, .records = records + i};

    for (end = i; end < count && records[end].element == records[i].element; ++end) {}
    c.count = end - i;
    c.first = load(r->before + at, size);
    c.last = load(job->base + r->offset + at, size);
    check_element(&c);
  }
  free(records);
}

/* What this rank fetched, and what its contended regions hold, put where all will have it. */
static void fill_area(job_state* job, plan* p) {
  program* own = &p->programs[job->rank];
  size_t at = p->area;

  if (job->area_capacity < p->area) {
    free(job->area);
    job->area = need(p->area);
    job->area_capacity = p->area;
  }
  memset(job->area, 0, p->area);
  for (int i = 0; i < own->count; ++i) {
    entry* e = &own->entries[i];
    if (is_operation(e->kind) && is_fetching(e->kind) && is_contended(plan_region(p, e))) {
      size_t size = unit_size(plan_region(p, e)->unit);
      layout_pack(&e->at_result, size, e->result, job->area + e->area);
      if (e->kind == kCompareAndSwap) { memcpy(job->area + e->area + size, &e->compare, size); }
    }
  }
  for (int target = job->size - 1; target >= 0; --target) {
    for (int i = p->regions[target] - 1; i >= 0; --i) {
      const region* r = &p->region[target][i];
      size_t length = is_contended(r) ? (size_t)r->count * unit_size(r->unit) : 0;
      at -= length;
      if (target == job->rank) { memcpy(job->area + at, job->base + r->offset, length); }
    }
  }
}

void check_contended(job_state* job, plan* p) {
  size_t at = p->area;

  if (p->area == 0) { return; }
  fill_area(job, p);
  MPI_Allreduce(MPI_IN_PLACE, job->area, (int)p->area, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD);
  for (int target = job->size - 1; target >= 0; --target) {
    for (int i = p->regions[target] - 1; i >= 0; --i) {
      region* r = &p->region[target][i];
      size_t length = (size_t)r->count * unit_size(r->unit);
      if (!is_contended(r)) { continue; }
      at -= length;
      if (target == job->rank) { check_region(job, p, i); }
      memcpy(job->model[target] + r->offset, job->area + at, length);
    }
  }
}
