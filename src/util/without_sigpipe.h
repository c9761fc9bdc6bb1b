// SPDX-License-Identifier: BSD-3-Clause
#ifndef VERITY_UTIL_WITHOUT_SIGPIPE_H
#define VERITY_UTIL_WITHOUT_SIGPIPE_H

#include <errno.h>
#include <signal.h>
#include <time.h>

namespace verity::util {

// For its lifetime what this thread writes to a pipe without a reader is lost, and
// nothing else: a line of ours must not end a program that would have printed nothing there. errno
// stays.
class WithoutSigpipe {
 public:
  WithoutSigpipe() noexcept {
    sigset_t pending;
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    blocks_ = !was_pending_ && pthread_sigmask(SIG_BLOCK, &pipe_, &before_) == 0;
  }
  ~WithoutSigpipe() {
    if (!blocks_) return;
    const int error = errno;
    const timespec none{0, 0};
    (void)sigtimedwait(&pipe_, nullptr, &none);
    (void)pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    errno = error;
  }
  WithoutSigpipe(const WithoutSigpipe&) = delete;
  WithoutSigpipe& operator=(const WithoutSigpipe&) = delete;

 private:
  sigset_t pipe_;
  sigset_t before_;
  bool was_pending_;  // and so blocked already
  bool blocks_;
};

}  // namespace verity::util

#endif
