// SPDX-License-Identifier: BSD-3-Clause
#ifndef VERITY_UTIL_WITHOUT_WRITE_SIGNALS_H
#define VERITY_UTIL_WITHOUT_WRITE_SIGNALS_H

#include <errno.h>
#include <signal.h>
#include <time.h>

namespace verity::util {

// For its lifetime what this thread writes to a pipe without a reader, or beyond the limit of a
// file's size, is lost, and nothing else: a line of ours must not end a program that would have
// printed nothing there. errno stays.
class WithoutWriteSignals {
 public:
  WithoutWriteSignals() noexcept {
    sigset_t pending;
    sigpending(&pending);
    sigemptyset(&ours_);
    constexpr int kNumbers[] = {SIGPIPE, SIGXFSZ};
    for (const int number : kNumbers) {
      if (sigismember(&pending, number) != 1)  // else it is blocked already, and not ours
        sigaddset(&ours_, number);
    }
    blocks_ = pthread_sigmask(SIG_BLOCK, &ours_, &before_) == 0;
  }
  ~WithoutWriteSignals() {
    if (!blocks_) return;
    const int error = errno;
    const timespec none{0, 0};
    while (sigtimedwait(&ours_, nullptr, &none) > 0) {}
    (void)pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    errno = error;
  }
  WithoutWriteSignals(const WithoutWriteSignals&) = delete;
  WithoutWriteSignals& operator=(const WithoutWriteSignals&) = delete;

 private:
  sigset_t ours_;
  sigset_t before_;
  bool blocks_;
};

}  // namespace verity::util

#endif
