// SPDX-License-Identifier: BSD-3-Clause
#ifndef VERITY_UCT_PROCESS_FAULT_GUARD_H
#define VERITY_UCT_PROCESS_FAULT_GUARD_H

#include <cstddef>
#include <cstdint>

namespace verity::uct {

// From here on accesses can be guarded in this process. Not on the data path; any thread, any
// number of times.
void start_guarding() noexcept;

// Calls use(arg), which touches `length` bytes of this process's memory at `address` and keeps
// nothing that must be destroyed. False: the memory is not there, or not to be written; use() then
// ended at the first byte that is not. The program, too, ends there if it has set a handler of its
// own for SIGSEGV or SIGBUS after start_guarding(), which does not hand on what it does not know,
// or if the thread has those signals blocked. One that it had before start_guarding() comes first
// where a page is protected: it may open it, and use() goes on. Costs no system call. Any thread.
[[nodiscard]] bool guarded_access(uint64_t address, size_t length, void (*use)(void*),
                                  void* arg) noexcept;

// Memory of this process whose pages are those of a file that others may cut; one in a process,
// after start_guarding(). An access to a page that is no longer there calls replace(arg) in the
// signal's handler, which puts another in its place, and is then made again; false: it cannot.
void guard_file(const void* memory, size_t length, bool (*replace)(void*), void* arg) noexcept;

}  // namespace verity::uct

#endif
