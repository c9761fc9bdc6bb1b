/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Makes UCX up to 1.21 load the verity module. Those versions have their list of modules compiled
 * in; this library, given to LD_PRELOAD, stands in front of the function that receives the list and
 * adds a name to it. UCX then looks for libuct_verity in its own folder and in UCX_MODULE_DIR, as
 * it does for any module of its own.
 *
 * It lives in every process of a job script, shells and `ls` included, so: no dependency but libc,
 * one exported symbol, nothing done until UCX asks for its modules. One line may come at the end,
 * see unused.c.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* RTLD_NEXT, secure_getenv */
#endif

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The signature of UCX 1.8 to 1.21; init_once is only handed on. */
typedef void load_modules_fn(const char* framework, const char* modules, void* init_once,
                             unsigned flags);

__attribute__((visibility("default"))) load_modules_fn ucs_load_modules;

enum { kListMax = 4096 };

static load_modules_fn* find_next(void) {
  static _Atomic(load_modules_fn*) cached;
  load_modules_fn* next = atomic_load_explicit(&cached, memory_order_acquire);
  void* libucs;

  if (next != NULL) { return next; }
  /* Another preload that does the same comes next in the chain, libucs at its end. */
  next = (load_modules_fn*)dlsym(RTLD_NEXT, "ucs_load_modules");
  if (next == NULL) {
    /* Opened with RTLD_LOCAL (as Python's ctypes does), libucs is in no search order. It is in the
     * process, or this would not have been called, so its count of users may rise by one for good.
     */
    libucs = dlopen("libucs.so.0", RTLD_LAZY | RTLD_NOLOAD);
    next = libucs == NULL ? NULL : (load_modules_fn*)dlsym(libucs, "ucs_load_modules");
  }
  atomic_store_explicit(&cached, next, memory_order_release);
  return next;
}

/* Writes "<modules>:<extra>:verity" to list. False when it does not fit. */
static int extend_list(char* list, size_t size, const char* modules, const char* extra) {
  int length = extra != NULL && extra[0] != '\0'
                   ? snprintf(list, size, "%s:%s:verity", modules, extra)
                   : snprintf(list, size, "%s:verity", modules);
  return length >= 0 && (size_t)length < size;
}

void ucs_load_modules(const char* framework, const char* modules, void* init_once, unsigned flags) {
  load_modules_fn* next = find_next();
  char list[kListMax];

  if (next == NULL) { return; }
  if (strcmp(framework, "uct") == 0 &&
      /* Modules to load before verity: transports that verity is to wrap. */
      extend_list(list, sizeof(list), modules, secure_getenv("UCX_VERITY_EXTRA_MODULES"))) {
    modules = list;
  }
  next(framework, modules, init_once, flags);
}
