/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A job that was to be verified says at its end what was. Where the plugin never came into the
 * process, as with `mpirun --mca pml ob1`, only this library can say that nothing was: one line, by
 * the first rank of an MPI job. It was to be verified when UCX_TLS names wrapped transports, or
 * with UCX_VERITY_TRANSPARENT, or with UCX_VERITY_ATTEST=always. The module and `ucx-verity env`
 * set these, or the site's policy does for all of its users (site_value.h).
 *
 * It is silent in all other processes: without a rank, or in a job of one; where MPI was never
 * initialised (shells, tools, what a rank executes); in children made by fork(); and where the
 * plugin is loaded, which has the last word itself.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* RTLD_DEFAULT, secure_getenv */
#endif

#include <dlfcn.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "site_value.h"

typedef int finalized_fn(int* flag);

static const char* first_set(const char* const names[]) {
  const char* value;

  for (; *names != NULL; ++names) {
    value = secure_getenv(*names);
    if (value != NULL && value[0] != '\0') { return value; }
  }
  return "";
}

static int is_first_of_several(void) {
  static const char* const ranks[] = {
      "PMIX_RANK",   "PMI_RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID", "FLUX_TASK_RANK",
      "PALS_RANKID", NULL};
  static const char* const sizes[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE",     "FLUX_JOB_SIZE",
                                      "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS", NULL};

  return strcmp(first_set(ranks), "0") == 0 && atoi(first_set(sizes)) > 1;
}

/* As it was at first: programs remove a launcher's variables to start jobs of their own. */
static pid_t loaded_by;
static int is_first;
static char* pml; /* OMPI_MCA_pml; NULL: none */

__attribute__((constructor)) static void remember_process(void) {
  const char* value = secure_getenv("OMPI_MCA_pml");

  loaded_by = getpid();
  is_first = is_first_of_several();
  if (is_first && value != NULL) { pml = strdup(value); }
}

struct libraries {
  const char* mpi; /* NULL: none */
  int plugin;
  int open_mpi;
};

static int look_at(struct dl_phdr_info* info, size_t size, void* out) {
  struct libraries* found = out;
  const char* name = strrchr(info->dlpi_name, '/');

  (void)size;
  name = name != NULL ? name + 1 : info->dlpi_name;
  if (strncmp(name, "libmpi.so", 9) == 0 || strncmp(name, "libmpich.so", 11) == 0) {
    found->mpi = info->dlpi_name;
  }
  found->plugin |= strncmp(name, "libuct_verity.", 14) == 0;
  found->open_mpi |= strncmp(name, "libopen-pal.", 12) == 0;
  return 0;
}

/* May be called when MPI is over, and before it begins. */
static int mpi_ran(const char* library) {
  void* handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
  finalized_fn* initialized;
  int flag = 0;

  if (handle == NULL) { return 0; }
  initialized = (finalized_fn*)dlsym(handle, "PMPI_Initialized");
  return initialized != NULL && initialized(&flag) == 0 && flag;
}

static int names_wrapper(const char* tls) {
  return tls != NULL && (tls[0] == 'v' || strstr(tls, ",v") != NULL);
}

/* As UCX's parser reads it. */
static int is_transparent(void) {
  char text[VERITY_SITE_VALUE_SIZE];
  const char* value = verity_site_value("UCX_VERITY_TRANSPARENT", text);

  return strcasecmp(value, "y") == 0 || strcasecmp(value, "yes") == 0 || strcmp(value, "1") == 0;
}

/* As src/util/without_write_signals.h: a stderr without a reader, or in a file at the limit of its
 * size, must not end the process. A signal that is pending already is blocked, and not ours. */
static void print_lines(void (*print)(const struct libraries*), const struct libraries* found) {
  static const struct timespec none;
  static const int numbers[] = {SIGPIPE, SIGXFSZ};
  sigset_t blocked, before, pending;
  size_t i;

  sigemptyset(&blocked);
  sigpending(&pending);
  for (i = 0; i < sizeof(numbers) / sizeof(*numbers); ++i) {
    if (sigismember(&pending, numbers[i]) != 1) { sigaddset(&blocked, numbers[i]); }
  }
  if (sigprocmask(SIG_BLOCK, &blocked, &before) != 0) {
    print(found);
    return;
  }
  print(found);
  while (sigtimedwait(&blocked, NULL, &none) > 0) {}
  (void)sigprocmask(SIG_SETMASK, &before, NULL);
}

/* As unused_reason() of src/health, where the plugin is there to say it. */
static void print_reason(const struct libraries* found) {
  const char* tls = secure_getenv("UCX_TLS");

  if (found->open_mpi && pml != NULL && pml[0] != '^' && strstr(pml, "ucx") == NULL) {
    fprintf(stderr,
            "ucx-verity: NOTHING VERIFIED: no message used the plugin (pml/%s, not "
            "pml/ucx)\n",
            pml);
  } else if (found->open_mpi && pml != NULL && pml[0] == '^' && strstr(pml, "ucx") != NULL) {
    fprintf(stderr, "ucx-verity: NOTHING VERIFIED: no message used the plugin (OMPI_MCA_pml=%s)\n",
            pml);
  } else if (tls != NULL && tls[0] != '\0' && !names_wrapper(tls) && !is_transparent()) {
    fprintf(stderr, "ucx-verity: NOTHING VERIFIED: no message used the plugin (UCX_TLS=%s)\n", tls);
  } else {
    fprintf(stderr,
            "ucx-verity: NOTHING VERIFIED: no message used the plugin (the plugin was "
            "not loaded: see 'ucx-verity doctor')\n");
  }
}

static int was_to_be_verified(void) {
  char text[VERITY_SITE_VALUE_SIZE];
  const char* attest = verity_site_value("UCX_VERITY_ATTEST", text);

  if (strcasecmp(attest, "always") == 0) { return 1; }
  return strcasecmp(attest, "never") != 0 &&
         (names_wrapper(secure_getenv("UCX_TLS")) || is_transparent());
}

__attribute__((destructor)) static void report_unused(void) {
  struct libraries found = {NULL, 0, 0};

  /* The site's files last: they are read by a process of a job alone. */
  if (getpid() != loaded_by || !is_first) { return; }
  (void)dl_iterate_phdr(look_at, &found);
  if (found.mpi != NULL && !found.plugin && mpi_ran(found.mpi) && was_to_be_verified()) {
    print_lines(print_reason, &found);
  }
}
