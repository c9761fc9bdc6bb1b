/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Receives with wildcards, and probes. Which message comes is not known beforehand, but MPI
 * promises that those of one source come in the order in which they were sent: any other order is
 * counted.
 */
#include <stdlib.h>

#include "mixed.h"

typedef struct {
  uint8_t seen[kMaxRanks][kMaxBatch];
  int next[kMaxRanks];
  int batch;
  size_t limit;
} tally;

static tally* tally_new(int batch, size_t limit) {
  tally* t = calloc(1, sizeof(*t));

  t->batch = batch;
  t->limit = limit;
  return t;
}

/* Finds the planned message behind an arrival, by source and tag. */
static void tally_arrival(mixed_state* state, tally* t, const uint8_t* buffer, size_t capacity,
                          const MPI_Status* status) {
  int source = status->MPI_SOURCE;
  int base, index;
  mixed_message wanted;

  if (source < 0 || source >= state->size) {
    ++state->counts.wrong;
    account_complain(state, "WRONG source %d", source);
    return;
  }
  base = (int)(state->expected[source] % kTagRange);
  index = (status->MPI_TAG - base + kTagRange) % kTagRange;
  if (index >= t->batch) {
    ++state->counts.repeated;
    account_complain(state, "message with tag %d from %d belongs to another round", status->MPI_TAG,
                     source);
    return;
  }
  if (t->seen[source][index]++ != 0) {
    ++state->counts.repeated;
    account_complain(state, "message %d of the round from %d came again", index, source);
    return;
  }
  if (index != t->next[source]) {
    ++state->counts.reordered;
    account_complain(state, "message %d of the round from %d came when %d was due", index, source,
                     t->next[source]);
  }
  t->next[source] = index + 1;
  wanted = plan_message(state, source, state->rank, state->expected[source], index, t->limit);
  account_arrival(state, &wanted, buffer, capacity, status);
}

static void tally_end(mixed_state* state, tally* t) {
  for (int source = 0; source < state->size; ++source) {
    for (int i = 0; i < t->batch; ++i) {
      if (t->seen[source][i] == 0) {
        ++state->counts.lost;
        account_complain(state, "message %d of the round from %d never came", i, source);
      }
    }
  }
  free(t);
}

static void receive_posted(mixed_state* state, tally* t, int any_source) {
  int count = t->batch * state->size, sends;
  size_t stride = t->limit + kGuard + 8;
  uint8_t* memory = scratch(kScratchReceive, stride * (size_t)count);
  MPI_Request* requests = malloc(sizeof(*requests) * (size_t)count);
  MPI_Status* statuses = malloc(sizeof(*statuses) * (size_t)count);
  MPI_Request* outgoing;

  for (int i = 0; i < count; ++i) {
    account_prepare(memory + stride * (size_t)i, t->limit);
    MPI_Irecv(memory + stride * (size_t)i, (int)t->limit, MPI_BYTE,
              any_source ? MPI_ANY_SOURCE : i % state->size, MPI_ANY_TAG, p2p_comm(state),
              &requests[i]);
  }
  p2p_isend_all(state, t->batch, t->limit, 1, &outgoing, &sends);
  MPI_Waitall(count, requests, statuses);
  for (int i = 0; i < count; ++i) {
    tally_arrival(state, t, memory + stride * (size_t)i, t->limit, &statuses[i]);
  }
  MPI_Waitall(sends, outgoing, MPI_STATUSES_IGNORE);
  free(outgoing);
  free(statuses);
  free(requests);
}

/* Receives the next message whatever it is, in one of four ways. */
static void receive_probed(mixed_state* state, tally* t, int way) {
  MPI_Comm comm = p2p_comm(state);
  MPI_Status status;
  MPI_Message message = MPI_MESSAGE_NULL;
  int flag = 0, length = 0;
  uint8_t* memory;

  if (way == 0) {
    MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &status);
  } else if (way == 1) {
    MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &message, &status);
  }
  while (way >= 2 && !flag) {
    if (way == 2) {
      MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &flag, &status);
    } else {
      MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &flag, &message, &status);
    }
  }
  MPI_Get_count(&status, MPI_BYTE, &length);
  memory = scratch(kScratchReceive, (size_t)length + kGuard);
  account_prepare(memory, (size_t)length);
  if (message == MPI_MESSAGE_NULL) {
    MPI_Recv(memory, length, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, comm, &status);
  } else {
    MPI_Mrecv(memory, length, MPI_BYTE, &message, &status);
  }
  tally_arrival(state, t, memory, (size_t)length, &status);
}

void wild_round(mixed_state* state, int batch, size_t limit, mixed_pattern pattern) {
  tally* t = tally_new(batch, limit);
  MPI_Request* outgoing;
  int sends;

  if (pattern != kProbe) {
    receive_posted(state, t, pattern == kAnySource);
  } else {
    p2p_isend_all(state, batch, limit, 1, &outgoing, &sends);
    for (int i = 0; i < batch * state->size; ++i) {
      receive_probed(state, t, (int)((state->round + (uint64_t)i) % 4));
    }
    MPI_Waitall(sends, outgoing, MPI_STATUSES_IGNORE);
    free(outgoing);
  }
  tally_end(state, t);
}
