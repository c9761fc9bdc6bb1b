/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What was fetched and what is in the windows, compared with the model.
 */
#include <stdio.h>
#include <stdlib.h>

#include "onesided_model.h"

static int64_t difference(const uint8_t* a, const uint8_t* b, size_t length) {
  if (memcmp(a, b, length) == 0) { return -1; }
  for (size_t i = 0; i < length; ++i) {
    if (a[i] != b[i]) { return (int64_t)i; }
  }
  return -1;
}

static size_t count_different(const uint8_t* a, const uint8_t* b, size_t count, size_t size) {
  size_t different = 0;

  for (size_t i = 0; i < count; ++i) { different += memcmp(a + i * size, b + i * size, size) != 0; }
  return different;
}

static void hex(const uint8_t* bytes, size_t size, char* text) {
  for (size_t i = 0; i < size; ++i) { snprintf(text + 2 * i, 3, "%02x", bytes[i]); }
}

/* Compares elements; tells the first that differs, in bytes as they lie in memory. */
static void compare(job_state* job, plan* p, const entry* e, const char* what,
                    const uint8_t* wanted, const uint8_t* found, int count, size_t size) {
  int64_t at = difference(wanted, found, (size_t)count * size);
  char wanted_text[40], found_text[40];

  ++job->checks;
  if (at < 0) { return; }
  at /= (int64_t)size;
  hex(wanted + (size_t)at * size, size, wanted_text);
  hex(found + (size_t)at * size, size, found_text);
  complain(job, p, e, "%s: %zu of %d elements, first %lld: wanted %s found %s", what,
           count_different(wanted, found, (size_t)count, size), count, (long long)at, wanted_text,
           found_text);
}

/* The result buffer holds the elements, and poison in the gaps and behind. */
static void check_result(job_state* job, plan* p, entry* e, const char* what) {
  size_t size = unit_size(plan_region(p, e)->unit), length;
  int count = e->at_target.count, low, high;
  uint8_t *found = need((size_t)count * size), *whole;

  layout_bounds(&e->at_result, &low, &high);
  length = (size_t)high * size + kGuard;
  layout_pack(&e->at_result, size, e->result, found);
  if (e->wanted != NULL) { compare(job, p, e, what, e->wanted, found, count, size); }
  whole = need(length);
  memset(whole, kPoison, length);
  layout_unpack(&e->at_result, size, whole, found);
  compare(job, p, e, "bytes around the result", whole, e->result, (int)length, 1);
  free(whole);
  free(found);
}

void check_complete(job_state* job, plan* p, entry* e) {
  size_t size = unit_size(plan_region(p, e)->unit);
  int low, high;

  e->state = kComplete;
  if (is_fetching(e->kind)) { check_result(job, p, e, "fetched"); }
  /* Complete at the origin: what was sent may change. */
  if (e->kind != kReadModifyWrite) {
    layout_bounds(&e->at_origin, &low, &high);
    memset(e->source, 0x5c, (size_t)high * size);
  }
}

void check_kept(job_state* job, plan* p) {
  program* own = &p->programs[job->rank];

  for (int i = 0; i < own->count; ++i) {
    entry* e = &own->entries[i];
    if (is_operation(e->kind) && is_fetching(e->kind)) {
      check_result(job, p, e, "fetched, seen when the step ended");
    }
  }
}

void check_window(job_state* job, plan* p) {
  uint8_t* model = job->model[job->rank];
  size_t before = 0;

  for (int i = 0; i < p->regions[job->rank]; ++i) {
    region* r = &p->region[job->rank][i];
    size_t size = unit_size(r->unit);
    char what[100];

    compare(job, p, NULL, "window, between regions", model + before, job->base + before,
            (int)(r->offset - before), 1);
    before = r->offset + (size_t)r->count * size;
    if (r->access == kReplaced || r->access == kSwapped) { continue; }
    snprintf(what, sizeof(what),
             "window, region %d of %d-byte elements at %zu, access %d op %d owner %d", i, (int)size,
             r->offset, (int)r->access, (int)r->op, r->owner);
    compare(job, p, NULL, what, model + r->offset, job->base + r->offset, r->count, size);
  }
  compare(job, p, NULL, "window, behind the regions", model + before, job->base + before,
          (int)(job->max_length - before), 1);
}
