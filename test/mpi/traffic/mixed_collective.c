/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Collectives whose results every rank can compute: a wrong contribution of any rank shows
 * everywhere.
 */
#include <stdlib.h>

#include "mixed.h"

enum { kBcast, kAllreduce, kAlltoallv, kBarrier, kGatherv, kReduceScatter, kScan, kCollectives };

static content_rng collective_rng(const mixed_state* state) {
  content_rng rng = {content_mix2(state->seed ^ 0xc0113c7, state->round)};
  return rng;
}

/* The contribution of a rank: words that depend on seed, round and rank. */
static uint64_t contribution(const mixed_state* state, int rank, size_t index) {
  return content_word(content_key(state->seed + 1, rank, 0, state->round), index);
}

static void judge(mixed_state* state, const char* what, size_t wrong) {
  ++state->counts.collectives;
  if (wrong != 0) {
    ++state->counts.wrong;
    account_complain(state, "WRONG result of %s: %zu words or bytes", what, wrong);
  }
}

static void do_bcast(mixed_state* state, size_t length, int root) {
  uint64_t key = content_key(state->seed + 2, root, 0, state->round);
  uint8_t* memory = scratch(kScratchReceive, length + kGuard);
  size_t first;

  account_prepare(memory, length);
  if (state->rank == root) { content_fill(memory, length, key); }
  MPI_Bcast(memory, (int)length, MPI_BYTE, root, state->collective);
  judge(state, "Bcast", content_check(memory, length, key, &first));
}

/* Sum over the first `ranks` ranks, as unsigned 64-bit words. */
static size_t check_sums(const mixed_state* state, const uint64_t* words, size_t from, size_t count,
                         int ranks) {
  size_t wrong = 0;

  for (size_t i = 0; i < count; ++i) {
    uint64_t sum = 0;
    for (int rank = 0; rank < ranks; ++rank) { sum += contribution(state, rank, from + i); }
    wrong += words[i] != sum;
  }
  return wrong;
}

static uint64_t* own_words(const mixed_state* state, size_t count) {
  uint64_t* words = (uint64_t*)scratch(kScratchSend, count * 8 + 8);

  for (size_t i = 0; i < count; ++i) { words[i] = contribution(state, state->rank, i); }
  return words;
}

static void do_sums(mixed_state* state, int what, size_t length) {
  size_t each = length / 8 / (size_t)state->size + 1;
  size_t count = each * (size_t)state->size;
  uint64_t* in = own_words(state, count);
  uint64_t* out = (uint64_t*)scratch(kScratchReceive, count * 8 + kGuard);
  int counts[kMaxRanks];

  account_prepare((uint8_t*)out, count * 8);
  if (what == kAllreduce) {
    MPI_Allreduce(in, out, (int)count, MPI_UINT64_T, MPI_SUM, state->collective);
    judge(state, "Allreduce", check_sums(state, out, 0, count, state->size));
  } else if (what == kScan) {
    MPI_Scan(in, out, (int)count, MPI_UINT64_T, MPI_SUM, state->collective);
    judge(state, "Scan", check_sums(state, out, 0, count, state->rank + 1));
  } else {
    for (int i = 0; i < state->size; ++i) { counts[i] = (int)each; }
    MPI_Reduce_scatter(in, out, counts, MPI_UINT64_T, MPI_SUM, state->collective);
    judge(state, "Reduce_scatter",
          check_sums(state, out, each * (size_t)state->rank, each, state->size));
  }
}

/* Bytes from one rank to another in this round's Alltoallv or Gatherv. */
static int piece_length(const mixed_state* state, int source, int target, size_t limit) {
  return (int)(content_key(state->seed + 3, source, target, state->round) % (limit + 1));
}

static uint64_t piece_key(const mixed_state* state, int source, int target) {
  return content_key(state->seed + 4, source, target, state->round);
}

static void fill_piece(const mixed_state* state, int target, uint8_t* memory, int length) {
  content_fill(memory, (size_t)length, piece_key(state, state->rank, target));
}

static size_t check_pieces(const mixed_state* state, const uint8_t* memory, const int* lengths,
                           const int* places, int target) {
  size_t wrong = 0, first;

  for (int i = 0; i < state->size; ++i) {
    wrong +=
        content_check(memory + places[i], (size_t)lengths[i], piece_key(state, i, target), &first);
  }
  return wrong;
}

static void do_alltoallv(mixed_state* state, size_t limit) {
  int out[kMaxRanks], out_at[kMaxRanks], in[kMaxRanks], in_at[kMaxRanks];
  int sent = 0, received = 0;
  uint8_t *from, *to;

  for (int i = 0; i < state->size; ++i) {
    out[i] = piece_length(state, state->rank, i, limit);
    in[i] = piece_length(state, i, state->rank, limit);
    out_at[i] = sent;
    in_at[i] = received;
    sent += out[i];
    received += in[i];
  }
  from = scratch(kScratchSend, (size_t)sent + 8);
  to = scratch(kScratchReceive, (size_t)received + kGuard);
  for (int i = 0; i < state->size; ++i) { fill_piece(state, i, from + out_at[i], out[i]); }
  account_prepare(to, (size_t)received);
  MPI_Alltoallv(from, out, out_at, MPI_BYTE, to, in, in_at, MPI_BYTE, state->collective);
  judge(state, "Alltoallv", check_pieces(state, to, in, in_at, state->rank));
}

static void do_gatherv(mixed_state* state, size_t limit, int root) {
  int in[kMaxRanks], in_at[kMaxRanks];
  int received = 0;
  int own = piece_length(state, state->rank, root, limit);
  uint8_t *from = scratch(kScratchSend, (size_t)own + 8), *to;

  for (int i = 0; i < state->size; ++i) {
    in[i] = piece_length(state, i, root, limit);
    in_at[i] = received;
    received += in[i];
  }
  fill_piece(state, root, from, own);
  to = scratch(kScratchReceive, (size_t)received + kGuard);
  account_prepare(to, (size_t)received);
  MPI_Gatherv(from, own, MPI_BYTE, to, in, in_at, MPI_BYTE, root, state->collective);
  judge(state, "Gatherv", state->rank == root ? check_pieces(state, to, in, in_at, root) : 0);
}

void collective_round(mixed_state* state) {
  content_rng rng = collective_rng(state);
  int what = (int)content_below(&rng, kCollectives);
  int root = (int)content_below(&rng, (uint64_t)state->size);
  /* Mostly short, sometimes long enough for rendezvous. */
  size_t length = content_below(&rng, content_below(&rng, 8) == 0 ? 262144 : 4096);

  length = length <= state->max_length ? length : state->max_length;
  switch (what) {
    case kBcast: do_bcast(state, length, root); break;
    case kAlltoallv: do_alltoallv(state, length); break;
    case kGatherv: do_gatherv(state, length, root); break;
    case kBarrier:
      MPI_Barrier(state->collective);
      judge(state, "Barrier", 0);
      break;
    default: do_sums(state, what, length);
  }
}
