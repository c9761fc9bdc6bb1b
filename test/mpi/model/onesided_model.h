/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The parts of the program "onesided_model": a random plan of one-sided operations that every rank
 * computes alike from a seed, a sequential model of what they do, and the comparison with what they
 * did.
 *
 * A phase has a kind of synchronization, windows divided into regions of one basic type, and some
 * steps. In each step every region has an access that says which ranks may do what with it, so that
 * the outcome is determined, or its invariants are:
 *
 *   readers  any rank gets
 *   owner    one rank does everything, in program order, with the completions that MPI demands
 *            between
 *   shared   several ranks accumulate with one commutative operation (and may fetch)
 *   replace  several ranks replace: each value comes out once
 *   swap     several ranks compare and swap: the successes form a chain
 *   locked   several ranks get, then put, under an exclusive lock
 */
#ifndef VERITY_TEST_MPI_MODEL_ONESIDED_MODEL_H
#define VERITY_TEST_MPI_MODEL_ONESIDED_MODEL_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

#include "content.h"

/* What stock MPICH 4.0.2 or stock Open MPI 4.1.4 does wrong. */
#ifdef MPICH_VERSION
enum {
  kNoCheckFails = 1,       /* MPI_MODE_NOCHECK: a later exclusive lock is never granted */
  kUnsignedOrderFails = 1, /* maxima and minima of unsigned types are those of signed ones */
  kLocalFlushFails = 1,    /* local flushes return before gets of derived types have come */
  kDerivedRgetFails = 1,   /* so do waits for MPI_Rget */
  kDerivedAccumulateFails = 0,
  kFinalizeHangs = 1, /* now and then, after puts between 4 ranks */
};
#else
enum {
  kNoCheckFails = 0,
  kUnsignedOrderFails = 0,
  kLocalFlushFails = 0,
  kDerivedRgetFails = 0,
  kDerivedAccumulateFails = 1, /* accumulates of derived types, with and without a fetch */
  kFinalizeHangs = 0,
};
#endif

enum {
  kMaxRanks = 16,
  kMaxRegions = 12,
  kMaxBlocks = 8,
  kMaxPending = 512,
  kGuard = 32,
  kPoison = 0xa5
};

/* Basic types; kMixed is a structure without padding: one of 8 bytes, one of 4, four of 1. */
typedef enum { kByte, kInt32, kUint32, kInt64, kUint64, kFloat, kDouble, kMixed, kUnits } unit_kind;
typedef enum { kSum, kProd, kMax, kMin, kBand, kBor, kBxor, kReplace, kNoOp, kOps } reduce_op;
typedef enum {
  kFence,
  kPscw,
  kLockShared,
  kLockExclusive,
  kLockTogether,
  kLockAll,
  kModes
} sync_mode;
typedef enum { kIdle, kReaders, kOwner, kShared, kReplaced, kSwapped, kLocked } region_access;
typedef enum { kWinCreate, kWinAllocate, kWinDynamic, kWinKinds } window_kind;

typedef enum {
  kPut,
  kGet,
  kRput,
  kRget,
  kAccumulate,
  kRaccumulate,
  kGetAccumulate,
  kRgetAccumulate,
  kFetchAndOp,
  kCompareAndSwap,
  kReadModifyWrite, /* operations up to here */
  kLock,
  kUnlock,
  kFlush,
  kFlushLocal,
  kFlushAll,
  kFlushLocalAll,
  kWait,
  kWaitAll,
  kDropped,
  kEntryKinds
} entry_kind;

/* Where the elements of an operation lie, in elements from the start of a region or buffer. */
typedef struct {
  enum { kContiguous, kContiguousType, kVector, kIndexed } kind;
  int count;                                   /* elements in all */
  int base;                                    /* of the first block */
  int blocks, length, stride;                  /* vector */
  int starts[kMaxBlocks], lengths[kMaxBlocks]; /* indexed; not ascending always */
} layout;

typedef struct {
  size_t offset; /* in the window, in bytes */
  int count;     /* elements */
  unit_kind unit;
  /* For one step: */
  region_access access;
  int owner;
  reduce_op op;
  int fetching;    /* shared: what was there is fetched, too */
  int small;       /* holds small numbers, which only grow */
  int stored;      /* the target stores new content before the step */
  uint64_t key;    /* of that content */
  uint8_t* before; /* the content when the step begins, if several ranks contend */
} region;

typedef struct {
  entry_kind kind;
  int origin, target, region;
  reduce_op op;
  layout at_target, at_origin, at_result;
  uint64_t key;
  int variant; /* bits that choose between equal ways to do it */
  int awaited; /* kWait: index of the operation */
  size_t area; /* where its results are in the exchanged area, if several ranks contend */
  /* Of the rank that does it: */
  uint8_t *source, *result; /* allocated with a guard behind */
  uint8_t* wanted;          /* elements that must be fetched, packed; NULL when not determined */
  uint64_t compare;         /* kCompareAndSwap: what was compared with */
  MPI_Request request;
  enum { kPlanned, kIssued, kComplete } state;
} entry;

typedef struct {
  entry* entries;
  int count, capacity;
} program;

typedef struct {
  uint64_t seed, phase;
  int step, steps;
  sync_mode mode;
  size_t length; /* bytes of the window in use */
  /* So that phases differ more than by chance: */
  unsigned kinds; /* operations of this phase, as bits */
  int crowded;    /* target of most of them, or -1 */
  int large;      /* most of them have many elements */
  int regions[kMaxRanks];
  region region[kMaxRanks][kMaxRegions];
  unsigned reach[kMaxRanks]; /* targets of each origin in this step, as bits */
  program programs[kMaxRanks];
  size_t area; /* bytes of the exchanged area */
} plan;

typedef struct {
  int rank, size;
  uint64_t seed, first, phases;
  double seconds;
  size_t max_length;
  unsigned modes, kinds, windows; /* permitted, as bits */
  int derived, quirks, show, print;
  const char* drop;
  uint64_t operations, checks, wrong;
  uint8_t* base; /* this rank's window */
  MPI_Win win;
  window_kind window;
  MPI_Aint remote[kMaxRanks]; /* what to add to displacements: dynamic windows have addresses */
  uint8_t* model[kMaxRanks];
  uint8_t* area;
  size_t area_capacity;
} job_state;

/* ---- types and layouts (onesided_model_layout.c) ---- */
void unit_start(void);
void unit_stop(void);
size_t unit_size(unit_kind unit);
MPI_Datatype unit_type(unit_kind unit);
MPI_Op op_handle(reduce_op op);
/* A layout of count elements among available ones. */
layout layout_make(content_rng* rng, int available, int count, int derived);
int layout_blocks(const layout* at);
void layout_block(const layout* at, int index, int* start_p, int* length_p);
/* Elements from the first to behind the last one that it touches. */
void layout_bounds(const layout* at, int* low_p, int* high_p);
void layout_pack(const layout* at, size_t size, const uint8_t* from, uint8_t* packed);
void layout_unpack(const layout* at, size_t size, uint8_t* to, const uint8_t* packed);
/* The arguments of an MPI call: type, count, and the offset in bytes of the first. Returns whether
 * the type is the caller's to free. */
int layout_type(const layout* at, unit_kind unit, MPI_Datatype* type_p, int* count_p,
                size_t* offset_p);

/* ---- plan (onesided_model_plan.c, onesided_model_order.c, onesided_model_text.c) ---- */
void plan_phase(const job_state* job, uint64_t phase, plan* p);
void plan_step(const job_state* job, plan* p, int step);
/* The program of one origin in the step (onesided_model_program.c). */
void plan_program(const job_state* job, plan* p, int origin, content_rng* rng);
void plan_free(plan* p);
entry* plan_append(plan* p, int origin, entry_kind kind, int target);
region* plan_region(plan* p, const entry* e);
int is_operation(entry_kind kind);
/* Whether the type has the operation, and MPI does it right. */
int is_allowed(const job_state* job, unit_kind unit, reduce_op op);
int is_fetching(entry_kind kind);
int is_requested(entry_kind kind);
int is_passive(sync_mode mode);
/* Whether several ranks contend, so that the order of their operations shows in what they fetch. */
int is_contended(const region* r);
const char* mode_name(sync_mode mode);
const char* kind_name(entry_kind kind);
/* An entry in words. */
void entry_text(plan* p, const entry* e, char* text, size_t length);
void plan_print(plan* p);

/* What an origin has under way, to find the completions that MPI demands between conflicting ones.
 */
typedef struct {
  int count;
  struct {
    int index, local; /* entry; whether complete at the origin */
  } items[kMaxPending];
} pending_list;
typedef enum { kNone, kLocal, kRemote } completion;
completion order_needed(plan* p, int origin, const pending_list* pending, const entry* e,
                        int* index_p);
void order_add(pending_list* pending, int index);
void order_complete(plan* p, int origin, pending_list* pending, completion what, int target,
                    int index);

/* ---- model (onesided_model_apply.c) ---- */
void model_operand(plan* p, const entry* e, uint8_t* packed);
void model_store(const region* r, uint8_t* window);
/* Does the step in the model; what this rank must fetch is left in its entries. */
void model_step(job_state* job, plan* p);
/* into = into op operand, for count elements. */
void model_combine(reduce_op op, unit_kind unit, uint8_t* into, const uint8_t* operand, int count);
/* An element as a number. */
int64_t model_number(unit_kind unit, const uint8_t* at);

/* ---- execution (onesided_model_run.c, onesided_model_issue.c) ---- */
void run_step(job_state* job, plan* p);
void issue_operation(job_state* job, plan* p, entry* e);

/* ---- comparison (onesided_model_check.c, onesided_model_contend.c) ---- */
/* The operation is complete at the origin: compares what it fetched, and changes what it sent. */
void check_complete(job_state* job, plan* p, entry* e);
/* Compares again when the step ends: nothing may come later. */
void check_kept(job_state* job, plan* p);
void check_window(job_state* job, plan* p);
void check_contended(job_state* job, plan* p);
void complain(job_state* job, plan* p, const entry* e, const char* format, ...)
    __attribute__((format(printf, 4, 5)));
void* need(size_t length);

#endif
