// SPDX-License-Identifier: BSD-3-Clause
// Sleeping. The event file descriptor is a set of the lower transport's and of a timer: frames in
// flight must wake the process if their acknowledgement does not come. Where the lower transport has
// no descriptor and calls the upper layer from its own asynchronous events (ud), a timer of the same
// context does so.
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "uct/iface/verity_ep.h"

namespace verity::uct {

namespace {

ucs_status_t watch(int set, int fd) noexcept {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = fd;
  return epoll_ctl(set, EPOLL_CTL_ADD, fd, &event) == 0 ? UCS_OK : UCS_ERR_IO_ERROR;
}

}  // namespace

ucs_status_t VerityIface::event_fd(int* fd_p) noexcept {
  int lower_fd = -1;
  ucs_status_t status = uct_iface_event_fd_get(lower(), &lower_fd);
  if (status != UCS_OK || is_off()) {
    *fd_p = lower_fd;
    return status;
  }
  if (epoll_fd_ < 0) {
    epoll_fd_ = epoll_create1(EPOLL_CLOEXEC);
    timer_fd_ = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (epoll_fd_ < 0 || timer_fd_ < 0) {
      ucs_error("ucx-verity: cannot make an event file descriptor: %m");
      return UCS_ERR_IO_ERROR;
    }
    status = watch(epoll_fd_, lower_fd);
    if (status == UCS_OK) status = watch(epoll_fd_, timer_fd_);
    if (status != UCS_OK) return status;
  }
  *fd_p = epoll_fd_;
  return UCS_OK;
}

// What is owed goes out before the sleep; unacknowledged frames set the timer. Neither makes the
// caller stay awake.
ucs_status_t VerityIface::arm(unsigned events) noexcept {
  if (is_off()) return uct_iface_event_arm(lower(), events);
  {
    const AsyncGuard guard(*this);
    (void)hub_->flush_owed();
    const uint64_t now = monotonic_ns();
    hub_->tick(now);
    if (done_first_ != nullptr || !deferred_.empty()) return UCS_ERR_BUSY;
    if (onesided_ != nullptr && onesided_->must_poll()) return UCS_ERR_BUSY;
    set_timer(now);
    check_time_ = true;
    return uct_iface_event_arm(lower(), events);
  }
}

void VerityIface::set_timer(uint64_t now) noexcept {
  constexpr uint64_t kRetry = 1'000'000;  // ns; what found the lower transport busy
  uint64_t deadline = hub_->next_deadline();
  const bool reads = onesided_ != nullptr && onesided_->must_retry();
  if (hub_->owes() || attention_.linked() || !flushes_.empty() || reads) deadline = now + kRetry;
  const bool wanted = deadline != UINT64_MAX;
  const uint64_t wait = deadline > now ? deadline - now : 1;
  if (timer_fd_ >= 0) {
    if (wanted || timer_set_) set_timer_fd(wanted ? wait : 0);
  } else if (event_cb_ != nullptr) {
    stop_async_timer(false);
    if (wanted) start_async_timer(wait);
  }
  timer_set_ = wanted;
}

// `wait`: ns; 0: none.
void VerityIface::set_timer_fd(uint64_t wait) noexcept {
  itimerspec when{};
  if (wait != 0) {
    when.it_value.tv_sec = static_cast<time_t>(wait / 1000000000u);
    when.it_value.tv_nsec = static_cast<long>(wait % 1000000000u) + 1;
    if (when.it_value.tv_nsec > 999999999) when.it_value.tv_nsec = 999999999;
  }
  (void)timerfd_settime(timer_fd_, 0, &when, nullptr);
}

// It fires again and again, until the woken process arms anew.
void VerityIface::start_async_timer(uint64_t wait) noexcept {
  const auto fired = [](int, ucs_event_set_types_t, void* arg) noexcept {
    const auto& self = *static_cast<const VerityIface*>(arg);
    self.event_cb_(self.event_arg_, 0);
  };
  const ucs_time_t interval = ucs_time_from_usec(static_cast<double>(wait) / 1000);
  const ucs_status_t status =
      ucs_async_add_timer(async()->mode, interval, fired, this, async(), &async_timer_);
  if (status != UCS_OK) async_timer_ = -1;
}

// `wait`: until its callback, if it runs just now, is over. Not with the asynchronous context blocked.
void VerityIface::stop_async_timer(bool wait) noexcept {
  if (async_timer_ >= 0) (void)ucs_async_remove_handler(async_timer_, wait);
  async_timer_ = -1;
}

ucs_status_t Ops::event_fd_get(uct_iface_h iface, int* fd_p) noexcept {
  return VerityIface::of(iface).event_fd(fd_p);
}

ucs_status_t Ops::event_arm(uct_iface_h iface, unsigned events) noexcept {
  return VerityIface::of(iface).arm(events);
}

}  // namespace verity::uct
