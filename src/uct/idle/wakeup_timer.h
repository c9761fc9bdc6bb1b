// SPDX-License-Identifier: BSD-3-Clause
//
// What wakes a sleeping process. The event file descriptor is a set of the lower transport's and of
// a timer: frames in flight must wake the process if their acknowledgement does not come. Where the
// lower transport has no descriptor and calls the upper layer from its own asynchronous events
// (ud), a timer of the same context does so. On self nothing wakes anyone, as all is done within
// the sender's call: here acknowledgements and answers may wait for the progress of a thread that
// sleeps, which is called as by ud.
#ifndef VERITY_UCT_IDLE_WAKEUP_TIMER_H
#define VERITY_UCT_IDLE_WAKEUP_TIMER_H

#include <utility>

#include "uct/compat/ucx.h"

namespace verity::uct {

class WakeupTimer {
 public:
  WakeupTimer() = default;
  ~WakeupTimer();
  WakeupTimer(const WakeupTimer&) = delete;
  WakeupTimer& operator=(const WakeupTimer&) = delete;

  // `calls`: the upper layer is woken without a descriptor, in its own way.
  void open(const uct_iface_params_t& params, bool calls, ucs_async_context_t* async) noexcept;
  // A descriptor for the lower transport's events and the timer.
  [[nodiscard]] ucs_status_t event_fd(int lower_fd, int* fd_p) noexcept;

  // The process is to be woken at `deadline` (ns; UINT64_MAX: by the timer not at all).
  void set(uint64_t deadline, uint64_t now) noexcept;
  // The same in `wait` ns, if it may sleep since set(): another thread has sent something.
  void set_while_asleep(uint64_t wait) noexcept;
  // It makes progress.
  void woke() noexcept { sleeps_ = false; }
  // It is to be woken now, if it sleeps.
  void wake() noexcept;
  // The same, where it may sleep.
  void wake_sleeping() noexcept {
    if (sleeps_ || is_set_) wake();
  }
  // The same once, where it may sleep since set().
  void wake_once() noexcept {
    if (std::exchange(sleeps_, false)) wake();
  }
  [[nodiscard]] bool may_sleep() const noexcept { return sleeps_; }
  // The interface closes: from here on it wakes nothing. UCP's callback is that of an interface
  // which UCP frees next. With the guard held; stop() comes next.
  void close() noexcept {
    sleeps_ = is_set_ = false;
    event_cb_ = nullptr;
  }
  // `wait`: until the callback, if it runs just now, is over; not with the asynchronous context
  // blocked.
  void stop(bool wait) noexcept;

 private:
  [[nodiscard]] ucs_status_t make_set(int lower_fd) noexcept;
  void close_set() noexcept;
  void set_fd(uint64_t wait) noexcept;
  void start_async(uint64_t wait) noexcept;

  int epoll_fd_ = -1;
  int timer_fd_ = -1;
  int async_timer_ = -1;
  ucs_async_context_t* async_ = nullptr;
  uct_async_event_cb_t event_cb_ = nullptr;
  void* event_arg_ = nullptr;
  bool is_set_ = false;
  bool sleeps_ = false;  // perhaps, and nothing was sent meanwhile
};

}  // namespace verity::uct

#endif
