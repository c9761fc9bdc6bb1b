// SPDX-License-Identifier: BSD-3-Clause
// What peers write goes straight into registered memory, which the program may have unmapped
// meanwhile. To ask the kernel each time would cost more than the put itself, so the fault is
// caught instead: SIGSEGV and SIGBUS at an address that is just being accessed for a peer end that
// access. A page that is protected is left to a handler of the program's that was there before: it
// may open it. SIGBUS in the file of guard_file() gives it other pages. All others go to whoever
// handled them before, as if this one were not there.
#include "uct/process/fault_guard.h"

#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <iterator>

namespace verity::uct {

namespace {

struct Access {
  sigjmp_buf back;
  uint64_t begin;
  uint64_t end;
};

// The handler must not be the first in its thread to use this: that would allocate.
[[gnu::tls_model("initial-exec")]] constinit thread_local Access* current = nullptr;

struct GuardedFile {
  uint64_t begin = 0;
  uint64_t end = 0;
  bool (*replace)(void*) = nullptr;
  void* arg = nullptr;
};
constinit GuardedFile guarded_file;
constinit std::atomic<bool> guards_file{false};

// It lay behind the end of the file, and does no more.
bool was_replaced(int signal, const siginfo_t* info) noexcept {
  if (signal != SIGBUS || info->si_code != BUS_ADRERR ||
      !guards_file.load(std::memory_order_acquire))
    return false;
  const auto address = reinterpret_cast<uint64_t>(info->si_addr);
  return address >= guarded_file.begin && address < guarded_file.end &&
         guarded_file.replace(guarded_file.arg);
}

// The signal that this thread is handing on. Whoever was before may have put itself in front of
// this handler since, and call it as the one before: without an end, were it called again.
struct Passing {
  const siginfo_t* info;
  const void* frame;
};
[[gnu::tls_model("initial-exec")]] constinit thread_local Passing passing = {};

// By a handler that pass_on() has called, further down the same stack. One that never returned has
// left its mark, and the next signal may stand at the same place: but not below that frame.
bool came_back(const siginfo_t* info, const void* frame) noexcept {
  return passing.info == info && frame < passing.frame;
}

constexpr int kSignals[] = {SIGSEGV, SIGBUS};
struct sigaction before[2];  // of those
// Whether the one before for SIGSEGV may be a program's that opens pages which it has protected, to
// learn what is written to them, and has the access made again.
bool opens_pages = false;
constexpr const char* kReporters[] = {"/libucs.", "/libasan.", "/libtsan.", "/libubsan."};

// Others report a crash: what is called once (Open MPI), UCX's, and those of the sanitizers.
bool may_open_pages(const struct sigaction& handler) noexcept {
  if ((handler.sa_flags & SA_RESETHAND) != 0) return false;
  if ((handler.sa_flags & SA_SIGINFO) == 0 &&
      (handler.sa_handler == SIG_DFL || handler.sa_handler == SIG_IGN))
    return false;
  Dl_info info;
  if (dladdr(reinterpret_cast<const void*>(handler.sa_sigaction), &info) == 0) return true;
  const char* name = info.dli_fname != nullptr ? std::strrchr(info.dli_fname, '/') : nullptr;
  return std::none_of(std::begin(kReporters), std::end(kReporters), [name](const char* reporter) {
    return name != nullptr && std::strncmp(name, reporter, std::strlen(reporter)) == 0;
  });
}

// As the kernel would call it.
void call(const struct sigaction& handler, int signal, siginfo_t* info, void* context) noexcept {
  sigset_t mask = handler.sa_mask;
  sigset_t old;
  if ((handler.sa_flags & SA_NODEFER) == 0) sigaddset(&mask, signal);
  pthread_sigmask(SIG_BLOCK, &mask, &old);
  (handler.sa_flags & SA_SIGINFO) != 0 ? handler.sa_sigaction(signal, info, context)
                                       : handler.sa_handler(signal);
  pthread_sigmask(SIG_SETMASK, &old, nullptr);
}

// What the system does where there is no handler.
void end_process(int signal, bool was_sent) noexcept {
  struct sigaction none = {};
  none.sa_handler = SIG_DFL;
  (void)sigaction(signal, &none, nullptr);
  if (was_sent) (void)raise(signal);
}

[[gnu::noinline]] void pass_on(int signal, siginfo_t* info, void* context) noexcept {
  struct sigaction& known = before[signal == SIGBUS];
  const struct sigaction handler = known;
  const bool was_sent = info->si_code <= 0;  // by a process: no instruction will fault again
  const void* frame = __builtin_frame_address(0);
  if (came_back(info, frame)) return end_process(signal, was_sent);
  if ((handler.sa_flags & SA_SIGINFO) == 0) {
    if (handler.sa_handler == SIG_IGN && was_sent) return;
    if (handler.sa_handler == SIG_DFL || handler.sa_handler == SIG_IGN)
      return end_process(signal, was_sent);
  }
  if ((handler.sa_flags & SA_RESETHAND) != 0) {  // called once
    known.sa_flags = 0;
    known.sa_handler = SIG_DFL;
  }
  const Passing outer = passing;
  passing = {info, frame};
  call(handler, signal, info, context);
  passing = outer;
}

void caught(int signal, siginfo_t* info, void* context) noexcept {
  if (was_replaced(signal, info)) return;
  Access* access = current;
  const auto address = reinterpret_cast<uint64_t>(info->si_addr);
  if (access == nullptr || info->si_code <= 0 || address < access->begin ||
      address >= access->end) {
    return pass_on(signal, info, context);
  }
  // Such a page is still there: a program that protects its memory comes first.
  const bool is_protected = signal == SIGSEGV && info->si_code == SEGV_ACCERR;
  if (is_protected && opens_pages && !came_back(info, __builtin_frame_address(0)))
    return pass_on(signal, info, context);
  current = nullptr;
  // Another handler may have called this one, with signals blocked: what was interrupted had these.
  pthread_sigmask(SIG_SETMASK, &static_cast<ucontext_t*>(context)->uc_sigmask, nullptr);
  siglongjmp(access->back, 1);
}

bool install() noexcept {
  for (const int signal : kSignals) {
    struct sigaction ours = {};
    ours.sa_sigaction = caught;
    // The signal mask stays as it is, since it would have to be set back by a system call.
    ours.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK;
    sigemptyset(&ours.sa_mask);
    (void)sigaction(signal, nullptr, &before[signal == SIGBUS]);
    if (signal == SIGSEGV) opens_pages = may_open_pages(before[0]);
    (void)sigaction(signal, &ours, nullptr);
  }
  return true;
}

}  // namespace

void start_guarding() noexcept { [[maybe_unused]] static const bool once = install(); }

void guard_file(const void* memory, size_t length, bool (*replace)(void*), void* arg) noexcept {
  const auto begin = reinterpret_cast<uint64_t>(memory);
  guarded_file = {begin, begin + length, replace, arg};
  guards_file.store(true, std::memory_order_release);
}

bool guarded_access(uint64_t address, size_t length, void (*use)(void*), void* arg) noexcept {
  Access access;
  access.begin = address;
  access.end = address + length;
  Access* const outer = current;  // of the code that a signal handler interrupted
  if (sigsetjmp(access.back, 0) != 0) {
    current = outer;
    return false;
  }
  current = &access;
  std::atomic_signal_fence(std::memory_order_seq_cst);  // in that order, for the handler
  use(arg);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  current = outer;
  return true;
}

}  // namespace verity::uct
