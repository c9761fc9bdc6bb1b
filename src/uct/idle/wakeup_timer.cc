// SPDX-License-Identifier: BSD-3-Clause
#include "uct/idle/wakeup_timer.h"

#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

namespace verity::uct {

namespace {

bool watch(int set, int fd) noexcept {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = fd;
  return epoll_ctl(set, EPOLL_CTL_ADD, fd, &event) == 0;
}

}  // namespace

WakeupTimer::~WakeupTimer() { close_set(); }

void WakeupTimer::open(const uct_iface_params_t& params, bool calls,
                       ucs_async_context_t* async) noexcept {
  async_ = async;
  if (!calls || (params.field_mask & UCT_IFACE_PARAM_FIELD_ASYNC_EVENT_CB) == 0) return;
  const bool has_arg = (params.field_mask & UCT_IFACE_PARAM_FIELD_ASYNC_EVENT_ARG) != 0;
  event_cb_ = params.async_event_cb;
  event_arg_ = has_arg ? params.async_event_arg : nullptr;
}

ucs_status_t WakeupTimer::event_fd(int lower_fd, int* fd_p) noexcept {
  if (epoll_fd_ < 0) {
    const ucs_status_t status = make_set(lower_fd);
    if (status != UCS_OK) {
      close_set();  // half a set would sleep for ever
      return status;
    }
  }
  *fd_p = epoll_fd_;
  return UCS_OK;
}

ucs_status_t WakeupTimer::make_set(int lower_fd) noexcept {
  epoll_fd_ = epoll_create1(EPOLL_CLOEXEC);
  timer_fd_ = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
  if (epoll_fd_ < 0 || timer_fd_ < 0) {
    ucs_error("ucx-verity: cannot make an event file descriptor: %m");
    return UCS_ERR_IO_ERROR;
  }
  return watch(epoll_fd_, lower_fd) && watch(epoll_fd_, timer_fd_) ? UCS_OK : UCS_ERR_IO_ERROR;
}

void WakeupTimer::close_set() noexcept {
  if (epoll_fd_ >= 0) ::close(epoll_fd_);
  if (timer_fd_ >= 0) ::close(timer_fd_);
  epoll_fd_ = timer_fd_ = -1;
}

void WakeupTimer::set(uint64_t deadline, uint64_t now) noexcept {
  const bool wanted = deadline != UINT64_MAX;
  const uint64_t wait = deadline > now ? deadline - now : 1;
  if (timer_fd_ >= 0) {
    if (wanted || is_set_) set_fd(wanted ? wait : 0);
  } else if (event_cb_ != nullptr) {
    stop(false);
    if (wanted) start_async(wait);
  }
  is_set_ = wanted;
  sleeps_ = true;
}

// What was to wake it sooner comes a little later.
void WakeupTimer::set_while_asleep(uint64_t wait) noexcept {
  if (!std::exchange(sleeps_, false)) return;
  if (timer_fd_ >= 0) {
    set_fd(wait);
  } else if (event_cb_ != nullptr) {
    stop(false);
    start_async(wait);
  }
  is_set_ = true;
}

void WakeupTimer::wake() noexcept {
  if (timer_fd_ >= 0) {
    set_fd(1);
    is_set_ = true;
  } else if (event_cb_ != nullptr) {
    event_cb_(event_arg_, 0);
  }
}

// `wait`: ns; 0: none.
void WakeupTimer::set_fd(uint64_t wait) noexcept {
  itimerspec when{};
  if (wait != 0) {
    when.it_value.tv_sec = static_cast<time_t>(wait / 1000000000u);
    when.it_value.tv_nsec = static_cast<long>(wait % 1000000000u) + 1;
    if (when.it_value.tv_nsec > 999999999) when.it_value.tv_nsec = 999999999;
  }
  (void)timerfd_settime(timer_fd_, 0, &when, nullptr);
}

// It fires again and again, until the woken process arms anew.
void WakeupTimer::start_async(uint64_t wait) noexcept {
  const auto fired = [](int, ucs_event_set_types_t, void* arg) noexcept {
    const auto& self = *static_cast<const WakeupTimer*>(arg);
    if (self.event_cb_ != nullptr) self.event_cb_(self.event_arg_, 0);
  };
  const ucs_time_t interval = timer_interval(static_cast<double>(wait) / 1e9);
  if (ucs_async_add_timer(async_->mode, interval, fired, this, async_, &async_timer_) != UCS_OK)
    async_timer_ = -1;
}

void WakeupTimer::stop(bool wait) noexcept {
  if (async_timer_ >= 0) (void)ucs_async_remove_handler(async_timer_, wait);
  async_timer_ = -1;
}

}  // namespace verity::uct
