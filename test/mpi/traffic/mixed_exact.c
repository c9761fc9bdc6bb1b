/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Nonblocking receives that name their source and tag: posted before the sends start, or after
 * them and in reverse, so that all of the traffic arrives unexpected.
 */
#include <stdlib.h>

#include "mixed.h"

typedef struct {
  mixed_message message;
  size_t offset, capacity;
  int strided; /* received through a vector type */
} slot;

static slot* plan_receives(const mixed_state* state, int batch, size_t limit, size_t* space_p) {
  int count = batch * state->size;
  slot* slots = malloc(sizeof(*slots) * (size_t)count);
  size_t space = 0;

  for (int i = 0; i < count; ++i) {
    int source = i % state->size;
    mixed_message message =
        plan_message(state, source, state->rank, state->expected[source], i / state->size, limit);
    slots[i].message = message;
    slots[i].strided = message.kind == kSendStrided && message.sequence % 2 == 0;
    slots[i].offset = space + (size_t)(i % 8);
    /* Some receives have room to spare: the length must still be the sender's. */
    slots[i].capacity = message.length + (i % 5 == 0 && !slots[i].strided ? 100 : 0);
    space = slots[i].offset + (slots[i].strided ? 2 : 1) * slots[i].capacity + kGuard + 8;
  }
  *space_p = space;
  return slots;
}

static void post(const mixed_state* state, const slot* item, uint8_t* memory,
                 MPI_Request* request) {
  const mixed_message* message = &item->message;
  MPI_Datatype type;

  if (!item->strided || message->length == 0) {
    account_prepare(memory + item->offset, item->capacity);
    MPI_Irecv(memory + item->offset, (int)item->capacity, MPI_BYTE, message->source, message->tag,
              p2p_comm(state), request);
    return;
  }
  account_prepare(memory + item->offset, 2 * item->capacity);
  MPI_Type_vector((int)(message->length / 8), 8, 16, MPI_BYTE, &type);
  MPI_Type_commit(&type);
  MPI_Irecv(memory + item->offset, 1, type, message->source, message->tag, p2p_comm(state),
            request);
  MPI_Type_free(&type);
}

/* Moves the pieces of a strided receive together, the guard behind them. */
static void close_gaps(uint8_t* buffer, size_t length) {
  uint8_t guard[kGuard];

  memcpy(guard, buffer + 2 * length, kGuard);
  for (size_t i = 8; i < length; i += 8) { memcpy(buffer + i, buffer + 2 * i, 8); }
  memcpy(buffer + length, guard, kGuard);
}

static void finish(mixed_state* state, const slot* item, uint8_t* memory,
                   const MPI_Status* status) {
  if (item->strided && item->message.length > 0) {
    close_gaps(memory + item->offset, item->message.length);
  }
  account_arrival(state, &item->message, memory + item->offset, item->capacity, status);
}

/* Takes the receives as they complete; a good part of the rounds waits for all at once. */
static void collect(mixed_state* state, const slot* slots, uint8_t* memory, MPI_Request* requests,
                    int count) {
  MPI_Status* statuses = malloc(sizeof(*statuses) * (size_t)count);
  int* done = malloc(sizeof(*done) * (size_t)count);
  int completed;

  if (state->round % 2 == 0) {
    MPI_Waitall(count, requests, statuses);
    for (int i = 0; i < count; ++i) { finish(state, &slots[i], memory, &statuses[i]); }
  } else {
    for (int left = count; left > 0; left -= completed) {
      MPI_Waitsome(count, requests, &completed, done, statuses);
      for (int i = 0; i < completed; ++i) { finish(state, &slots[done[i]], memory, &statuses[i]); }
    }
  }
  free(done);
  free(statuses);
}

void exact_round(mixed_state* state, int batch, size_t limit, int late) {
  int count = batch * state->size, sends;
  size_t space;
  slot* slots = plan_receives(state, batch, limit, &space);
  uint8_t* memory = scratch(kScratchReceive, space);
  MPI_Request* receives = malloc(sizeof(*receives) * (size_t)count);
  MPI_Request* outgoing = NULL;

  if (late) { p2p_isend_all(state, batch, limit, 0, &outgoing, &sends); }
  for (int i = 0; i < count; ++i) {
    int item = late ? count - 1 - i : i;
    post(state, &slots[item], memory, &receives[item]);
  }
  if (!late) { p2p_isend_all(state, batch, limit, 0, &outgoing, &sends); }
  collect(state, slots, memory, receives, count);
  MPI_Waitall(sends, outgoing, MPI_STATUSES_IGNORE);
  free(outgoing);
  free(receives);
  free(slots);
}
