/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One message after the other around rings of every stride: blocking sends of all kinds, Sendrecv,
 * and persistent requests that are started again and again.
 */
#include "mixed.h"

typedef struct {
  mixed_message out, in;
  uint8_t *send, *receive;
} step;

static step plan_step(const mixed_state* state, int stride, int index, size_t limit) {
  int target = (state->rank + stride) % state->size;
  int source = (state->rank - stride + state->size) % state->size;
  step s;

  s.out = plan_message(state, state->rank, target, state->sent[target], index, limit);
  s.in = plan_message(state, source, state->rank, state->expected[source], index, limit);
  return s;
}

/* The same memory for all steps, at changing alignments. */
static void give_memory(step* s, size_t limit, int index) {
  size_t shift = (size_t)(index % 16);

  s->send = scratch(kScratchSend, limit + 32) + shift;
  s->receive = scratch(kScratchReceive, limit + 32 + kGuard) + shift;
}

static void send_blocking(mixed_state* state, const mixed_message* message, uint8_t* buffer) {
  MPI_Comm comm = p2p_comm(state);
  int length = (int)message->length;
  int bsend_need = length + MPI_BSEND_OVERHEAD;

  content_fill(buffer, message->length, account_key(state, message));
  if (message->kind == kSendSynchronous) {
    MPI_Ssend(buffer, length, MPI_BYTE, message->target, message->tag, comm);
  } else if (message->kind == kSendBuffered && state->bsend_used + bsend_need < kBsendBuffer / 2) {
    state->bsend_used += bsend_need;
    MPI_Bsend(buffer, length, MPI_BYTE, message->target, message->tag, comm);
    memset(buffer, 0, message->length); /* the buffer is ours again: nothing may still read it */
  } else {
    MPI_Send(buffer, length, MPI_BYTE, message->target, message->tag, comm);
    memset(buffer, 0, message->length);
  }
}

static void one_blocking(mixed_state* state, step* s) {
  MPI_Request request;
  MPI_Status status;

  account_prepare(s->receive, s->in.length);
  MPI_Irecv(s->receive, (int)s->in.length, MPI_BYTE, s->in.source, s->in.tag, p2p_comm(state),
            &request);
  send_blocking(state, &s->out, s->send);
  MPI_Wait(&request, &status);
  account_arrival(state, &s->in, s->receive, s->in.length, &status);
}

static void one_sendrecv(mixed_state* state, step* s) {
  MPI_Status status;

  account_prepare(s->receive, s->in.length);
  content_fill(s->send, s->out.length, account_key(state, &s->out));
  MPI_Sendrecv(s->send, (int)s->out.length, MPI_BYTE, s->out.target, s->out.tag, s->receive,
               (int)s->in.length, MPI_BYTE, s->in.source, s->in.tag, p2p_comm(state), &status);
  account_arrival(state, &s->in, s->receive, s->in.length, &status);
}

/* The length and tag of the first message hold for all starts; the content changes every time. */
static void all_persistent(mixed_state* state, int stride, int batch, size_t limit) {
  step s = plan_step(state, stride, 0, limit);
  MPI_Comm comm = p2p_comm(state);
  MPI_Request requests[2];
  MPI_Status statuses[2];

  give_memory(&s, limit, stride);
  MPI_Recv_init(s.receive, (int)s.in.length, MPI_BYTE, s.in.source, s.in.tag, comm, &requests[0]);
  if (s.out.kind == kSendSynchronous) {
    MPI_Ssend_init(s.send, (int)s.out.length, MPI_BYTE, s.out.target, s.out.tag, comm,
                   &requests[1]);
  } else {
    MPI_Send_init(s.send, (int)s.out.length, MPI_BYTE, s.out.target, s.out.tag, comm, &requests[1]);
  }
  for (int i = 0; i < batch; ++i) {
    account_prepare(s.receive, s.in.length);
    content_fill(s.send, s.out.length, account_key(state, &s.out));
    MPI_Startall(2, requests);
    MPI_Waitall(2, requests, statuses);
    account_arrival(state, &s.in, s.receive, s.in.length, &statuses[0]);
    ++s.in.sequence;
    ++s.out.sequence;
  }
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);
}

void ring_round(mixed_state* state, int batch, size_t limit, mixed_pattern pattern) {
  for (int stride = 0; stride < state->size; ++stride) {
    if (pattern == kPersistent) {
      all_persistent(state, stride, batch, limit);
      continue;
    }
    for (int i = 0; i < batch; ++i) {
      step s = plan_step(state, stride, i, limit);
      give_memory(&s, limit, i);
      if (pattern == kBlocking) {
        one_blocking(state, &s);
      } else {
        one_sendrecv(state, &s);
      }
    }
  }
}
