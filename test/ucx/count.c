/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A preload that counts calls of malloc, free and of lock functions between two marks: those of the
 * thread that set the first mark, and among all threads' the plugin's "own", whose return address
 * lies in libuct_verity. UCX's asynchronous thread locks by time, more often on a busy machine.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "count.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

/* glibc's own names: no lookup, so no recursion. */
extern void* __libc_malloc(size_t size);
extern void* __libc_calloc(size_t count, size_t size);
extern void* __libc_realloc(void* old, size_t size);
extern void* __libc_memalign(size_t alignment, size_t size);
extern void __libc_free(void* block);

verity_count_start_fn verity_count_start;
verity_count_stop_fn verity_count_stop;

static atomic_int counting;
static pthread_t counted_thread;
static atomic_ulong allocations, own_allocations, locks, own_locks;
static struct { uintptr_t begin, end; } plugin, exempt;

static int inside(uintptr_t address, uintptr_t begin, uintptr_t end) {
  return address >= begin && address < end;
}

static int in_counted_thread(void) { return pthread_equal(pthread_self(), counted_thread) != 0; }

static void count_allocation(const void* caller) {
  if (atomic_load_explicit(&counting, memory_order_relaxed)) {
    atomic_fetch_add(&allocations, in_counted_thread());
    atomic_fetch_add(&own_allocations, inside((uintptr_t)caller, plugin.begin, plugin.end));
  }
}

static void count_lock(const void* caller, const volatile void* lock) {
  if (atomic_load_explicit(&counting, memory_order_relaxed)) {
    int own = inside((uintptr_t)caller, plugin.begin, plugin.end) &&
              !inside((uintptr_t)lock, exempt.begin, exempt.end);
    atomic_fetch_add(&locks, in_counted_thread());
    atomic_fetch_add(&own_locks, own);
  }
}

static int find_plugin(struct dl_phdr_info* info, size_t size, void* unused) {
  (void)size;
  (void)unused;
  if (strstr(info->dlpi_name, "libuct_verity") == NULL) { return 0; }
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)* header = &info->dlpi_phdr[i];
    if (header->p_type == PT_LOAD && (header->p_flags & PF_X) != 0) {
      plugin.begin = info->dlpi_addr + header->p_vaddr;
      plugin.end = plugin.begin + header->p_memsz;
    }
  }
  return 1;
}

void verity_count_start(const void* address, size_t size) {
  dl_iterate_phdr(find_plugin, NULL);
  exempt.begin = (uintptr_t)address;
  exempt.end = exempt.begin + size;
  atomic_store(&allocations, 0);
  atomic_store(&own_allocations, 0);
  atomic_store(&locks, 0);
  atomic_store(&own_locks, 0);
  counted_thread = pthread_self();
  atomic_store(&counting, 1);
}

verity_counts verity_count_stop(void) {
  verity_counts counts;
  atomic_store(&counting, 0);
  counts.allocations = atomic_load(&allocations);
  counts.own_allocations = atomic_load(&own_allocations);
  counts.locks = atomic_load(&locks);
  counts.own_locks = atomic_load(&own_locks);
  return counts;
}

void* malloc(size_t size) {
  count_allocation(__builtin_return_address(0));
  return __libc_malloc(size);
}

void* calloc(size_t count, size_t size) {
  count_allocation(__builtin_return_address(0));
  return __libc_calloc(count, size);
}

void* realloc(void* old, size_t size) {
  count_allocation(__builtin_return_address(0));
  return __libc_realloc(old, size);
}

void* memalign(size_t alignment, size_t size) {
  count_allocation(__builtin_return_address(0));
  return __libc_memalign(alignment, size);
}

void* aligned_alloc(size_t alignment, size_t size) {
  count_allocation(__builtin_return_address(0));
  return __libc_memalign(alignment, size);
}

int posix_memalign(void** block_p, size_t alignment, size_t size) {
  count_allocation(__builtin_return_address(0));
  *block_p = __libc_memalign(alignment, size);
  return *block_p == NULL ? 12 /* ENOMEM */ : 0;
}

void free(void* block) {
  if (block != NULL) { count_allocation(__builtin_return_address(0)); }
  __libc_free(block);
}

/* The same for functions of one pointer to a lock that glibc has only under their own names. */
#define COUNTED_LOCK(name, type)                                                \
  int name(type* lock) {                                                        \
    static _Atomic(int (*)(type*)) next;                                        \
    int (*function)(type*) = atomic_load_explicit(&next, memory_order_acquire); \
    if (function == NULL) {                                                     \
      function = (int (*)(type*))dlsym(RTLD_NEXT, #name);                       \
      atomic_store_explicit(&next, function, memory_order_release);             \
    }                                                                           \
    count_lock(__builtin_return_address(0), lock);                              \
    return function(lock);                                                      \
  }

COUNTED_LOCK(pthread_mutex_lock, pthread_mutex_t)
COUNTED_LOCK(pthread_mutex_trylock, pthread_mutex_t)
COUNTED_LOCK(pthread_spin_lock, pthread_spinlock_t)
COUNTED_LOCK(pthread_spin_trylock, pthread_spinlock_t)
COUNTED_LOCK(pthread_rwlock_rdlock, pthread_rwlock_t)
COUNTED_LOCK(pthread_rwlock_wrlock, pthread_rwlock_t)
