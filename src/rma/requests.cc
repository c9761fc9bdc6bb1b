// SPDX-License-Identifier: BSD-3-Clause
// What is sent: requests to the owner, and reads to the lower transport.
#include "rma/client.h"

namespace verity::rma {

using wire::RmaKind;
using wire::RmaStatus;

bool Client::send_request(Peer& peer, RmaKind kind, Ticket& ticket, uint8_t what,
                          const wire::RmaRequest& request) noexcept {
  uint8_t* out = port_.open_message(peer, sizeof(request));
  if (out == nullptr) return false;
  tickets_.renew(ticket);
  wire::RmaRequest message = request;
  const auto segment = static_cast<uint8_t>(config_.segment_log2 - wire::kMinSegmentLog2);
  message.header = {static_cast<uint8_t>(kind), what, segment, 0, ticket.id};
  std::memcpy(out, &message, sizeof(message));
  ticket.unanswered = true;
  port_.send_message(peer, sizeof(message));
  return true;
}

bool Client::request_hash(Chunk& chunk, uint8_t what) noexcept {
  const Read& read = *chunk.read;
  const uint32_t known = what == wire::kLeaves ? static_cast<uint32_t>(chunk.theirs) : 0;
  return send_request(*read.peer, RmaKind::kHash, chunk, what,
                      {{}, read.token, read.address + chunk.offset, chunk.length, known});
}

bool Client::send_request(Fetch& fetch) noexcept {
  if (fetch.is_atomic) return request_atomic(fetch);
  return send_request(*fetch.peer, RmaKind::kGet, fetch, 0,
                      {{}, fetch.token, fetch.address, fetch.length, 0});
}

// For fences it is a put too.
bool Client::request_atomic(Fetch& fetch) noexcept {
  uint8_t* out = port_.open_message(*fetch.peer, sizeof(wire::RmaAtomic));
  if (out == nullptr) return false;
  tickets_.renew(fetch);
  const auto what = static_cast<uint8_t>(static_cast<uint8_t>(fetch.op) | wire::kAtomicFetch);
  const auto log2 = static_cast<uint8_t>(fetch.length == sizeof(uint32_t) ? 2 : 3);
  const wire::RmaAtomic message{{static_cast<uint8_t>(RmaKind::kAtomic), what, log2, 0, fetch.id},
                                fetch.token,
                                fetch.address,
                                fetch.value,
                                fetch.compare};
  std::memcpy(out, &message, sizeof(message));
  fetch.unanswered = true;
  port_.send_message(*fetch.peer, sizeof(message));
  put_sent(*fetch.peer, {fetch.address, fetch.length});
  return true;
}

bool Client::request_in_turn(Fetch& fetch) noexcept {
  Peer& peer = *fetch.peer;
  if (peer.stuck == polls_ || !send_request(fetch)) {
    peer.stuck = polls_;
    return false;
  }
  sent_late(fetch);
  fetch.waits = false;
  --peer.waiting;
  move(fetch, idle_);
  return true;
}

// False: something is missing, the ticket stays where it is.
bool Client::step(Ticket& ticket) noexcept {
  if (!ticket.is_chunk) return request_in_turn(fetch_of(ticket));
  Chunk& chunk = chunk_of(ticket);
  switch (chunk.stage) {
    case Stage::kTransfer: return transfer(chunk);
    case Stage::kLeaves:
      chunk.descent->expect_digests();
      if (!request_hash(chunk, wire::kLeaves)) return false;
      move(chunk, idle_);
      return true;
    case Stage::kReread: return reread(chunk);
    case Stage::kSnapshot: return request_bytes(chunk);
  }
  return false;
}

bool Client::transfer(Chunk& chunk) noexcept {
  if (!chunk.requested) chunk.requested = request_hash(chunk, wire::kRoot);
  if (!chunk.requested) return false;
  const bool digest_first = chunk.answered;
  const Started started = port_.read(chunk, chunk.offset, chunk.length);
  chunk.lower_busy = started == Started::kBusy;
  if (chunk.lower_busy) return false;
  chunk.posted = true;
  chunk.digest_first = digest_first;
  if (started == Started::kFailed) {
    finish(chunk, RmaStatus::kOk, true);
    return true;
  }
  chunk.landed = started == Started::kDone;
  chunk.flights += !chunk.landed;
  move(chunk, chunk.landed ? hashing_ : idle_);
  // Read by this very call (cma): hashed while it is in the cache. Not behind other chunks, whose
  // Reads may end then: the caller may be looking through their list.
  if (chunk.landed && hashing_.next == &chunk.node) (void)hash_slice();
  return true;
}

// Of a ticket in todo_.
bool Client::can_step(const Ticket& ticket) const noexcept {
  if (!ticket.is_chunk) return port_.has_room(*static_cast<const Fetch&>(ticket).peer);
  const auto& chunk = static_cast<const Chunk&>(ticket);
  const bool reads =
      chunk.stage == Stage::kReread || (chunk.stage == Stage::kTransfer && chunk.requested);
  return reads ? !chunk.lower_busy : port_.has_room(*chunk.read->peer);
}

bool Client::must_poll() const noexcept {
  if (hashing_.linked()) return true;
  for (util::ListNode* node = todo_.next; node != &todo_; node = node->next) {
    if (can_step(*VERITY_CONTAINER_OF(node, Ticket, node))) return true;
  }
  return false;
}

bool Client::must_retry() const noexcept {
  for (util::ListNode* node = todo_.next; node != &todo_; node = node->next) {
    const Ticket& ticket = *VERITY_CONTAINER_OF(node, Ticket, node);
    if (ticket.is_chunk && static_cast<const Chunk&>(ticket).lower_busy) return true;
  }
  return false;
}

unsigned Client::poll() noexcept {
  ++polls_;
  unsigned count = hash_slice();
  for (util::ListNode* node = todo_.next; node != &todo_;) {
    Ticket& ticket = *VERITY_CONTAINER_OF(node, Ticket, node);
    node = node->next;
    count += step(ticket);
  }
  for (util::ListNode* node = waiting_.next; node != &waiting_;) {
    Read& read = *VERITY_CONTAINER_OF(node, Read, node);
    node = node->next;
    count += start_chunks(read);
  }
  return count;
}

}  // namespace verity::rma
