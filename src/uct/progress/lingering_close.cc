// SPDX-License-Identifier: BSD-3-Clause
#include "uct/progress/lingering_close.h"

#include <sched.h>

#include "uct/process/clock.h"

namespace verity::uct {

namespace {

// The part of the time to linger after which a peer is not waited for that has acknowledged nothing
// meanwhile: one that computes comes back long after it or not at all. Halfway through it all is
// sent once more, since the last frame may be what was lost.
constexpr uint64_t kSilentPart = 8;

// After our BYE nothing is waited for but the lower transport taking it.
constexpr uint64_t kCloseTime = 20'000'000;  // ns

}  // namespace

bool LingeringClose::run() noexcept {
  wait_for_acknowledgements();
  const bool idle = is_idle();
  close_links();
  return idle && !query_hub([](const link::Hub& hub) { return hub.has_pending_control(); });
}

void LingeringClose::wait_for_acknowledgements() noexcept {
  uint64_t now = monotonic_ns();
  const uint64_t until = now + core_.options.linger;
  const uint64_t silence = core_.options.linger / kSilentPart;
  uint64_t since = now;
  uint32_t mark = acknowledged();
  bool repeated = false;
  while (!is_idle()) {
    turn(now);
    // The peer may be another worker of this thread, which cannot make progress itself while this
    // call lasts.
    idle_.serve_siblings(now, 0);
    sched_yield();
    // Judged by the time before that turn: this process may have stood still after it, and what
    // came meanwhile is read first. The peer may be gone by then, and have acknowledged all.
    if (const uint32_t seen = acknowledged(); seen != mark) {
      mark = seen;
      since = now;
      repeated = false;
    } else if (!repeated && now - since > silence / 2) {
      repeated = true;
      retransmit_all();
    }
    if (now >= until || now - since >= silence) return;
    now = monotonic_ns();
  }
}

void LingeringClose::close_links() noexcept {
  {
    const AsyncGuard guard(core_.threads);
    core_.hub->lifecycle.close_all();
  }
  uint64_t now = monotonic_ns();
  const uint64_t until = now + kCloseTime;
  do {
    turn(now);
    now = monotonic_ns();
  } while (query_hub([](const link::Hub& hub) { return hub.has_pending_control(); }) &&
           now < until);
  // tcp sends from its buffers only in progress.
  while (uct_iface_flush(core_.lower(), UCT_FLUSH_FLAG_LOCAL, nullptr) == UCS_INPROGRESS &&
         now < until) {
    {
      const AsyncGuard guard(core_.threads);
      (void)core_.wrap.progress_lower();
    }
    now = monotonic_ns();
  }
}

void LingeringClose::turn(uint64_t now) noexcept {
  const AsyncGuard guard(core_.threads);
  (void)core_.wrap.progress_lower();
  (void)core_.hub->poll();
  (void)core_.hub->flush_control();
  core_.hub->tick(now);
}

uint32_t LingeringClose::acknowledged() noexcept {
  const AsyncGuard guard(core_.threads);
  uint32_t sum = 0;
  links_.for_each([&](const UctLink& l) { sum += l.tx[0].una() + l.tx[1].una(); });
  return sum;
}

void LingeringClose::retransmit_all() noexcept {
  const AsyncGuard guard(core_.threads);
  links_.for_each([this](UctLink& l) {
    if (l.in_flight() && !l.is_lost()) core_.hub->retransmitter.retransmit_all(l);
  });
}

}  // namespace verity::uct
