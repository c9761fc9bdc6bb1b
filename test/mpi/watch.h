/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A watchdog: a rank that makes no progress for some seconds says where it stands and ends with
 * code 3. Also says so on SIGTERM, which the launcher sends when another rank gave up first.
 */
#ifndef VERITY_TEST_MPI_WATCH_H
#define VERITY_TEST_MPI_WATCH_H

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { kWatchExitCode = 3 };

static struct {
  int rank;
  unsigned seconds;
  char where[160];                 /* what the rank does, kept by watch_at() */
  volatile unsigned long progress; /* any counter that the program wants to see in the report */
} watch;

static inline void watch_handler(int signal_number) {
  char line[320];
  /* snprintf in a handler: the process ends here, and the format uses no locale or allocation. */
  int length = snprintf(line, sizeof(line), "rank %d: %s, at: %s (progress %lu)\n", watch.rank,
                        signal_number == SIGALRM ? "HANG" : "stopped", watch.where, watch.progress);
  if (length > 0 && write(2, line, (size_t)length) < 0) { _exit(kWatchExitCode + 1); }
  _exit(kWatchExitCode);
}

static inline void watch_start(int rank, unsigned seconds) {
  watch.rank = rank;
  watch.seconds = seconds;
  signal(SIGALRM, watch_handler);
  signal(SIGTERM, watch_handler);
  alarm(seconds);
}

/* States what comes next and gives it the full time. */
#define watch_at(...)                                              \
  do {                                                             \
    (void)snprintf(watch.where, sizeof(watch.where), __VA_ARGS__); \
    alarm(watch.seconds);                                          \
  } while (0)

static inline void watch_stop(void) { alarm(0); }

#endif
