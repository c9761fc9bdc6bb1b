/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How a test steers the forwarder and what it learns from it: two small text files in the working
 * directory.
 *
 *   control   words NAME=NUMBER, read when the file is replaced; the counters then start again
 *   counters  lines NAME=NUMBER, rewritten ten times a second; epoch tells which control they
 *             belong to
 *
 * Settings. A packet that fits operations, least, most and at is eligible.
 *   operations=s|w|r|u|t  any of them: sends, writes, read responses, UD datagrams of RoCE (default
 *                 swru), messages of UCX over TCP
 *   least= most=  bytes of payload (default 1, no limit)
 *   at= value=    only payloads whose byte number `at` has that value (default: all)
 *   nth=          damage every nth eligible packet (default 0: none)
 *   run=          and the following ones, this many in all (default 1)
 *   limit=        stop after this many (default 0: never)
 *   skip= within= leave the first bytes alone, choose among so many after them (default 0, all)
 *   burst=        bytes to damage, side by side (default 0: one bit)
 *   stale=1       leave the checksum as it was: the receiver drops the packet, it is lost
 *   seed= epoch=
 */
#ifndef VERITY_TEST_ROCE_CONTROL_H
#define VERITY_TEST_ROCE_CONTROL_H

/* clang-format off */

/* Numbers that a test sets, with their defaults. */
#define VERITY_SETTINGS(X)                            \
  X(nth, 0) X(run, 1) X(limit, 0)                     \
  X(least, 1) X(most, kNoLimit) X(at, -1) X(value, 0) \
  X(skip, 0) X(within, kNoLimit) X(burst, 0)          \
  X(stale, 0) X(seed, 1) X(epoch, 0)

/* roce and tcp: packets of that kind. right and wrong: their checksums as they came. Then what was
 * eligible and corrupted, and for each operation what was seen and what of it was corrupted. */
#define ROCE_CONTROL_COUNTERS(X)                                                   \
  X(frames) X(roce) X(tcp) X(right) X(wrong) X(send_errors)                  \
  X(eligible) X(corrupted)                                                   \
  X(seen_send) X(seen_write) X(seen_read) X(seen_datagram) X(seen_message)   \
  X(corrupted_send) X(corrupted_write) X(corrupted_read)                     \
  X(corrupted_datagram) X(corrupted_message)

/* clang-format on */

enum { kNoLimit = 70000 }; /* more than any frame has */

struct settings {
#define VERITY_FIELD(name, initial) long name;
  VERITY_SETTINGS(VERITY_FIELD)
#undef VERITY_FIELD
  char operations[8];
};

struct counters {
#define VERITY_FIELD(name) long name;
  ROCE_CONTROL_COUNTERS(VERITY_FIELD)
#undef VERITY_FIELD
};

extern struct settings settings;
extern struct counters counters;

void control_start(void);

/* Returns 1 when there were new settings. Ends the process when they are misspelt: better no test
 * than one that proves nothing. */
int control_read(void);

void counters_write(void);

#endif
