/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The schedule: what every rank sends and expects, computed from the seed alone.
 */
#include "mixed.h"

static const char* const kNames[kPatterns] = {"nonblocking", "unexpected", "anysource",
                                              "anytag",      "probe",      "blocking",
                                              "sendrecv",    "persistent"};

/* Lengths where transports and UCX change their way: fragments, thresholds, powers of two. */
static const size_t kEdges[] = {0,
                                1,
                                7,
                                8,
                                9,
                                63,
                                64,
                                65,
                                92,
                                127,
                                255,
                                256,
                                257,
                                1024,
                                4095,
                                4096,
                                4097,
                                8183,
                                8184,
                                8191,
                                8192,
                                8193,
                                8256,
                                9000,
                                16384,
                                32767,
                                32768,
                                65535,
                                65536,
                                131072,
                                (size_t)262144,
                                (size_t)524288,
                                (size_t)1048575,
                                (size_t)1048576};

const char* plan_name(mixed_pattern pattern) { return kNames[pattern]; }

mixed_pattern plan_round(const mixed_state* state, int* batch_p) {
  content_rng rng = {content_mix2(state->seed, state->round)};
  mixed_pattern pattern = (mixed_pattern)content_below(&rng, kPatterns);
  /* Mostly short rounds; one in eight is a burst that fills queues and windows. */
  *batch_p = content_below(&rng, 8) == 0 ? 128 + (int)content_below(&rng, kMaxBatch - 128)
                                         : 1 + (int)content_below(&rng, 40);
  return pattern;
}

size_t plan_limit(const mixed_state* state, mixed_pattern pattern, int batch) {
  size_t limit = batch <= 8 ? (size_t)1 << 20 : batch <= 40 ? (size_t)1 << 18 : 32768;

  /* Wildcard receives all need room for the longest message. */
  if (pattern == kAnySource || pattern == kAnyTag) {
    limit = batch <= 4 ? (size_t)1 << 20 : batch <= 40 ? (size_t)1 << 16 : 4096;
  }
  return limit < state->max_length ? limit : state->max_length;
}

/* Mostly small, one in 250 above 128 KiB: a million messages stay below about 10 GB. */
static size_t plan_length(content_rng* rng, size_t limit) {
  static const struct {
    unsigned per_mille;
    size_t low, high;
  } kClasses[] = {{60, 0, 0},        {340, 1, 64},        {270, 65, 1024},     {180, 1025, 8192},
                  {80, 8193, 32768}, {26, 32769, 131072}, {4, 131073, 1 << 20}};
  unsigned pick = (unsigned)content_below(rng, 1000);
  size_t length = 0;

  if (pick >= 960) {
    length = kEdges[content_below(rng, sizeof(kEdges) / sizeof(kEdges[0]))];
    /* Only some of the large edges, for the sake of time. */
    length = length > 65536 && content_below(rng, 4) != 0 ? length >> 6 : length;
  } else {
    for (size_t i = 0; i < sizeof(kClasses) / sizeof(kClasses[0]); ++i) {
      if (pick < kClasses[i].per_mille) {
        length = kClasses[i].low + content_below(rng, kClasses[i].high - kClasses[i].low + 1);
        break;
      }
      pick -= kClasses[i].per_mille;
    }
  }
  return length <= limit ? length : length % (limit + 1);
}

mixed_message plan_message(const mixed_state* state, int source, int target, uint64_t base,
                           int index, size_t limit) {
  content_rng rng = {
      content_mix2(content_key(state->seed, source, target, base + (uint64_t)index), state->round)};
  mixed_message message = {source, target, base + (uint64_t)index, 0, 0, kSendStandard};

  message.tag = (int)(message.sequence % kTagRange);
  message.length = plan_length(&rng, limit);
  message.kind = (send_kind)content_below(&rng, 2 * kSendKinds);
  if (message.kind >= kSendKinds || (message.kind == kSendBuffered && message.length > kBsendMax) ||
      (message.kind == kSendStrided && message.length % 16 != 0)) {
    message.kind = kSendStandard;
  }
  return message;
}

void plan_shuffle(const mixed_state* state, int* order, int count) {
  content_rng rng = {
      content_mix2(state->seed + 77, state->round * kMaxRanks + (uint64_t)state->rank)};

  for (int i = 0; i < count; ++i) {
    int j = (int)content_below(&rng, (uint64_t)i + 1);
    order[i] = order[j];
    order[j] = i;
  }
}
