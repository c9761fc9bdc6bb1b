// SPDX-License-Identifier: BSD-3-Clause
#include "uct/links/patience.h"

#include "uct/process/clock.h"

namespace verity::uct {

namespace {

// ns of silence that acknowledgements are waited for: of a peer that may compute, and of one that
// left.
constexpr uint64_t kPatience = 3'000'000'000;
constexpr uint64_t kLeftPatience = 500'000'000;
// Before it goes on without them it sends everything that many times again, so often.
constexpr uint8_t kCopies = 3;
constexpr uint64_t kCopyEvery = 700'000'000;  // ns

}  // namespace

// A flush is often a process's last progress for long, before a barrier that another library makes
// (MPICH's MPI_Finalize): what was damaged last must be repaired now. But a peer that went there
// first does not answer, and its last acknowledgement may be what was lost; it said that it leaves.
// One that computes finds the frames sent again when it comes back, and need not be probed.
bool is_settled(UctLink& l, const link::Psns& psn) noexcept {
  if (!l.in_flight_before(psn) || l.peer_closed()) {
    l.flush_since = 0;
    return true;
  }
  link::Hub& hub = *l.set->core().hub;
  hub.sender.request_ack(l);
  const uint64_t now = monotonic_ns();
  const uint32_t mark = l.tx[0].una() + l.tx[1].una() + l.tx[0].next_psn() + l.tx[1].next_psn();
  if (l.flush_since == 0 || mark != l.flush_mark) {
    l.flush_mark = mark;
    l.flush_since = now;
    l.flush_copies = 0;
  }
  const uint64_t silence = now - l.flush_since;
  if (l.peer_detached) return silence >= kLeftPatience;
  if (l.flush_copies < kCopies && silence >= (l.flush_copies + 1) * kCopyEvery) {
    ++l.flush_copies;
    hub.retransmitter.retransmit_all(l);
  }
  return silence >= (link::Retransmitter::is_pending(l) ? kBusyPatience : kPatience);
}

bool is_detached_for_good(UctLink& l) noexcept {
  if (!l.peer_detached || !is_settled(l, l.next_psns())) return false;
  return l.flush_since == 0 || monotonic_ns() - l.flush_since >= kBusyPatience;
}

}  // namespace verity::uct
