/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The account: every message that arrives is compared with what the schedule says.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "mixed.h"
#include "watch.h"

enum { kPoison = 0xa5, kGuardByte = 0x5a, kLookBack = 256 };

uint64_t account_key(const mixed_state* state, const mixed_message* message) {
  return content_key(state->seed, message->source, message->target, message->sequence);
}

void account_complain(mixed_state* state, const char* format, ...) {
  char text[400];
  va_list arguments;

  if (state->show <= 0) { return; }
  --state->show;
  va_start(arguments, format);
  (void)vsnprintf(text, sizeof(text), format, arguments);
  va_end(arguments);
  fprintf(stderr, "rank %d round %llu: %s\n", state->rank, (unsigned long long)state->round, text);
}

void account_prepare(uint8_t* buffer, size_t capacity) {
  memset(buffer, kPoison, capacity);
  memset(buffer + capacity, kGuardByte, kGuard);
}

static int guard_is_whole(const uint8_t* buffer, size_t capacity) {
  for (size_t i = 0; i < kGuard; ++i) {
    if (buffer[capacity + i] != kGuardByte) { return 0; }
  }
  return 1;
}

/* Whether the bytes are those of another message of the same pair, sent not long before or after.
 */
static int is_other_message(const mixed_state* state, const mixed_message* wanted,
                            const uint8_t* buffer, size_t length, uint64_t* sequence_p) {
  uint64_t first = wanted->sequence < kLookBack ? 0 : wanted->sequence - kLookBack;
  size_t offset;

  if (length < 8) { return 0; /* too short to be sure */ }
  for (uint64_t i = first; i < wanted->sequence + kLookBack; ++i) {
    uint64_t key = content_key(state->seed, wanted->source, wanted->target, i);
    if (i != wanted->sequence &&
        content_check(buffer, length < 64 ? length : 64, key, &offset) == 0) {
      *sequence_p = i;
      return 1;
    }
  }
  return 0;
}

static void account_bytes(mixed_state* state, const mixed_message* wanted, const uint8_t* buffer) {
  uint64_t other;
  size_t first;
  size_t bad = content_check(buffer, wanted->length, account_key(state, wanted), &first);

  if (bad == 0) { return; }
  if (is_other_message(state, wanted, buffer, wanted->length, &other)) {
    uint64_t* count = other < wanted->sequence ? &state->counts.repeated : &state->counts.reordered;
    ++*count;
    account_complain(state, "message %llu from %d has the content of message %llu",
                     (unsigned long long)wanted->sequence, wanted->source,
                     (unsigned long long)other);
    return;
  }
  ++state->counts.wrong;
  account_complain(state, "WRONG message %llu from %d, %zu bytes: %zu differ, the first at %zu",
                   (unsigned long long)wanted->sequence, wanted->source, wanted->length, bad,
                   first);
}

void account_arrival(mixed_state* state, const mixed_message* wanted, const uint8_t* buffer,
                     size_t capacity, const MPI_Status* status) {
  int count = -1;

  ++state->counts.messages;
  state->counts.bytes += wanted->length;
  watch.progress = (unsigned long)state->counts.messages;
  MPI_Get_count(status, MPI_BYTE, &count);
  if (status->MPI_SOURCE != wanted->source || status->MPI_TAG != wanted->tag ||
      (size_t)count != wanted->length) {
    ++state->counts.wrong;
    account_complain(state, "WRONG envelope: %d bytes from %d tag %d, not %zu from %d tag %d",
                     count, status->MPI_SOURCE, status->MPI_TAG, wanted->length, wanted->source,
                     wanted->tag);
    return;
  }
  if (!guard_is_whole(buffer, capacity)) {
    ++state->counts.wrong;
    account_complain(state,
                     "WRONG: bytes behind the receive buffer of message %llu from %d changed",
                     (unsigned long long)wanted->sequence, wanted->source);
    return;
  }
  account_bytes(state, wanted, buffer);
}

uint8_t* scratch(int slot, size_t length) {
  static struct {
    uint8_t* memory;
    size_t size;
  } kept[kScratchSlots];

  if (kept[slot].size < length || kept[slot].memory == NULL) {
    free(kept[slot].memory);
    kept[slot].size = length + length / 4 + 4096;
    kept[slot].memory = malloc(kept[slot].size);
    if (kept[slot].memory == NULL) {
      fprintf(stderr, "no memory for %zu bytes\n", length);
      MPI_Abort(MPI_COMM_WORLD, 4);
    }
  }
  return kept[slot].memory;
}
