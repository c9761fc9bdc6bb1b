/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the patterns of point-to-point traffic share.
 */
#include <stdlib.h>

#include "mixed.h"

MPI_Comm p2p_comm(const mixed_state* state) { return state->p2p[state->round % 2]; }

size_t p2p_send_space(const mixed_message* message) {
  return message->kind == kSendStrided ? 2 * message->length : message->length;
}

/* Every second 8 bytes of a buffer of twice the length: the MPI library has to pack. */
static void isend_strided(mixed_state* state, const mixed_message* message, uint8_t* buffer,
                          MPI_Request* request) {
  uint8_t* content = malloc(message->length + 1);
  MPI_Datatype type;

  content_fill(content, message->length, account_key(state, message));
  for (size_t i = 0; i < message->length; i += 8) { memcpy(buffer + 2 * i, content + i, 8); }
  free(content);
  MPI_Type_vector((int)(message->length / 8), 8, 16, MPI_BYTE, &type);
  MPI_Type_commit(&type);
  MPI_Isend(buffer, 1, type, message->target, message->tag, p2p_comm(state), request);
  MPI_Type_free(&type);
}

void p2p_isend(mixed_state* state, const mixed_message* message, uint8_t* buffer,
               MPI_Request* request) {
  MPI_Comm comm = p2p_comm(state);
  int length = (int)message->length;
  int bsend_need = length + MPI_BSEND_OVERHEAD;
  send_kind kind = message->kind;

  if (kind == kSendStrided && length > 0) {
    isend_strided(state, message, buffer, request);
    return;
  }
  content_fill(buffer, message->length, account_key(state, message));
  if (kind == kSendBuffered && state->bsend_used + bsend_need < kBsendBuffer / 2) {
    state->bsend_used += bsend_need;
    MPI_Ibsend(buffer, length, MPI_BYTE, message->target, message->tag, comm, request);
  } else if (kind == kSendSynchronous) {
    MPI_Issend(buffer, length, MPI_BYTE, message->target, message->tag, comm, request);
  } else {
    MPI_Isend(buffer, length, MPI_BYTE, message->target, message->tag, comm, request);
  }
}

void p2p_isend_all(mixed_state* state, int batch, size_t limit, int in_order,
                   MPI_Request** requests_p, int* count_p) {
  int count = batch * state->size;
  MPI_Request* requests = malloc(sizeof(*requests) * (size_t)count);
  int* order = malloc(sizeof(*order) * (size_t)count);
  size_t* offsets = malloc(sizeof(*offsets) * (size_t)count);
  size_t space = 0;
  uint8_t* memory;

  plan_shuffle(state, order, count);
  for (int i = 0; i < count; ++i) {
    int item = in_order ? i : order[i]; /* the item's target is item % size */
    int target = item % state->size;
    mixed_message message =
        plan_message(state, state->rank, target, state->sent[target], item / state->size, limit);
    order[i] = item;
    offsets[i] = space + (size_t)(i % 16); /* odd alignments too */
    space = offsets[i] + p2p_send_space(&message) + 16;
  }
  memory = scratch(kScratchSend, space);
  for (int i = 0; i < count; ++i) {
    int target = order[i] % state->size;
    mixed_message message = plan_message(state, state->rank, target, state->sent[target],
                                         order[i] / state->size, limit);
    p2p_isend(state, &message, memory + offsets[i], &requests[i]);
  }
  free(order);
  free(offsets);
  *requests_p = requests;
  *count_p = count;
}

/* Buffered sends of this round have left the attached buffer. */
static void drain_bsend(mixed_state* state) {
  void* buffer;
  int size;

  if (state->bsend_used > 0) {
    MPI_Buffer_detach(&buffer, &size);
    MPI_Buffer_attach(state->bsend_buffer, kBsendBuffer);
    state->bsend_used = 0;
  }
}

void p2p_round(mixed_state* state, mixed_pattern pattern, int batch) {
  size_t limit = plan_limit(state, pattern, batch);

  switch (pattern) {
    case kNonblocking:
    case kUnexpected: exact_round(state, batch, limit, pattern == kUnexpected); break;
    case kBlocking:
    case kSendrecv:
    case kPersistent: ring_round(state, batch, limit, pattern); break;
    case kAnySource:
    case kAnyTag:
    case kProbe:
    case kPatterns: wild_round(state, batch, limit, pattern); break;
  }
  for (int peer = 0; peer < state->size; ++peer) {
    state->sent[peer] += (uint64_t)batch;
    state->expected[peer] += (uint64_t)batch;
  }
  drain_bsend(state);
}
