// SPDX-License-Identifier: BSD-3-Clause
#include "rma/client.h"

#include <algorithm>
#include <utility>

namespace verity::rma {

using wire::RmaStatus;

Client::Client(Port& port, health::Counters& counters, const ClientConfig& config)
    : port_(port), counters_(counters), config_(config) {}

Client::~Client() {
  for (Ticket* ticket : tickets_.all()) {
    if (ticket == nullptr) continue;
    ticket->is_chunk ? delete &chunk_of(*ticket) : delete &fetch_of(*ticket);
  }
  for (util::ListNode* list : {&waiting_, &started_}) {
    while (list->linked()) delete VERITY_CONTAINER_OF(list->next, Read, node);
  }
}

void Client::move(Ticket& ticket, util::ListNode& list) noexcept {
  ticket.node.unlink();
  list.push_back(ticket.node);
}

void Client::to_do(Chunk& chunk, Stage stage) noexcept {
  chunk.stage = stage;
  chunk.lower_busy = false;
  move(chunk, todo_);
}

// --- operations
// ----------------------------------------------------------------------------------------------------------------

Read* Client::make_read() noexcept {
  return reads_open_ < kMaxReads ? spare_reads_.take() : nullptr;
}

void Client::release(Read& read) noexcept { spare_reads_.give(&read); }

Fetch* Client::make_fetch(const Peer& peer) noexcept {
  return may_fetch(peer) ? spare_fetches_.take() : nullptr;
}

void Client::start(Read& read) noexcept {
  ++reads_open_;
  opened(*read.peer, &read.epoch);
  wait_for_writes(read);
  waiting_.push_back(read.node);
  if (read.length == 0) return check_end(read);
  (void)start_chunks(read);
}

void Client::start(Fetch& fetch) noexcept {
  ++fetches_open_;
  ++fetch.peer->fetches;
  fetch.peer->fetching += fetch.length;
  opened(*fetch.peer, &fetch.epoch);
  if (Order* order = fetch.peer->order; order != nullptr) {
    order->fetches.push_back(static_cast<FetchInOrder&>(fetch));
    ++order->fetches_open;
  }
  tickets_.enter(fetch);
  fetch.waits = fetch.peer->waiting != 0 || !send_request(fetch);
  fetch.peer->waiting = static_cast<uint16_t>(fetch.peer->waiting + fetch.waits);
  move(fetch, fetch.waits ? todo_ : idle_);
}

unsigned Client::start_chunks(Read& read) noexcept {
  unsigned count = 0;
  if (awaits_fenced_puts(*read.peer)) return 0;
  if (read.next == 0 && awaits_unsent_writes(read)) return 0;
  const auto goes_on = [&] {
    return read.next < read.length && !read.broken && read.status == RmaStatus::kOk;
  };
  ++read.chunks;  // a chunk that fails at once must not end the read under our hands
  while (goes_on() && read.chunks <= kChunksOfRead && start_chunk(read)) ++count;
  --read.chunks;
  if (read.next == read.length && read.node.linked() && !read.started) {
    read.started = true;
    read.node.unlink();
    started_.push_back(read.node);
  }
  check_end(read);
  return count;
}

// Chunks wait for the progress of their peer. One that makes none gets half of all, two a third
// each: there is always something left for one more.
bool Client::start_chunk(Read& read) noexcept {
  if (read.peer->chunks >= kMaxChunks - chunks_open_ || !may_request(*read.peer)) return false;
  Chunk* chunk = spare_chunks_.take();
  if (chunk == nullptr) return false;
  const uint64_t left = read.length - read.next;
  const uint64_t most = std::min(read.most, uint64_t{wire::kMaxHashLeaves} << config_.segment_log2);
  uint64_t length = std::min({left, most, std::max(config_.chunk, read.least)});
  // What the lower transport does not read, because it is too short, goes with what comes before,
  // or takes something from it.
  if (left > length && left - length < read.least)
    length = left <= most ? left : left - std::min(left - 1, read.least);
  chunk->is_chunk = true;
  chunk->read = &read;
  chunk->offset = read.next;
  chunk->length = static_cast<uint32_t>(length);
  ++chunks_open_;
  ++read.peer->chunks;
  ++read.chunks;
  read.next += length;
  tickets_.enter(*chunk);
  move(*chunk, todo_);
  (void)step(*chunk);
  return true;
}

// --- ends
// ----------------------------------------------------------------------------------------------------------------------

// The peer answers later, and keeps the request until then: it counts with the others.
void Client::leave_unclaimed(Peer& peer, Ticket& ticket, uint32_t bytes) noexcept {
  if (!std::exchange(ticket.unanswered, false)) return;
  ++peer.unclaimed;
  peer.unclaimed_bytes += bytes;
}

// Of what may come in several messages, leaves or bytes, the first one stands for all.
void Client::claim(Peer& peer, const uint8_t* message, size_t length) noexcept {
  static_assert(sizeof(wire::RmaLeaves) == sizeof(wire::RmaPart) && wire::kLeaves == wire::kPart);
  wire::RmaPart part{};
  const bool is_later_part =
      message[2] == wire::kPart && wire::read_message(message, length, &part) && part.first != 0;
  if (peer.unclaimed == 0 || is_later_part) return;
  const bool is_bytes = message[0] == static_cast<uint8_t>(wire::RmaKind::kGot);
  const auto bytes = static_cast<uint32_t>(is_bytes ? length - sizeof(wire::RmaHeader) : 0);
  peer.unclaimed_bytes -= std::min(peer.unclaimed_bytes, bytes);
  if (--peer.unclaimed == 0) peer.unclaimed_bytes = 0;
}

void Client::finish(Chunk& chunk, RmaStatus status, bool broken) noexcept {
  Read& read = *chunk.read;
  leave_unclaimed(*read.peer, chunk, chunk.stage == Stage::kSnapshot ? kMaxGetBytes : 0);
  if (status == RmaStatus::kOk && !broken) {
    read.done += chunk.length;
  } else if (read.status == RmaStatus::kOk) {
    read.status = status;
  }
  read.broken = read.broken || broken;
  if (chunk.flights == 0) return retire(chunk);
  chunk.dead = true;
  tickets_.renew(chunk);
  move(chunk, idle_);
}

void Client::retire(Chunk& chunk) noexcept {
  Read& read = *chunk.read;
  tickets_.leave(chunk);
  --chunks_open_;
  --read.peer->chunks;
  --read.chunks;
  spare_chunks_.give(&chunk);
  check_end(read);
}

void Client::check_end(Read& read) noexcept {
  const bool over = read.done == read.length || read.broken || read.status != RmaStatus::kOk;
  if (read.chunks != 0 || !over) return;
  read.node.unlink();
  read.in_order.unlink();
  --reads_open_;
  closed(*read.peer, read.epoch);
  port_.finished(read);
}

void Client::end(Fetch& fetch, RmaStatus status, const uint8_t* bytes, size_t length) noexcept {
  tickets_.leave(fetch);
  --fetches_open_;
  --fetch.peer->fetches;
  fetch.peer->fetching -= fetch.length;
  fetch.peer->waiting = static_cast<uint16_t>(fetch.peer->waiting - fetch.waits);
  leave_unclaimed(*fetch.peer, fetch, fetch.length);
  fetch.status = status;
  closed(*fetch.peer, fetch.epoch);
  if (FetchInOrder& in_order = fetch; in_order.linked()) {
    in_order.unlink();
    --fetch.peer->order->fetches_open;
  }
  if (status == RmaStatus::kOk && !fetch.broken) {
    counts(*fetch.peer).get_bytes_received += length;
    port_.fetched(fetch, bytes, length);
  } else {
    port_.fetched(fetch, nullptr, 0);
  }
  spare_fetches_.give(&fetch);
}

void Client::abort_if(const Peer* peer, const void* owner) noexcept {
  const auto meant = [&](const Peer* p, const void* o) {
    return (peer == nullptr || p == peer) && (owner == nullptr || o == owner);
  };
  for (Ticket* ticket : tickets_.all()) {
    if (ticket == nullptr) continue;
    if (ticket->is_chunk) {
      Chunk& chunk = chunk_of(*ticket);
      if (!chunk.dead && meant(chunk.read->peer, chunk.read->owner))
        finish(chunk, RmaStatus::kOk, true);
    } else if (Fetch& fetch = fetch_of(*ticket); meant(fetch.peer, fetch.owner)) {
      fetch.broken = true;
      end(fetch, RmaStatus::kOk, nullptr, 0);
    }
  }
  // What is left has no chunk, or only such as the lower transport still reads for.
  for (util::ListNode* node = waiting_.next; node != &waiting_;) {
    Read& read = *VERITY_CONTAINER_OF(node, Read, node);
    node = node->next;
    if (!meant(read.peer, read.owner)) continue;
    read.broken = true;
    check_end(read);
  }
}

unsigned Client::disown(const void* owner, void* heir) noexcept {
  unsigned count = 0;
  for (util::ListNode* list : {&waiting_, &started_}) {
    for (util::ListNode* node = list->next; node != list; node = node->next) {
      Read& read = *VERITY_CONTAINER_OF(node, Read, node);
      if (read.owner != owner) continue;
      read.owner = heir;
      read.generation = 0;
      read.upper = nullptr;
      ++count;
    }
  }
  return count;
}

const Read* Client::any_read(const void* heir) const noexcept {
  for (const util::ListNode* list : {&waiting_, &started_}) {
    for (util::ListNode* node = list->next; node != list; node = node->next) {
      const Read& read = *VERITY_CONTAINER_OF(node, Read, node);
      if (read.owner != heir) return &read;
    }
  }
  return nullptr;
}

}  // namespace verity::rma
