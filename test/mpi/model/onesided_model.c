/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Random one-sided operations, compared with a sequential model: puts, gets, accumulates,
 * fetch-and-op and compare-and-swap, with and without requests, under every kind of
 * synchronization, with contiguous and derived types, by several readers and writers, overlapping
 * only where MPI permits it. Every rank computes the plan from the seed; each phase stands alone,
 * so that a failure is repeated with
 *
 *   mpirun -np RANKS onesided_model --seed SEED --phase PHASE
 *
 *   --phases N     phases to do (default 20), or until --seconds S have passed, whichever is first
 *   --bytes N      longest window (default 2 MiB)
 *   --modes LIST   only these: fence,pscw,lock_shared,lock_exclusive,lock_together,lock_all
 *   --kinds LIST   only these operations: put,get,rput,rget,accumulate,...
 *   --windows LIST only these: create,allocate,dynamic (default: create,allocate)
 *   --contiguous   no derived types
 *   --quirks       also what stock MPI over stock UCX fails at. Open MPI 4.1.4: fetch-and-op and
 *                  compare-and-swap of bytes and floating types, accumulates of derived types, sums
 * of bytes (they saturate). MPICH 4.0.2: maxima and minima of unsigned types
 *   --print        the plan;  --drop LIST  leaves out operations, named STEP:RANK:INDEX as there
 *   --limit S      a step that takes longer is a hang (default 60 s)
 *
 * Left out altogether with MPICH, as onesided_model.h says: MPI_MODE_NOCHECK and local flushes.
 *
 * Last line of rank 0: onesided phases N operations N checks N wrong N.
 * Exit status: 0 all as it should be, 1 not, 2 usage, 3 hang.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#include "onesided_model.h"
#include "watch.h"

enum { kPhasesPerWindow = 8 };

static void usage(void) {
  fprintf(stderr,
          "usage: onesided_model [--seed N] [--phase N] [--phases N] [--seconds S] [--bytes N] "
          "[--modes LIST] [--kinds LIST] [--windows LIST] [--contiguous] [--quirks] [--print] "
          "[--drop LIST] [--limit S]\n");
  exit(2);
}

static const char* window_name(int window) {
  static const char* const kNames[kWinKinds] = {"create", "allocate", "dynamic"};
  return kNames[window];
}
static const char* name_of_mode(int mode) { return mode_name((sync_mode)mode); }
static const char* name_of_kind(int kind) { return kind_name((entry_kind)kind); }

/* The bits of the names in a list with commas. */
static unsigned read_list(const char* list, const char* (*name)(int), int count) {
  unsigned bits = 0;

  while (*list != '\0') {
    size_t length = strcspn(list, ",");
    int at = 0;

    while (at < count && (strlen(name(at)) != length || strncmp(name(at), list, length) != 0)) {
      ++at;
    }
    if (at == count) { usage(); }
    bits |= 1u << at;
    list += length + (list[length] == ',');
  }
  return bits;
}

static unsigned read_options(int argc, char** argv, job_state* job) {
  static const struct option kOptions[] = {
      {"seed", 1, NULL, 's'},    {"phase", 1, NULL, 'p'},   {"phases", 1, NULL, 'n'},
      {"seconds", 1, NULL, 't'}, {"bytes", 1, NULL, 'b'},   {"modes", 1, NULL, 'm'},
      {"kinds", 1, NULL, 'k'},   {"windows", 1, NULL, 'w'}, {"contiguous", 0, NULL, 'c'},
      {"quirks", 0, NULL, 'q'},  {"print", 0, NULL, 'v'},   {"drop", 1, NULL, 'd'},
      {"limit", 1, NULL, 'l'},   {NULL, 0, NULL, 0}};
  unsigned limit = 60;
  int option;

  while ((option = getopt_long(argc, argv, "", kOptions, NULL)) != -1) {
    switch (option) {
      case 's': job->seed = strtoull(optarg, NULL, 0); break;
      case 'p':
        job->first = strtoull(optarg, NULL, 0);
        job->phases = 1;
        break;
      case 'n': job->phases = strtoull(optarg, NULL, 0); break;
      case 't': job->seconds = strtod(optarg, NULL); break;
      case 'b': job->max_length = strtoull(optarg, NULL, 0); break;
      case 'm': job->modes = read_list(optarg, name_of_mode, kModes); break;
      case 'k': job->kinds = read_list(optarg, name_of_kind, kReadModifyWrite + 1); break;
      case 'w': job->windows = read_list(optarg, window_name, kWinKinds); break;
      case 'c': job->derived = 0; break;
      case 'q': job->quirks = 1; break;
      case 'v': job->print = 1; break;
      case 'd': job->drop = optarg; break;
      case 'l': limit = (unsigned)strtoul(optarg, NULL, 0); break;
      default: usage();
    }
  }
  return limit;
}

static void make_window(job_state* job, uint64_t batch) {
  uint64_t choice = content_mix2(job->seed, batch);
  MPI_Aint length = (MPI_Aint)job->max_length, address = 0;

  do {
    job->window = (window_kind)(choice++ % kWinKinds);
  } while ((job->windows >> job->window & 1) == 0);
  watch_at("making a window (%s)", window_name(job->window));
  if (job->window == kWinAllocate) {
    MPI_Win_allocate(length, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &job->base, &job->win);
  } else {
    job->base = need(job->max_length);
    if (job->window == kWinCreate) {
      MPI_Win_create(job->base, length, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &job->win);
    } else {
      MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &job->win);
      MPI_Win_attach(job->win, job->base, length);
      MPI_Get_address(job->base, &address);
    }
  }
  MPI_Allgather(&address, 1, MPI_AINT, job->remote, 1, MPI_AINT, MPI_COMM_WORLD);
}

static void free_window(job_state* job) {
  watch_at("freeing the window");
  if (job->window == kWinDynamic) {
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_detach(job->win, job->base);
  }
  MPI_Win_free(&job->win);
  if (job->window != kWinAllocate) { free(job->base); }
}

static void drop_some(const job_state* job, plan* p) {
  int step, origin, index;

  for (const char* at = job->drop; at != NULL && *at != '\0'; at += *at == ',') {
    if (sscanf(at, "%d:%d:%d", &step, &origin, &index) == 3 && step == p->step &&
        origin < job->size && index < p->programs[origin].count &&
        is_operation(p->programs[origin].entries[index].kind)) {
      p->programs[origin].entries[index].kind = kDropped;
    }
    at += strcspn(at, ",");
  }
}

static void free_step(const job_state* job, plan* p) {
  program* own = &p->programs[job->rank];

  for (int i = 0; i < own->count; ++i) {
    free(own->entries[i].source);
    free(own->entries[i].result);
    free(own->entries[i].wanted);
  }
  for (int target = 0; target < job->size; ++target) {
    for (int i = 0; i < p->regions[target]; ++i) {
      free(p->region[target][i].before);
      p->region[target][i].before = NULL;
    }
  }
}

static void run_phase(job_state* job, uint64_t phase, plan* p) {
  plan_phase(job, phase, p);
  for (int rank = 0; rank < job->size; ++rank) { memset(job->model[rank], 0xc3, job->max_length); }
  memset(job->base, 0xc3, job->max_length);
  for (int step = 0; step < p->steps; ++step) {
    plan_step(job, p, step);
    drop_some(job, p);
    if (job->print && job->rank == 0) {
      plan_print(p);
      fflush(stdout);
    }
    watch_at("seed %llu phase %llu step %d %s", (unsigned long long)job->seed,
             (unsigned long long)phase, step, mode_name(p->mode));
    model_step(job, p);
    run_step(job, p);
    free_step(job, p);
  }
}

/* The phases, until one of the limits. Returns how many. */
static uint64_t run_phases(job_state* job) {
  plan* p = calloc(1, sizeof(*p));
  double begin = MPI_Wtime();
  uint64_t phase = job->first;
  int open = 0, late = 0;

  for (; phase < job->first + job->phases && !late; ++phase) {
    if (!open || phase % kPhasesPerWindow == 0) {
      if (open) { free_window(job); }
      make_window(job, phase / kPhasesPerWindow);
      open = 1;
    }
    run_phase(job, phase, p);
    late = job->seconds > 0 && MPI_Wtime() - begin > job->seconds;
    MPI_Bcast(&late, 1, MPI_INT, 0, MPI_COMM_WORLD);
  }
  if (open) { free_window(job); }
  plan_free(p);
  free(p);
  return phase - job->first;
}

int main(int argc, char** argv) {
  job_state job = {.seed = 1,
                   .phases = 20,
                   .max_length = 2 << 20,
                   .modes = (1u << kModes) - 1,
                   .kinds = ~0u,
                   .windows = 1u << kWinCreate | 1u << kWinAllocate,
                   .derived = 1,
                   .show = 5};
  unsigned limit = read_options(argc, argv, &job);
  uint64_t own[3], all[3], phases;

  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &job.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &job.size);
  if (job.size > kMaxRanks) { MPI_Abort(MPI_COMM_WORLD, 2); }
  watch_start(job.rank, limit);
  unit_start();
  for (int rank = 0; rank < job.size; ++rank) { job.model[rank] = need(job.max_length); }
  phases = run_phases(&job);
  own[0] = job.operations;
  own[1] = job.checks;
  own[2] = job.wrong;
  watch_at("summing up");
  MPI_Allreduce(own, all, 3, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  if (job.rank == 0) {
    printf("onesided phases %llu operations %llu checks %llu wrong %llu\n",
           (unsigned long long)phases, (unsigned long long)all[0], (unsigned long long)all[1],
           (unsigned long long)all[2]);
  }
  fflush(stdout);
  watch.seconds = kFinalizeHangs ? 10 : limit;
  watch_at("MPI_Finalize");
  for (int rank = 0; rank < job.size; ++rank) { free(job.model[rank]); }
  free(job.area);
  unit_stop();
  MPI_Finalize();
  watch_stop();
  return all[2] == 0 ? 0 : 1;
}
