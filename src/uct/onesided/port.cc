// SPDX-License-Identifier: BSD-3-Clause
//
// OneSided as rma::Port: messages, lower reads, and how operations end.
#include <algorithm>

#include "uct/idle/thread_rules.h"
#include "uct/links/fault_report.h"
#include "uct/links/link_set.h"
#include "uct/onesided/onesided.h"
#include "uct/process/fault_guard.h"
#include "uct/process/warnings.h"

namespace verity::uct {

namespace {

UctLink& link_of(rma::Peer& peer) noexcept { return static_cast<UctLink&>(peer); }

// In rma::Chunk::port: what the lower transport completes when the last of a chunk's reads ended.
struct LowerRead {
  uct_completion_t comp;
  rma::Chunk* chunk;
  OneSided* self;
};
static_assert(sizeof(LowerRead) <= sizeof(rma::Chunk::port));

// The owner's word first, then the link's, the lower transport's (`error`), and last our own upper
// layer's.
ucs_status_t status_of(const UctLink& l, wire::RmaStatus status, bool broken,
                       ucs_status_t error) noexcept {
  switch (status) {
    case wire::RmaStatus::kOk: break;
    case wire::RmaStatus::kRefused:
    case wire::RmaStatus::kRevoked: return UCS_ERR_REJECTED;
    case wire::RmaStatus::kUnreadable: return UCS_ERR_IO_ERROR;
    case wire::RmaStatus::kBusy: return UCS_ERR_NO_MEMORY;
  }
  if (!broken) return UCS_OK;
  if (l.failed()) return l.failure;
  if (l.peer_closed()) return UCS_ERR_CONNECTION_RESET;
  return error != UCS_OK ? error : UCS_ERR_CANCELED;
}

}  // namespace

// Not inside a message of our own, which the self transport delivers before it is known as sent.
uint8_t* OneSided::open_message(rma::Peer& peer, size_t length) noexcept {
  UctLink& l = link_of(peer);
  if (sending_ || l.is_lost()) return nullptr;
  open_ = core_.hub->sender.reserve_ahead(l, wire::Class::kSync, sender_.rma_space(length));
  return open_ != nullptr ? open_->payload() : nullptr;
}

uint8_t* OneSided::open_refusal(rma::Peer& peer, size_t length) noexcept {
  UctLink& l = link_of(peer);
  if (l.is_lost()) return nullptr;
  link::Sender::withhold_ack(l);
  if (sending_) return nullptr;
  open_ = core_.hub->sender.reserve_beyond(l, sender_.rma_space(length));
  return open_ != nullptr ? open_->payload() : nullptr;
}

void OneSided::send_message(rma::Peer& peer, size_t length) noexcept {
  const bool outer = sending_;
  sending_ = true;
  sender_.send_own(link_of(peer), open_, length, wire::kRmaId);
  sending_ = outer;
}

// A blocked link is unblocked by an acknowledgement, whose coming wakes the process, as its own
// timer does; one that waits for its refusal, by the refusal.
bool OneSided::has_room(const rma::Peer& peer) const noexcept {
  const auto& l = static_cast<const UctLink&>(peer);
  const bool withholds = l.withheld.on && !l.withheld.sent;
  return !l.failed() && !l.peer_closed() &&
         (withholds || core_.hub->sender.can_send(l, wire::Class::kSync));
}

size_t OneSided::max_message() const noexcept { return sender_.limits().max_rma; }

uint32_t OneSided::mark(rma::Peer& peer) noexcept { return link_of(peer).tx[0].next_psn(); }

// Not while frames of the peer's are missing: the refusal of what it has acknowledged may be one of
// them, or wait behind them.
bool OneSided::has_taken(rma::Peer& peer, uint32_t mark) noexcept {
  const UctLink& l = link_of(peer);
  const link::SendWindow& tx = l.tx[0];
  const uint32_t ahead =
      mark - tx.una();  // a mark far behind may seem to be ahead of all that was ever sent
  const bool is_acknowledged = ahead == 0 || ahead > tx.frames();
  return l.failed() || (is_acknowledged && (l.peer_closed() || l.rx[0].complete()));
}

void OneSided::peer_closed(UctLink& l) noexcept {
  if (l.has_put && !(client_.puts_done(l) && l.rx[0].complete())) ++l.writes_lost;
}

bool OneSided::is_before_fence() const noexcept { return core_.group.is_before_fence(); }

// A link of any interface of the worker, which the caller guards (WorkerGroup::Guard): a probe
// names the interface that the link belongs to.
void OneSided::request_ack(rma::Peer& peer) noexcept {
  UctLink& l = link_of(peer);
  l.set->core().hub->sender.request_ack(l);
}

rma::Started OneSided::read(rma::Chunk& chunk, uint64_t offset, uint64_t length) noexcept {
  const rma::Read& read = *chunk.read;
  uct_iov_t iov[rma::kMaxPieces];
  size_t count = 0;
  uint64_t skip = offset;
  uint64_t left = length;
  for (uint32_t i = 0; i < read.count && left != 0; ++i) {
    const util::Piece& piece = read.pieces[i];
    if (skip >= piece.length) {
      skip -= piece.length;
      continue;
    }
    const size_t here = std::min<uint64_t>(piece.length - skip, left);
    iov[count++] = {static_cast<char*>(const_cast<void*>(piece.data)) + skip, here, read.handles[i],
                    0, 1};
    left -= here;
    skip = 0;
  }
  auto& lower = *reinterpret_cast<LowerRead*>(chunk.port);
  if (chunk.flights == 0) {
    lower = {{lower_done, 1, UCS_OK}, &chunk, this};
  } else {
    ++lower.comp.count;
  }
  const ucs_status_t status = uct_ep_get_zcopy(static_cast<uct_ep_h>(read.path), iov, count,
                                               read.address + offset, read.key, &lower.comp);
  if (status == UCS_INPROGRESS) return rma::Started::kUnderWay;
  if (chunk.flights != 0) --lower.comp.count;
  if (status == UCS_OK) return rma::Started::kDone;
  if (status == UCS_ERR_NO_RESOURCE) return rma::Started::kBusy;
  chunk.read->error = status;
  return rma::Started::kFailed;
}

void OneSided::lower_done(uct_completion_t* comp) noexcept {
  const auto& lower = *reinterpret_cast<LowerRead*>(comp);
  rma::Chunk& chunk = *lower.chunk;
  OneSided& self = *lower.self;
  const bool good = comp->status == UCS_OK;
  const AsyncGuard guard(self.core_.threads);
  self.note_work();
  if (!good && chunk.read->error == UCS_OK) chunk.read->error = comp->status;
  for (uint32_t n = chunk.flights; n != 0; --n) self.client_.landed(chunk, good);
}

bool OneSided::access(uint64_t address, size_t length, void (*use)(void*), void* arg) noexcept {
  return guarded_access(address, length, use, arg);
}

template <typename Operation>
void OneSided::ended(UctLink& l, const Operation& operation, ucs_status_t status) noexcept {
  note_work();
  if (!l.pending.empty()) links().request_attention(l);
  if (room_wanted_) {
    room_wanted_ = false;
    links().wake_pending();
  }
  auto* owner = static_cast<ReadOwner*>(operation.owner);
  if (operation.upper == nullptr) {
    owner->end(operation.generation);
    return;
  }
  const ucs_status_t kept = guarded([&] {
    auto* comp = static_cast<uct_completion_t*>(operation.upper);
    done_.push_back({owner, operation.generation, comp, status});
    return UCS_OK;
  });
  if (kept != UCS_OK) VERITY_UCX_FATAL("ucx-verity: out of memory for a completion");
}

void OneSided::finished(rma::Read& read) noexcept {
  UctLink& l = link_of(*read.peer);
  ended(l, read, status_of(l, read.status, read.broken, static_cast<ucs_status_t>(read.error)));
  client_.release(read);
}

void OneSided::fetched(rma::Fetch& fetch, const uint8_t* data, size_t length) noexcept {
  UctLink& l = link_of(*fetch.peer);
  if (data != nullptr)
    reinterpret_cast<uct_unpack_callback_t>(fetch.unpack)(fetch.arg, data, length);
  ended(l, fetch, status_of(l, fetch.status, fetch.broken, UCS_OK));
}

// A program that unmaps memory with puts in flight loses them on raw transports too (shared memory
// that the owner has given up is written, and never read). So the link lives; the next flush of the
// puts fails.
void OneSided::refused(rma::Peer& peer, bool revoked) noexcept {
  UctLink& l = link_of(peer);
  if (revoked) {
    ucs_diag(
        "ucx-verity: v%s: a remote write came after the peer's program had deregistered the "
        "memory: not written",
        core_.lower_name());
    ++l.writes_lost;
    return;
  }
  ucs_error(
      "ucx-verity: v%s: the peer refused a remote write: the memory is not, or no longer, "
      "registered there, or unmapped",
      core_.lower_name());
  ++l.writes_lost;
  links().give_up(l, UCS_ERR_REJECTED);
}

void OneSided::mismatched(const rma::Read& read, uint64_t offset, uint64_t length, const char* what,
                          bool by_program) noexcept {
  const UctLink& l = link_of(*read.peer);
  const bool reported_there = l.trailed_ids != 0;  // see source_changed()
  warnings().read_mismatched(core_.lower_name(), l.peer_uid, read.address + offset, length, what,
                             by_program && !reported_there);
}

// With interposers on both sides the owner reports it, in the words of its program; else the reader
// has done so.
void OneSided::source_changed(rma::Peer& peer, uint64_t address, uint32_t length) noexcept {
  const UctLink& l = link_of(peer);
  if (l.trailed_ids == 0) return;
  warnings().source_changed(core_.lower_name(), l.peer_uid, reinterpret_cast<const void*>(address),
                            length);
}

void OneSided::diagnosed(const rma::Read& read, const rma::ReadFault& fault) noexcept {
  report_fault(core_, static_cast<const UctLink*>(read.peer), [&](health::FaultRecord& record) {
    record.operation = health::Operation::kRead;
    record.kind = fault.kind;
    record.length = fault.length;
    record.offset = fault.offset;
    record.attempts = fault.attempts;
    if (fault.syndrome != nullptr) record.syndrome = *fault.syndrome;
  });
}

}  // namespace verity::uct
