// SPDX-License-Identifier: BSD-3-Clause
// This layer's share of progress: pending control frames, timers, and every upper callback but the
// received messages: completions, pending requests, errors. And the same for an idle worker,
// without upper callbacks.
#include "uct/iface/verity_iface.h"
#include "uct/process/clock.h"

namespace verity::uct {

// Whether work() has something to do. Another thread adds to it where there is one.
inline bool VerityIface::has_work() const noexcept {
  return !completions_.empty() || links_.needs_attention() || !delivery_.deferred().empty() ||
         !flusher_.empty();
}

// Most calls find nothing to do, and each delays the next look for a message: those only read.
[[gnu::hot]] unsigned VerityIface::progress() noexcept {
  note_thread(core_.threads);
  if (core_.threads.shared) [[unlikely]]
    return progress_shared();
  const bool timed = core_.hub->poll() || check_time_;
  const bool onesided = onesided_ != nullptr && !onesided_->idle();
  if (!timed && !onesided && !has_work()) [[likely]]
    return 0;
  return progress_upper(timed ? tick() : 0);
}

// Where another thread may be at work on the interface.
unsigned VerityIface::progress_shared() noexcept {
  unsigned count = 0;
  uint64_t ticked = 0;
  {
    const AsyncGuard guard(core_.threads);
    if (core_.threads.threaded) count = progress_lower();
    if (core_.hub->poll() || check_time_) ticked = tick();
  }
  return count + progress_upper(ticked);
}

uint64_t VerityIface::tick() noexcept {
  const uint64_t now = monotonic_ns();
  check_time_ = false;
  wakeup_.woke();
  port_.note_time(now);
  core_.hub->tick(now);
  return now;
}

// What may call the upper layer.
unsigned VerityIface::progress_upper(uint64_t ticked) noexcept {
  unsigned count = 0;
  if (ticked != 0) idle_.serve_siblings_in_turn(ticked);
  progressing_.store(progressing_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  if (onesided_ != nullptr && !onesided_->idle()) count += onesided_->progress();
  bool works;
  {
    const AsyncGuard guard(core_.threads);
    works = has_work();
  }
  if (works) count += work();
  if (ticked != 0) count += read_on();
  progressing_.store(progressing_.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
  return count;
}

// Control frames that wait for a progress that brings nothing go with this one where nothing is
// there: the next may be long in coming, and the peer waits. Last, as a failure that is found here
// is behind the messages that the caller has not seen yet.
unsigned VerityIface::read_on() noexcept {
  const AsyncGuard guard(core_.threads);
  if (!port_.take_reads_on()) return 0;
  const unsigned count = progress_lower();
  (void)core_.hub->poll();
  return count;
}

// What was kept came before the failures that are reported now, and the upper layer drops messages
// of a peer that it knows to be lost.
unsigned VerityIface::work() noexcept {
  unsigned count = completions_.run();
  count += delivery_.run_deferred();
  count += upkeep_.attend();
  return count + flusher_.run();
}

void VerityIface::enable_progress(unsigned flags) noexcept {
  if (core_.is_off()) WrapIface::sync_am_handlers();
  {
    const AsyncGuard guard(core_.threads);
    uct_iface_progress_enable(lower(), flags);
    // progress() calls the lower transport's, so that need not stand in its worker's queue. It was
    // enabled all the same, as rc posts its first receives then; ud's own disabling would stop its
    // timer too.
    if (core_.threads.threaded) {
      core_.threads.has_async ? uct_base_iface_progress_disable(lower(), flags)
                              : uct_iface_progress_disable(lower(), flags);
    }
  }
  const auto run = [](void* arg) noexcept { return static_cast<VerityIface*>(arg)->progress(); };
  callback_.add(worker, flags, run, this);
}

// Only when nothing is left to do: acknowledgements and repairs are pending whoever is waiting.
void VerityIface::disable_progress(unsigned flags) noexcept {
  {
    const AsyncGuard guard(core_.threads);
    if (!links_.empty()) return;
    uct_iface_progress_disable(lower(), flags);
  }
  callback_.remove(flags);
}

// Not in the worker's progress: what is read on is kept. True: something was.
bool VerityIface::flush_control() noexcept {
  link::Hub& hub = *core_.hub;
  (void)hub.flush_control();
  if (links_.has_off_links() || !port_.take_reads_on()) return false;
  bool received = false;
  delivery_.without_upcalls([&] { received = progress_lower() != 0; });
  (void)hub.poll();
  (void)hub.flush_control();
  return received;
}

// Pending control frames go out before the sleep; unacknowledged frames set the timer. Neither
// makes the caller stay awake.
ucs_status_t VerityIface::arm(unsigned events) noexcept {
  constexpr uint64_t kRetry = 1'000'000;  // ns; what found the lower transport busy
  if (core_.is_off()) return uct_iface_event_arm(lower(), events);
  const AsyncGuard guard(core_.threads);
  link::Hub& hub = *core_.hub;
  const bool rested = !wakes_itself() || hub.is_idle();
  (void)flush_control();
  const uint64_t now = monotonic_ns();
  hub.tick(now);
  // What is acknowledged here on self announces itself in no other way: the upper layer may look
  // for it in progress (UCP's flush of a worker).
  const bool rests = wakes_itself() && hub.is_idle();
  completions_.keep();
  if (rests && !rested) return UCS_ERR_BUSY;
  if (!completions_.empty() || !delivery_.deferred().empty() || flusher_.must_run())
    return UCS_ERR_BUSY;
  if (onesided_ != nullptr && onesided_->must_poll()) return UCS_ERR_BUSY;
  const bool retries = onesided_ != nullptr && onesided_->must_retry();
  const bool soon =
      hub.has_pending_control() || links_.needs_attention() || !flusher_.empty() || retries;
  // A deadline that is left over from frames that have arrived is no reason to wake.
  wakeup_.set(soon ? now + kRetry : rests ? UINT64_MAX : hub.next_deadline(), now);
  check_time_ = true;
  if (!wakes_itself()) return uct_iface_event_arm(lower(), events);
  core_.check_kept = true;  // the next message may come from another thread
  return UCS_OK;
}

// --- while the worker is idle ---

// Of tcp all that is there, as no peer is answered before: see LinkPort::must_read_on(). But from
// one that goes on sending not for ever. True: something came.
bool VerityIface::read_all() noexcept {
  const unsigned most = core_.is_tcp ? 16 : 1;
  unsigned reads = 0;
  bool more = true;
  while (more && reads < most && delivery_.deferred().bytes() < core_.config.out_of_order_limit) {
    delivery_.without_upcalls([&] { more = progress_lower() != 0; });
    ++reads;
  }
  return reads > 1 || (reads == 1 && more);
}

// An interface that waits for nothing is read all the same: its peers may wait for what they
// requested. Not one with peers in mode off, for whose pending requests and completions the lower
// transport would call the upper layer.
bool VerityIface::serve_idle(uint64_t now, uint64_t idle) noexcept {
  const AsyncGuard guard(core_.threads);
  if (links_.has_off_links()) return false;
  link::Hub& hub = *core_.hub;
  const uint64_t before = hub.now();
  if (before == 0 || now - before < idle)
    return false;  // never progressed: perhaps about to go to another thread
  if (progressing_ != 0) return false;
  // A thread and a closing interface serve handshakes too.
  if (idle != 0 && !core_.threads.threaded && links_.empty()) return false;
  if (core_.upcalls != 0) return false;
  bool received = read_all();
  if (core_.threads.threaded) upkeep_.push_stored();
  if (onesided_ != nullptr) (void)onesided_->serve();
  (void)hub.poll();
  received = flush_control() || received;
  hub.tick(now);
  completions_.keep();
  // What now waits for the worker's progress was to wake it, if it sleeps.
  const bool reads = onesided_ != nullptr && onesided_->must_poll();
  const bool waits = !delivery_.deferred().empty() || !completions_.empty() ||
                     links_.needs_attention() || flusher_.must_run() || reads;
  if (waits && !wakes_itself()) wakeup_.wake();
  // And what was read here alone: UCP's flush of a worker looks for acknowledgements in progress.
  if (waits || received) wakeup_.wake_once();
  return true;
}

bool VerityIface::serve_digests() noexcept { return onesided_->serve(); }

}  // namespace verity::uct
