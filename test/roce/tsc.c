/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Prints the frequency of this machine's time stamp counter in kHz; fails where there is none. An
 * emulated machine sees that counter; one that measures it itself while its host is busy can be
 * wrong by far, and then its clock, and every timer, runs several times too fast.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#if defined(__x86_64__)
#include <x86intrin.h>

enum { kMeasurements = 5, kMeasureNs = 40000000, kCloseTogether = 20000 /* ticks */ };

struct moment {
  double ns;
  uint64_t ticks;
};

/* Clock and counter at one time: repeated when something came between the two readings. */
static struct moment read_both(void) {
  struct timespec now;
  uint64_t before, after;

  do {
    before = __rdtsc();
    clock_gettime(CLOCK_MONOTONIC, &now);
    after = __rdtsc();
  } while (after - before > kCloseTogether);
  return (struct moment){1e9 * (double)now.tv_sec + (double)now.tv_nsec, before};
}

static int ascending(const void* a, const void* b) {
  double left = *(const double*)a, right = *(const double*)b;
  return left < right ? -1 : left > right;
}

int main(void) {
  const struct timespec wait = {.tv_nsec = kMeasureNs};
  double khz[kMeasurements];

  for (int i = 0; i < kMeasurements; ++i) {
    struct moment start = read_both(), end;
    nanosleep(&wait, NULL);
    end = read_both();
    khz[i] = 1e6 * (double)(end.ticks - start.ticks) / (end.ns - start.ns);
  }
  qsort(khz, kMeasurements, sizeof(khz[0]), ascending);
  printf("%.0f\n", khz[kMeasurements / 2]);
  return 0;
}
#else
int main(void) { return 1; }
#endif
