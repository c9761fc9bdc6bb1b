/* SPDX-License-Identifier: BSD-3-Clause */
#include "control.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct settings settings;
struct counters counters;

void control_start(void) {
#define VERITY_SET(name, initial) settings.name = initial;
  VERITY_SETTINGS(VERITY_SET)
#undef VERITY_SET
  strcpy(settings.operations, "swru");
  memset(&counters, 0, sizeof(counters));
}

static long* number_called(const char* name) {
  const struct {
    const char* name;
    long* value;
  } numbers[] = {
#define VERITY_NUMBER(name, initial) {#name, &settings.name},
      VERITY_SETTINGS(VERITY_NUMBER)
#undef VERITY_NUMBER
  };
  for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); ++i) {
    if (strcmp(numbers[i].name, name) == 0) { return numbers[i].value; }
  }
  return NULL;
}

static void apply(char* word) {
  char* value = strchr(word, '=');
  long* number;

  if (value != NULL) {
    *value++ = '\0';
    if (strcmp(word, "operations") == 0) {
      snprintf(settings.operations, sizeof(settings.operations), "%s", value);
      return;
    }
    number = number_called(word);
    if (number != NULL) {
      *number = strtol(value, NULL, 10);
      return;
    }
  }
  fprintf(stderr, "forwarder: unknown setting %s\n", word);
  exit(2);
}

int control_read(void) {
  static ino_t last; /* replaced, not written: another file each time, whatever the clock says */
  static struct timespec last_time;
  struct stat now;
  char word[64];
  FILE* file;

  if (stat("control", &now) != 0 || (now.st_ino == last && now.st_mtim.tv_sec == last_time.tv_sec &&
                                     now.st_mtim.tv_nsec == last_time.tv_nsec)) {
    return 0;
  }
  file = fopen("control", "r");
  if (file == NULL) { return 0; }
  last = now.st_ino;
  last_time = now.st_mtim;
  control_start();
  while (fscanf(file, "%63s", word) == 1) { apply(word); }
  fclose(file);
  return 1;
}

void counters_write(void) {
  FILE* file = fopen("counters.new", "w");

  if (file == NULL) { return; }
  fprintf(file, "epoch=%ld\n", settings.epoch);
#define VERITY_WRITE(name) fprintf(file, #name "=%ld\n", counters.name);
  ROCE_CONTROL_COUNTERS(VERITY_WRITE)
#undef VERITY_WRITE
  if (fclose(file) == 0) { rename("counters.new", "counters"); }
}
