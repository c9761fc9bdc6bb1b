// SPDX-License-Identifier: BSD-3-Clause
#include "rma/client.h"

#include <algorithm>
#include <new>

#include "merkle/tree.h"

namespace verity::rma {

using wire::RmaKind;
using wire::RmaStatus;

namespace {

constexpr unsigned kIndexBits = 10;
constexpr uint32_t kIndexMask = (1u << kIndexBits) - 1;

Chunk& chunk_of(Ticket& ticket) noexcept { return static_cast<Chunk&>(ticket); }
Fetch& fetch_of(Ticket& ticket) noexcept { return static_cast<Fetch&>(ticket); }

// Takes a spare object, or makes one. nullptr: no memory.
template <typename T>
T* take(std::vector<std::unique_ptr<T>>& spare) noexcept {
  if (spare.empty()) return new (std::nothrow) T;
  T* object = spare.back().release();
  spare.pop_back();
  return object;
}

// The vector never grows here: there was room for `most` from the start.
template <typename T>
void give(std::vector<std::unique_ptr<T>>& spare, T* object) noexcept {
  if (spare.size() < spare.capacity()) {
    std::destroy_at(object);
    spare.emplace_back(std::construct_at(object));
  } else {
    delete object;
  }
}

}  // namespace

Client::Client(Port& port, health::Counters& counters, const ClientConfig& config)
    : port_(port), counters_(counters), config_(config) {
  constexpr size_t kSpare = 64;
  spare_reads_.reserve(kSpare);
  spare_chunks_.reserve(kMaxChunks);
  spare_fetches_.reserve(kSpare);
  table_.resize(kMaxChunks + kMaxFetches);
  free_.reserve(table_.size());
  for (auto i = static_cast<uint32_t>(table_.size()); i != 0; --i) free_.push_back(i - 1);
}

Client::~Client() {
  for (Ticket* ticket : table_) {
    if (ticket == nullptr) continue;
    ticket->is_chunk ? delete &chunk_of(*ticket) : delete &fetch_of(*ticket);
  }
  for (util::ListNode* list : {&waiting_, &started_}) {
    while (list->linked()) delete VERITY_CONTAINER_OF(list->next, Read, node);
  }
}

// --- tickets -------------------------------------------------------------------------------------------------------------------

// There is always a place: the table is as large as the limits together.
void Client::enter(Ticket& ticket) noexcept {
  const uint32_t index = free_.back();
  free_.pop_back();
  table_[index] = &ticket;
  ticket.id = (ticket.id & ~kIndexMask) | index;
  renew(ticket);
}

void Client::renew(Ticket& ticket) noexcept {
  generation_ += kIndexMask + 1;
  ticket.id = generation_ | (ticket.id & kIndexMask);
}

void Client::leave(Ticket& ticket) noexcept {
  const uint32_t index = ticket.id & kIndexMask;
  table_[index] = nullptr;
  free_.push_back(index);
  ticket.node.unlink();
}

Ticket* Client::find(uint32_t id) const noexcept {
  const uint32_t index = id & kIndexMask;
  Ticket* ticket = index < table_.size() ? table_[index] : nullptr;
  return ticket != nullptr && ticket->id == id ? ticket : nullptr;
}

void Client::move(Ticket& ticket, util::ListNode& list) noexcept {
  ticket.node.unlink();
  list.push_back(ticket.node);
}

void Client::to_do(Chunk& chunk, Stage stage) noexcept {
  chunk.stage = stage;
  chunk.refused = false;
  move(chunk, todo_);
}

// --- operations ----------------------------------------------------------------------------------------------------------------

Read* Client::make_read() noexcept { return reads_open_ < kMaxReads ? take(spare_reads_) : nullptr; }

void Client::release(Read& read) noexcept { give(spare_reads_, &read); }

Fetch* Client::make_fetch(const Peer& peer) noexcept { return may_fetch(peer) ? take(spare_fetches_) : nullptr; }

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
  enter(fetch);
  fetch.waits = fetch.peer->waiting != 0 || !ask(fetch);
  fetch.peer->waiting = static_cast<uint16_t>(fetch.peer->waiting + fetch.waits);
  move(fetch, fetch.waits ? todo_ : idle_);
}

unsigned Client::start_chunks(Read& read) noexcept {
  unsigned count = 0;
  if (gated(*read.peer)) return 0;
  const auto goes_on = [&] { return read.next < read.length && !read.broken && read.status == RmaStatus::kOk; };
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

// Chunks wait for the progress of their peer. One that makes none gets half of all, two a third each: there is always something left
// for one more.
bool Client::start_chunk(Read& read) noexcept {
  if (read.peer->chunks >= kMaxChunks - chunks_open_) return false;
  Chunk* chunk = take(spare_chunks_);
  if (chunk == nullptr) return false;
  const uint64_t left = read.length - read.next;
  const uint64_t most = std::min(read.most, uint64_t{wire::kMaxHashLeaves} << config_.segment_log2);
  uint64_t length = std::min({left, most, std::max(config_.chunk, read.least)});
  // What the lower transport does not read, because it is too short, goes with what comes before, or takes something from it.
  if (left > length && left - length < read.least) length = left <= most ? left : left - std::min(left - 1, read.least);
  chunk->is_chunk = true;
  chunk->read = &read;
  chunk->offset = read.next;
  chunk->length = static_cast<uint32_t>(length);
  ++chunks_open_;
  ++read.peer->chunks;
  ++read.chunks;
  read.next += length;
  enter(*chunk);
  move(*chunk, todo_);
  (void)step(*chunk);
  return true;
}

// --- what is sent --------------------------------------------------------------------------------------------------------------

bool Client::ask(Peer& peer, RmaKind kind, Ticket& ticket, uint8_t what, const wire::RmaRequest& request) noexcept {
  uint8_t* out = port_.open_message(peer, sizeof(request));
  if (out == nullptr) return false;
  renew(ticket);
  wire::RmaRequest message = request;
  const auto segment = static_cast<uint8_t>(config_.segment_log2 - wire::kMinSegmentLog2);
  message.header = {static_cast<uint8_t>(kind), what, segment, 0, ticket.id};
  std::memcpy(out, &message, sizeof(message));
  port_.send_message(peer, sizeof(message));
  return true;
}

bool Client::ask_hash(Chunk& chunk, uint8_t what) noexcept {
  const Read& read = *chunk.read;
  const uint32_t known = what == wire::kLeaves ? static_cast<uint32_t>(chunk.theirs) : 0;
  return ask(*read.peer, RmaKind::kHash, chunk, what, {{}, read.token, read.address + chunk.offset, chunk.length, known});
}

bool Client::ask(Fetch& fetch) noexcept {
  if (fetch.is_atomic) return ask_atomic(fetch);
  return ask(*fetch.peer, RmaKind::kGet, fetch, 0, {{}, fetch.token, fetch.address, fetch.length, 0});
}

// For fences it is a put too.
bool Client::ask_atomic(Fetch& fetch) noexcept {
  uint8_t* out = port_.open_message(*fetch.peer, sizeof(wire::RmaAtomic));
  if (out == nullptr) return false;
  renew(fetch);
  const auto what = static_cast<uint8_t>(static_cast<uint8_t>(fetch.op) | wire::kAtomicFetch);
  const auto log2 = static_cast<uint8_t>(fetch.length == sizeof(uint32_t) ? 2 : 3);
  const wire::RmaAtomic message{
      {static_cast<uint8_t>(RmaKind::kAtomic), what, log2, 0, fetch.id}, fetch.token, fetch.address, fetch.value, fetch.compare};
  std::memcpy(out, &message, sizeof(message));
  port_.send_message(*fetch.peer, sizeof(message));
  put_sent(*fetch.peer, {fetch.address, fetch.length});
  return true;
}

bool Client::ask_in_turn(Fetch& fetch) noexcept {
  Peer& peer = *fetch.peer;
  if (peer.stuck == polls_ || !ask(fetch)) {
    peer.stuck = polls_;
    return false;
  }
  fetch.waits = false;
  --peer.waiting;
  move(fetch, idle_);
  return true;
}

// False: something is missing, the ticket stays where it is.
bool Client::step(Ticket& ticket) noexcept {
  if (!ticket.is_chunk) return ask_in_turn(fetch_of(ticket));
  Chunk& chunk = chunk_of(ticket);
  switch (chunk.stage) {
    case Stage::kTransfer: return transfer(chunk);
    case Stage::kLeaves:
      chunk.descent->heard = 0;
      if (!ask_hash(chunk, wire::kLeaves)) return false;
      move(chunk, idle_);
      return true;
    case Stage::kReread: return reread(chunk);
    case Stage::kSnapshot: return ask_bytes(chunk);
  }
  return false;
}

bool Client::transfer(Chunk& chunk) noexcept {
  if (!chunk.asked) chunk.asked = ask_hash(chunk, wire::kRoot);
  if (!chunk.asked) return false;
  const bool digest_first = chunk.answered;
  const Started started = port_.read(chunk, chunk.offset, chunk.length);
  chunk.refused = started == Started::kBusy;
  if (chunk.refused) return false;
  chunk.posted = true;
  chunk.digest_first = digest_first;
  if (started == Started::kFailed) {
    finish(chunk, RmaStatus::kOk, true);
    return true;
  }
  chunk.landed = started == Started::kDone;
  chunk.flights += !chunk.landed;
  move(chunk, chunk.landed ? hashing_ : idle_);
  return true;
}

// Of a ticket in todo_.
bool Client::can_step(const Ticket& ticket) const noexcept {
  if (!ticket.is_chunk) return port_.has_room(*static_cast<const Fetch&>(ticket).peer);
  const auto& chunk = static_cast<const Chunk&>(ticket);
  const bool reads = chunk.stage == Stage::kReread || (chunk.stage == Stage::kTransfer && chunk.asked);
  return reads ? !chunk.refused : port_.has_room(*chunk.read->peer);
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
    if (ticket.is_chunk && static_cast<const Chunk&>(ticket).refused) return true;
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

// --- what comes back -----------------------------------------------------------------------------------------------------------

void Client::landed(Chunk& chunk, bool good) noexcept {
  --chunk.flights;
  if (chunk.dead) {
    if (chunk.flights == 0) retire(chunk);
    return;
  }
  if (!good) return finish(chunk, RmaStatus::kOk, true);
  if (chunk.flights != 0 || !chunk.posted) return;
  if (chunk.stage == Stage::kReread) return compare_again(chunk);
  chunk.landed = true;
  move(chunk, hashing_);
}

void Client::answer(Peer& peer, const uint8_t* message, size_t length) noexcept {
  wire::RmaHeader header;
  if (!wire::read_message(message, length, &header)) return;
  if (header.kind == static_cast<uint8_t>(RmaKind::kRefused)) {
    return port_.refused(peer, header.what == static_cast<uint8_t>(RmaStatus::kRevoked));
  }
  Ticket* ticket = find(header.id);
  if (ticket == nullptr) return;
  const auto status = static_cast<RmaStatus>(std::min<uint8_t>(header.what, static_cast<uint8_t>(RmaStatus::kBusy)));
  const uint8_t* body = message + sizeof(header);
  const size_t rest = length - sizeof(header);
  const bool is_get = header.kind == static_cast<uint8_t>(RmaKind::kGot);
  if (!is_get && header.kind != static_cast<uint8_t>(RmaKind::kHashed)) return;
  if (!ticket->is_chunk) {
    Fetch& fetch = fetch_of(*ticket);
    if (fetch.peer != &peer || !is_get) return;
    const bool whole = status != RmaStatus::kOk || rest == fetch.length;
    return end(fetch, whole ? status : RmaStatus::kRefused, body, rest);
  }
  Chunk& chunk = chunk_of(*ticket);
  if (chunk.read->peer != &peer || chunk.dead || is_get != (chunk.stage == Stage::kSnapshot)) return;
  if (status != RmaStatus::kOk) return finish(chunk, status);
  if (is_get) return take_bytes(chunk, body, rest);
  if (chunk.stage == Stage::kLeaves) return hear_leaves(chunk, message, length);
  if (chunk.stage != Stage::kTransfer || rest != sizeof(chunk.theirs) || chunk.answered) return;
  std::memcpy(&chunk.theirs, body, rest);
  chunk.answered = true;
  if (chunk.landed && chunk.hashed == geometry(chunk).leaf_count()) judge(chunk);
}

// --- hashing -------------------------------------------------------------------------------------------------------------------

merkle::Geometry Client::geometry(const Chunk& chunk) const noexcept { return {chunk.length, 1u << config_.segment_log2}; }

merkle::Digest Client::leaf(const Chunk& chunk, uint32_t i) const noexcept {
  const merkle::Geometry g = geometry(chunk);
  const Read& read = *chunk.read;
  return merkle::hash_range(util::Pieces(read.pieces, read.count), chunk.offset + g.leaf_offset(i), g.leaf_length(i));
}

unsigned Client::hash_slice() noexcept {
  unsigned count = 0;
  size_t budget = kSlice;
  while (hashing_.linked() && budget != 0) {
    Chunk& chunk = chunk_of(*VERITY_CONTAINER_OF(hashing_.next, Ticket, node));
    const merkle::Geometry g = geometry(chunk);
    const auto leaves = static_cast<uint32_t>(g.leaf_count());
    for (; chunk.hashed < leaves && budget != 0; ++chunk.hashed) {
      leaves_[chunk.hashed] = leaf(chunk, chunk.hashed);
      budget -= std::min<size_t>(budget, g.segment_size());
    }
    ++count;
    if (chunk.hashed < leaves) return count;
    chunk.mine = merkle::root_of(g, std::span(leaves_, leaves));
    move(chunk, idle_);
    if (chunk.answered) judge(chunk);
  }
  return count;
}

health::Counters& Client::counts(const Chunk& chunk) noexcept {
  return chunk.read->counts != nullptr ? *chunk.read->counts : counts(*chunk.read->peer);
}

void Client::judge(Chunk& chunk) noexcept {
  if (chunk.mine != chunk.theirs) return damaged(chunk);
  counts(chunk).read_chunks_verified++;
  counts(chunk).read_bytes_verified += chunk.length;
  finish(chunk, RmaStatus::kOk);
}

// --- ends ----------------------------------------------------------------------------------------------------------------------

void Client::finish(Chunk& chunk, RmaStatus status, bool broken) noexcept {
  Read& read = *chunk.read;
  if (status == RmaStatus::kOk && !broken) {
    read.done += chunk.length;
  } else if (read.status == RmaStatus::kOk) {
    read.status = status;
  }
  read.broken = read.broken || broken;
  if (chunk.flights == 0) return retire(chunk);
  chunk.dead = true;
  renew(chunk);
  move(chunk, idle_);
}

void Client::retire(Chunk& chunk) noexcept {
  Read& read = *chunk.read;
  leave(chunk);
  --chunks_open_;
  --read.peer->chunks;
  --read.chunks;
  give(spare_chunks_, &chunk);
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
  leave(fetch);
  --fetches_open_;
  --fetch.peer->fetches;
  fetch.peer->fetching -= fetch.length;
  fetch.peer->waiting = static_cast<uint16_t>(fetch.peer->waiting - fetch.waits);
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
  give(spare_fetches_, &fetch);
}

void Client::abort_if(const Peer* peer, const void* owner) noexcept {
  const auto meant = [&](const Peer* p, const void* o) {
    return (peer == nullptr || p == peer) && (owner == nullptr || o == owner);
  };
  for (Ticket* ticket : table_) {
    if (ticket == nullptr) continue;
    if (ticket->is_chunk) {
      Chunk& chunk = chunk_of(*ticket);
      if (!chunk.dead && meant(chunk.read->peer, chunk.read->owner)) finish(chunk, RmaStatus::kOk, true);
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

}  // namespace verity::rma
