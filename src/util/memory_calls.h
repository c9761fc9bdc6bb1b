// SPDX-License-Identifier: BSD-3-Clause
//
// The kernel's own memory calls, for memory that belongs to this project alone, and for calls that
// change no mapping.
//
// The C library's functions may not be the C library's: UCX replaces mmap, munmap, mremap, madvise,
// shmat, brk and others to hear of memory that goes away (ucm, in its modes bistro and reloc), and
// so do other tools. UCX's mremap passes four of the five arguments on, so that MREMAP_FIXED moves
// a mapping to any address, for root to 0; all of them take locks, which a handler of
// pthread_atfork() in the child may find taken for ever. Memory that nobody else knows is nothing
// to be heard of.
#ifndef VERITY_UTIL_MEMORY_CALLS_H
#define VERITY_UTIL_MEMORY_CALLS_H

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>

namespace verity::util {

// As mmap() from the begin of the file; with MAP_FIXED never anywhere but at `where`. MAP_FAILED
// with errno set: there is none.
inline void* map_memory(void* where, std::size_t size, int flags, int fd) noexcept {
  const long mapped = syscall(SYS_mmap, where, size, PROT_READ | PROT_WRITE, flags, fd, 0L);
  return reinterpret_cast<void*>(mapped);
}

inline void unmap_memory(void* memory, std::size_t size) noexcept {
  (void)syscall(SYS_munmap, memory, size);
}

// The pages of shared memory at a second address. MAP_FAILED: not here.
inline void* map_again(void* shared, std::size_t size) noexcept {
  const long mapped = syscall(SYS_mremap, shared, 0L, size, long{MREMAP_MAYMOVE}, 0L);
  return reinterpret_cast<void*>(mapped);
}

// To `where`, in the place of what is there.
inline void move_memory(void* memory, std::size_t size, void* where) noexcept {
  (void)syscall(SYS_mremap, memory, size, size, long{MREMAP_MAYMOVE | MREMAP_FIXED}, where);
}

// As madvise(), for advice that changes no mapping.
inline int advise_memory(void* memory, std::size_t size, int advice) noexcept {
  return static_cast<int>(syscall(SYS_madvise, memory, size, long{advice}));
}

}  // namespace verity::util

#endif
