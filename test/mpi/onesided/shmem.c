/* SPDX-License-Identifier: BSD-3-Clause
 *
 * OpenSHMEM: puts and gets of all lengths, strided ones, signals behind a fence, atomic operations,
 * locks, a broadcast, and random traffic over three contexts of each process.
 *
 *   shmem [-r ROUNDS]
 *
 * ROUNDS (100) of random traffic for each context. Prints "shmem processes N wrong 0" once,
 * and "direct" behind it where shmem_ptr() gives the neighbour's memory. */
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kLength = 1 << 16, kContexts = 3, kIncrements = 300, kLocked = 20 };

static int me, n, to, from;
static long flag, counter, lock, sync_work[SHMEM_REDUCE_SYNC_SIZE],
    broadcast_work[SHMEM_BCAST_SYNC_SIZE];
static int direct;
static long wrong, wrong_of_all, reduce_work[SHMEM_REDUCE_MIN_WRKDATA_SIZE];
static long *source, *target, *area, *total;

static long at(int pe, long i) { return pe * 1000003L + i; }

static void expect(const long* words, int pe, size_t count, long step) {
  for (size_t i = 0; i < count; ++i) wrong += words[i] != at(pe, (long)i * step);
}

/* The signal is behind a fence, so that it must not be seen before the data. */
static void puts_and_gets(void) {
  long* got = malloc(kLength * sizeof(long));
  for (size_t count = 1; count <= kLength; count *= 2) {
    memset(target, 0xff, count * sizeof(long));
    shmem_barrier_all();
    shmem_long_put(target, source, count, to);
    shmem_fence();
    shmem_long_p(&flag, (long)count, to);
    shmem_long_wait_until(&flag, SHMEM_CMP_EQ, (long)count);
    expect(target, from, count, 1);
    shmem_long_get(got, source, count, to);
    expect(got, to, count, 1);
    shmem_long_get_nbi(got, source, count, from);
    shmem_quiet();
    expect(got, from, count, 1);
    shmem_barrier_all();
  }
  shmem_long_iput(target, source, 1, 2, 1000, to);
  shmem_barrier_all();
  expect(target, from, 1000, 2);
  free(got);
}

static void atomics_and_locks(void) {
  long sum = 0;
  *total = counter = 0;
  shmem_barrier_all();
  for (int i = 0; i < kIncrements; ++i) {
    shmem_long_atomic_add(total, 1, i % n);
    (void)shmem_long_atomic_fetch_inc(&counter, (i + 1) % n);
  }
  shmem_barrier_all();
  for (int pe = 0; pe < n; ++pe) sum += shmem_long_g(total, pe) + shmem_long_g(&counter, pe);
  wrong += sum != 2L * kIncrements * n;
  shmem_barrier_all();
  *total = 0;
  shmem_barrier_all();
  for (int i = 0; i < kLocked; ++i) {
    shmem_set_lock(&lock);
    shmem_long_p(total, shmem_long_g(total, 0) + 1, 0);
    shmem_quiet();
    shmem_clear_lock(&lock);
  }
  shmem_barrier_all();
  wrong += me == 0 && *total != (long)kLocked * n;
}

static void broadcast(void) {
  for (int i = 0; i < SHMEM_BCAST_SYNC_SIZE; ++i) broadcast_work[i] = SHMEM_SYNC_VALUE;
  shmem_barrier_all();
  shmem_broadcast64(target, source, kLength, 0, 0, 0, n, broadcast_work);
  shmem_barrier_all();
  if (me != 0) expect(target, 0, kLength, 1);
}

/* What this process has written into its part of another's memory must be there when it reads it.
 */
static void random_traffic(int rounds) {
  static const long kinds[kContexts] = {SHMEM_CTX_PRIVATE, SHMEM_CTX_SERIALIZED, 0};
  long* got = malloc(kLength * sizeof(long));
  shmem_ctx_t contexts[kContexts];
  unsigned seed = (unsigned)me;
  for (int c = 0; c < kContexts; ++c) {
    if (shmem_ctx_create(kinds[c], &contexts[c]) != 0) exit(2);
  }
  shmem_barrier_all();
  for (int round = 0; round < rounds * kContexts; ++round) {
    const shmem_ctx_t context = contexts[round % kContexts];
    const int pe = rand_r(&seed) % n;
    const size_t count = 1 + (size_t)rand_r(&seed) % (round % 5 == 0 ? kLength : 300);
    long* const there = area + (size_t)me * kLength + (size_t)rand_r(&seed) % (kLength - count + 1);
    for (size_t i = 0; i < count; ++i) source[i] = at(me, round + (long)i);
    if (round % 2 == 0) {
      shmem_ctx_long_put(context, there, source, count, pe);
    } else {
      shmem_ctx_long_put_nbi(context, there, source, count, pe);
    }
    (void)shmem_ctx_long_atomic_fetch_or(context, total, 1L << round % 60, pe);
    shmem_ctx_quiet(context);
    if (round % 3 == 0) {
      shmem_ctx_long_get_nbi(context, got, there, count, pe);
      shmem_ctx_quiet(context);
    } else {
      shmem_ctx_long_get(context, got, there, count, pe);
    }
    wrong += memcmp(got, source, count * sizeof(long)) != 0;
  }
  for (int c = 0; c < kContexts; ++c) shmem_ctx_destroy(contexts[c]);
  free(got);
}

int main(int argc, char** argv) {
  const int rounds = argc > 2 && strcmp(argv[1], "-r") == 0 ? atoi(argv[2]) : 100;
  shmem_init();
  me = shmem_my_pe();
  n = shmem_n_pes();
  to = (me + 1) % n;
  from = (me + n - 1) % n;
  source = shmem_malloc(kLength * sizeof(long));
  target = shmem_malloc(kLength * sizeof(long));
  area = shmem_calloc((size_t)n * kLength, sizeof(long));
  total = shmem_calloc(1, sizeof(long));
  for (long i = 0; i < kLength; ++i) source[i] = at(me, i);
  puts_and_gets();
  atomics_and_locks();
  broadcast();
  direct += shmem_ptr(source, to) != NULL && to != me;
  random_traffic(rounds);
  for (int i = 0; i < SHMEM_REDUCE_SYNC_SIZE; ++i) sync_work[i] = SHMEM_SYNC_VALUE;
  shmem_barrier_all();
  shmem_long_sum_to_all(&wrong_of_all, &wrong, 1, 0, 0, n, reduce_work, sync_work);
  if (me == 0) printf("shmem processes %d wrong %ld%s\n", n, wrong_of_all, direct ? " direct" : "");
  shmem_barrier_all();
  shmem_finalize();
  return wrong_of_all != 0;
}
