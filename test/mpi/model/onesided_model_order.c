/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which completions MPI demands between two operations of one origin on the same elements.
 * Accumulates with one operation (or MPI_NO_OP) are ordered by themselves; what only read is done
 * when it is complete at the origin; everything else must be complete at the target before the next
 * one.
 */
#include "onesided_model.h"

static int is_atomic(entry_kind kind) {
  return kind == kAccumulate || kind == kRaccumulate || kind == kGetAccumulate ||
         kind == kRgetAccumulate || kind == kFetchAndOp || kind == kCompareAndSwap;
}

static int only_reads(const entry* e) {
  return e->kind == kGet || e->kind == kRget ||
         (is_atomic(e->kind) && is_fetching(e->kind) && e->op == kNoOp);
}

static int are_ordered(const entry* before, const entry* after) {
  if (!is_atomic(before->kind) || !is_atomic(after->kind)) { return 0; }
  if ((before->kind == kCompareAndSwap) != (after->kind == kCompareAndSwap)) {
    return only_reads(before) && only_reads(after);
  }
  return before->op == after->op || before->op == kNoOp || after->op == kNoOp;
}

static int overlap(const entry* a, const entry* b) {
  int low_a, high_a, low_b, high_b;

  if (a->target != b->target || a->region != b->region) { return 0; }
  layout_bounds(&a->at_target, &low_a, &high_a);
  layout_bounds(&b->at_target, &low_b, &high_b);
  return low_a < high_b && low_b < high_a;
}

/* The completion that must come before e; for kLocal the entry that has to be complete. */
completion order_needed(plan* p, int origin, const pending_list* pending, const entry* e,
                        int* index_p) {
  const entry* all = p->programs[origin].entries;
  completion needed = kNone;

  for (int i = 0; i < pending->count; ++i) {
    const entry* before = &all[pending->items[i].index];

    if (!overlap(before, e) || (only_reads(before) && only_reads(e)) || are_ordered(before, e)) {
      continue;
    }
    if (!only_reads(before)) { return kRemote; }
    if (!pending->items[i].local) {
      /* One entry is named: when a second one is in the way, all have to be. */
      *index_p = needed == kLocal ? -1 : pending->items[i].index;
      needed = kLocal;
    }
  }
  return needed;
}

void order_add(pending_list* pending, int index) {
  pending->items[pending->count].index = index;
  pending->items[pending->count++].local = 0;
}

/* After a flush (kRemote), a local flush or a wait (kLocal): of target, or of all if that is -1; of
 * the entry alone if index is none of -1. */
void order_complete(plan* p, int origin, pending_list* pending, completion what, int target,
                    int index) {
  const entry* all = p->programs[origin].entries;
  int kept = 0;

  for (int i = 0; i < pending->count; ++i) {
    const entry* e = &all[pending->items[i].index];
    int meant = index >= 0 ? pending->items[i].index == index : target < 0 || e->target == target;

    if (meant && (what == kRemote || only_reads(e))) { continue; }
    pending->items[kept] = pending->items[i];
    pending->items[kept++].local |= meant;
  }
  pending->count = kept;
}
