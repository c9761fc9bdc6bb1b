/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Plans and wrong results in words.
 */
#include <stdarg.h>
#include <stdio.h>

#include "onesided_model.h"

static const char* const kKindNames[kEntryKinds] = {"put",
                                                    "get",
                                                    "rput",
                                                    "rget",
                                                    "accumulate",
                                                    "raccumulate",
                                                    "get_accumulate",
                                                    "rget_accumulate",
                                                    "fetch_and_op",
                                                    "compare_and_swap",
                                                    "read_modify_write",
                                                    "lock",
                                                    "unlock",
                                                    "flush",
                                                    "flush_local",
                                                    "flush_all",
                                                    "flush_local_all",
                                                    "wait",
                                                    "wait_all",
                                                    "dropped"};
static const char* const kModeNames[kModes] = {"fence",          "pscw",          "lock_shared",
                                               "lock_exclusive", "lock_together", "lock_all"};
static const char* const kOpNames[kOps] = {"sum", "prod", "max",     "min",  "band",
                                           "bor", "bxor", "replace", "no_op"};
static const char* const kUnitNames[kUnits] = {"byte",   "int32", "uint32", "int64",
                                               "uint64", "float", "double", "mixed"};
static const char* const kLayoutNames[] = {"contiguous", "contiguous type", "vector", "indexed"};
static const char* const kAccessNames[] = {"idle",     "readers", "owner", "shared",
                                           "replaced", "swapped", "locked"};

const char* mode_name(sync_mode mode) { return kModeNames[mode]; }

const char* kind_name(entry_kind kind) { return kKindNames[kind]; }

void entry_text(plan* p, const entry* e, char* text, size_t length) {
  int index = (int)(e - p->programs[e->origin].entries);
  const region* r = plan_region(p, e);
  int low, high;

  if (!is_operation(e->kind)) {
    snprintf(text, length, "%d:%d:%d %s of rank %d by rank %d%s%.0d", p->step, e->origin, index,
             kKindNames[e->kind], e->target, e->origin, e->kind == kWait ? " for " : "",
             e->awaited);
    return;
  }
  layout_bounds(&e->at_target, &low, &high);
  snprintf(
      text, length,
      "%d:%d:%d %s%s%s of %d %s from rank %d to rank %d, region %d (%s) at %zu, elements %d to %d, "
      "%s, %s, %s, variant %d",
      p->step, e->origin, index, kKindNames[e->kind], e->kind >= kAccumulate ? " " : "",
      e->kind >= kAccumulate ? kOpNames[e->op] : "", e->at_target.count, kUnitNames[r->unit],
      e->origin, e->target, e->region, kAccessNames[r->access], r->offset, low, high,
      kLayoutNames[e->at_origin.kind], kLayoutNames[e->at_target.kind],
      kLayoutNames[e->at_result.kind], e->variant);
}

void plan_print(plan* p) {
  char text[400];

  printf("phase %llu step %d of %d, %s\n", (unsigned long long)p->phase, p->step, p->steps,
         kModeNames[p->mode]);
  for (int origin = 0; origin < kMaxRanks; ++origin) {
    for (int i = 0; i < p->programs[origin].count; ++i) {
      entry_text(p, &p->programs[origin].entries[i], text, sizeof(text));
      printf("  %s\n", text);
    }
  }
}

void complain(job_state* job, plan* p, const entry* e, const char* format, ...) {
  char what[300], text[400] = "";
  va_list arguments;

  ++job->wrong;
  if (job->show-- <= 0) { return; }
  va_start(arguments, format);
  vsnprintf(what, sizeof(what), format, arguments);
  va_end(arguments);
  if (e != NULL) { entry_text(p, e, text, sizeof(text)); }
  fprintf(stderr, "rank %d of %d: WRONG seed %llu phase %llu step %d %s: %s%s%s\n", job->rank,
          job->size, (unsigned long long)p->seed, (unsigned long long)p->phase, p->step,
          kModeNames[p->mode], what, e == NULL ? "" : ": ", text);
}
