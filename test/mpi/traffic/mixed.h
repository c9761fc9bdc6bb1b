/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The parts of the program "mixed": a schedule that every rank computes alike from a seed, patterns
 * of point-to-point traffic, collectives, and the account of what arrived.
 */
#ifndef VERITY_TEST_MPI_TRAFFIC_MIXED_H
#define VERITY_TEST_MPI_TRAFFIC_MIXED_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

#include "content.h"

enum {
  kMaxRanks = 16,
  kTagRange = 32768,     /* tag = sequence number modulo this: MPI guarantees at least 32767 */
  kMaxBatch = 512,       /* messages of one pair in one round; less than half of kTagRange */
  kGuard = 32,           /* bytes behind each receive buffer that nothing may touch */
  kBsendMax = 16 * 1024, /* longest buffered send */
  kBsendBuffer = 8 << 20,
};

/* How a pair's messages travel in one round. */
typedef enum {
  kNonblocking, /* exact receives first, then sends, both shuffled */
  kUnexpected,  /* sends first, the receives come late and in reverse */
  kAnySource,   /* receives from anybody, any tag */
  kAnyTag,      /* receives from one source, any tag */
  kProbe,       /* Probe + Recv, or Mprobe + Mrecv, from anybody */
  kBlocking,    /* Send, Ssend, Bsend around a ring */
  kSendrecv,
  kPersistent,
  kPatterns,
} mixed_pattern;

/* Kinds of send, where a pattern leaves the choice. */
typedef enum { kSendStandard, kSendSynchronous, kSendBuffered, kSendStrided, kSendKinds } send_kind;

typedef struct {
  int source, target;
  uint64_t sequence; /* per (source, target) */
  size_t length;     /* bytes */
  int tag;           /* sequence modulo kTagRange, but one for all starts of a persistent request */
  send_kind kind;
} mixed_message;

typedef struct {
  uint64_t messages; /* point-to-point messages that arrived here */
  uint64_t bytes;
  uint64_t collectives;
  uint64_t wrong, lost, repeated, reordered;
} mixed_counts;

typedef struct {
  int rank, size;
  uint64_t seed, round;
  size_t max_length;
  int show; /* complaints still to print */
  /* Rounds take turns between two communicators: a rank can be one round ahead of another, and its
   * messages must not match the wildcards of the round before. */
  MPI_Comm p2p[2], collective;
  uint64_t sent[kMaxRanks];     /* next sequence number to each target */
  uint64_t expected[kMaxRanks]; /* next sequence number from each source */
  mixed_counts counts;
  uint8_t* bsend_buffer;
  int bsend_used; /* bytes attached sends may still occupy */
} mixed_state;

/* ---- schedule (mixed_plan.c) ---- */

/* Pattern and number of messages per ordered pair of this round. */
mixed_pattern plan_round(const mixed_state* state, int* batch_p);
/* Longest message that the round may hold. */
size_t plan_limit(const mixed_state* state, mixed_pattern pattern, int batch);
/* The message number `index` of the round from source to target; base is the pair's sequence number
 * at the round's start. */
mixed_message plan_message(const mixed_state* state, int source, int target, uint64_t base,
                           int index, size_t limit);
/* Name of a pattern, for reports and the option -p. */
const char* plan_name(mixed_pattern pattern);
/* Shuffles 0..count-1 into order[], in a way of this rank's own. */
void plan_shuffle(const mixed_state* state, int* order, int count);

/* ---- account (mixed_account.c) ---- */

uint64_t account_key(const mixed_state* state, const mixed_message* message);
/* Counts a message that arrived in buffer (of capacity bytes, guard bytes behind). */
void account_arrival(mixed_state* state, const mixed_message* wanted, const uint8_t* buffer,
                     size_t capacity, const MPI_Status* status);
/* Prepares a receive buffer: poison and guard. */
void account_prepare(uint8_t* buffer, size_t capacity);
/* Prints one line of complaint, up to a limit. */
void account_complain(mixed_state* state, const char* format, ...)
    __attribute__((format(printf, 2, 3)));

/* ---- traffic ---- */

/* Runs one round's point-to-point messages: batch of them from each rank to each, itself included.
 */
void p2p_round(mixed_state* state, mixed_pattern pattern, int batch);
/* Receives that name source and tag, posted before the sends or late (mixed_exact.c). */
void exact_round(mixed_state* state, int batch, size_t limit, int late);
/* Blocking calls and persistent requests around a ring (mixed_ring.c). */
void ring_round(mixed_state* state, int batch, size_t limit, mixed_pattern pattern);
/* Receives with wildcards, and probes (mixed_wild.c). */
void wild_round(mixed_state* state, int batch, size_t limit, mixed_pattern pattern);

MPI_Comm p2p_comm(const mixed_state* state);
/* Bytes that a message needs as a send buffer. */
size_t p2p_send_space(const mixed_message* message);
/* Fills buffer with the message's content and starts the send. */
void p2p_isend(mixed_state* state, const mixed_message* message, uint8_t* buffer,
               MPI_Request* request);
/* The batch's messages to all ranks as nonblocking sends, shuffled; requests_p is the caller's to
 * wait for and to free, with *count_p entries. */
void p2p_isend_all(mixed_state* state, int batch, size_t limit, int in_order,
                   MPI_Request** requests_p, int* count_p);
/* One collective of the round's choice (mixed_collective.c). */
void collective_round(mixed_state* state);

/* Scratch memory for a round that grows as needed and is kept; slot picks one of kScratchSlots. */
enum { kScratchSend, kScratchReceive, kScratchSlots };
uint8_t* scratch(int slot, size_t length);

#endif
