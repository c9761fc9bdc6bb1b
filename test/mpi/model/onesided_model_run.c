/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The execution of a step: synchronization around this rank's program, and what becomes complete.
 */
#include "onesided_model.h"

/* Everything before `end` in this rank's program on target (-1: all) is complete at the origin. */
static void complete_before(job_state* job, plan* p, int end, int target) {
  program* own = &p->programs[job->rank];

  for (int i = 0; i < end; ++i) {
    entry* e = &own->entries[i];
    if (is_operation(e->kind) && e->state == kIssued && (target < 0 || e->target == target)) {
      check_complete(job, p, e);
    }
  }
}

static void wait_for(job_state* job, plan* p, entry* e, int testing) {
  int done = 0;

  if (!is_operation(e->kind) || e->request == MPI_REQUEST_NULL) { return; }
  while (testing && !done) { MPI_Test(&e->request, &done, MPI_STATUS_IGNORE); }
  if (!done) { MPI_Wait(&e->request, MPI_STATUS_IGNORE); }
  if (e->state == kIssued) { check_complete(job, p, e); }
}

static void wait_all(job_state* job, plan* p, int end, int target) {
  program* own = &p->programs[job->rank];

  for (int i = 0; i < end; ++i) {
    if (target < 0 || own->entries[i].target == target) { wait_for(job, p, &own->entries[i], 0); }
  }
}

static void lock(job_state* job, const plan* p, const entry* e) {
  int shared = p->mode == kLockShared;

  MPI_Win_lock(shared ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, e->target,
               shared && e->variant == 0 && !kNoCheckFails ? MPI_MODE_NOCHECK : 0, job->win);
}

static void synchronize(job_state* job, plan* p, const entry* e, int index) {
  int all = e->kind == kFlushAll || e->kind == kFlushLocalAll;

  switch (e->kind) {
    case kLock: lock(job, p, e); return;
    case kUnlock: MPI_Win_unlock(e->target, job->win); break;
    case kFlush: MPI_Win_flush(e->target, job->win); break;
    case kFlushLocal: MPI_Win_flush_local(e->target, job->win); break;
    case kFlushAll: MPI_Win_flush_all(job->win); break;
    case kFlushLocalAll: MPI_Win_flush_local_all(job->win); break;
    case kWait:
      wait_for(job, p, &p->programs[job->rank].entries[e->awaited], e->variant == 0);
      return;
    case kWaitAll: wait_all(job, p, index, e->target); return;
    default: return;
  }
  complete_before(job, p, index, all ? -1 : e->target);
}

static void run_program(job_state* job, plan* p) {
  program* own = &p->programs[job->rank];

  for (int i = 0; i < own->count; ++i) {
    if (is_operation(own->entries[i].kind)) {
      issue_operation(job, p, &own->entries[i]);
    } else {
      synchronize(job, p, &own->entries[i], i);
    }
  }
}

/* The ranks that reach this one, or that it reaches. */
static MPI_Group make_group(const job_state* job, const plan* p, int reached) {
  MPI_Group world, group;
  int ranks[kMaxRanks], count = 0;

  for (int rank = 0; rank < job->size; ++rank) {
    unsigned bits = reached ? p->reach[job->rank] >> rank : p->reach[rank] >> job->rank;
    if (bits & 1) { ranks[count++] = rank; }
  }
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_incl(world, count, ranks, &group);
  MPI_Group_free(&world);
  return group;
}

static void run_pscw(job_state* job, plan* p) {
  MPI_Group to = make_group(job, p, 1), from = make_group(job, p, 0);
  int done = 0;

  MPI_Win_post(from, 0, job->win);
  MPI_Win_start(to, 0, job->win);
  run_program(job, p);
  MPI_Win_complete(job->win);
  complete_before(job, p, p->programs[job->rank].count, -1);
  while (p->step % 2 == 1 && !done) { MPI_Win_test(job->win, &done); }
  if (!done) { MPI_Win_wait(job->win); }
  MPI_Group_free(&to);
  MPI_Group_free(&from);
}

static void open_epoch(job_state* job, const plan* p) {
  if (p->mode == kFence) {
    MPI_Win_fence(p->step % 2 == 0 ? MPI_MODE_NOPRECEDE : 0, job->win);
  } else if (p->mode == kLockTogether) {
    for (int target = 0; target < job->size; ++target) {
      MPI_Win_lock(MPI_LOCK_SHARED, target, 0, job->win);
    }
  } else if (p->mode == kLockAll && p->step == 0) {
    MPI_Win_lock_all(p->phase % 2 == 0 && !kNoCheckFails ? MPI_MODE_NOCHECK : 0, job->win);
  }
}

static void close_epoch(job_state* job, plan* p) {
  if (p->mode == kFence) {
    MPI_Win_fence(p->step % 2 == 0 || p->step + 1 == p->steps ? MPI_MODE_NOSUCCEED : 0, job->win);
  } else if (p->mode == kLockTogether) {
    for (int target = job->size - 1; target >= 0; --target) { MPI_Win_unlock(target, job->win); }
  } else if (p->mode == kLockAll && p->step + 1 == p->steps) {
    MPI_Win_unlock_all(job->win);
  } else if (p->mode == kLockAll) {
    MPI_Win_flush_all(job->win);
  }
  complete_before(job, p, p->programs[job->rank].count, -1);
  wait_all(job, p, p->programs[job->rank].count, -1);
}

/* What this rank stores into its own window before the step. */
static void store(job_state* job, const plan* p) {
  for (int i = 0; i < p->regions[job->rank]; ++i) {
    if (p->region[job->rank][i].stored) { model_store(&p->region[job->rank][i], job->base); }
  }
}

void run_step(job_state* job, plan* p) {
  int open = p->mode == kLockAll && p->step > 0;

  store(job, p);
  if (open) { MPI_Win_sync(job->win); }
  MPI_Barrier(MPI_COMM_WORLD);
  open_epoch(job, p);
  if (p->mode == kPscw) {
    run_pscw(job, p);
  } else {
    run_program(job, p);
  }
  close_epoch(job, p);
  MPI_Barrier(MPI_COMM_WORLD);
  if (p->mode == kLockAll && p->step + 1 < p->steps) { MPI_Win_sync(job->win); }
  check_kept(job, p);
  check_window(job, p);
  check_contended(job, p);
}
