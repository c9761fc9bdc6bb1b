// SPDX-License-Identifier: BSD-3-Clause
// What comes back: bytes and digests, and the hashing in between.
#include <algorithm>
#include <cstring>
#include <new>

#include "merkle/tree.h"
#include "rma/client.h"

namespace verity::rma {

using wire::RmaKind;
using wire::RmaStatus;

void Client::landed(Chunk& chunk, bool good) noexcept {
  --chunk.flights;
  if (chunk.dead) {
    if (chunk.flights == 0) retire(chunk);
    return;
  }
  if (!good) return finish(chunk, RmaStatus::kOk, true);
  if (chunk.flights != 0 || !chunk.posted) return;
  if (chunk.stage == Stage::kReread) return compare_rereads(chunk);
  chunk.landed = true;
  move(chunk, hashing_);
}

void Client::answer(Peer& peer, const uint8_t* message, size_t length) noexcept {
  wire::RmaHeader header;
  if (!wire::read_message(message, length, &header)) return;
  if (header.kind == static_cast<uint8_t>(RmaKind::kRefused)) {
    return port_.refused(peer, header.what == static_cast<uint8_t>(RmaStatus::kRevoked));
  }
  Ticket* ticket = tickets_.find(header.id);
  if (ticket == nullptr) return claim(peer, message, length);
  const auto status = static_cast<RmaStatus>(
      std::min<uint8_t>(header.what, static_cast<uint8_t>(RmaStatus::kBusy)));
  const uint8_t* body = message + sizeof(header);
  const size_t rest = length - sizeof(header);
  const bool is_get = header.kind == static_cast<uint8_t>(RmaKind::kGot);
  if (!is_get && header.kind != static_cast<uint8_t>(RmaKind::kHashed)) return;
  if (!ticket->is_chunk) {
    Fetch& fetch = fetch_of(*ticket);
    if (fetch.peer != &peer || !is_get) return;
    fetch.unanswered = false;
    if (status == RmaStatus::kOk && header.segment == wire::kPart)
      return take_part(fetch, message, length);
    const bool whole = status != RmaStatus::kOk || rest == fetch.length;
    return end(fetch, whole ? status : RmaStatus::kRefused, body, rest);
  }
  Chunk& chunk = chunk_of(*ticket);
  if (chunk.read->peer != &peer || chunk.dead || is_get != (chunk.stage == Stage::kSnapshot))
    return;
  chunk.unanswered = false;
  if (status != RmaStatus::kOk) return finish(chunk, status);
  if (is_get) return take_bytes(chunk, message, length);
  if (chunk.stage == Stage::kLeaves) return take_leaves(chunk, message, length);
  if (chunk.stage != Stage::kTransfer || rest != sizeof(chunk.theirs) || chunk.answered) return;
  std::memcpy(&chunk.theirs, body, rest);
  chunk.answered = true;
  if (chunk.landed && chunk.hashed == geometry(chunk).leaf_count()) compare_roots(chunk);
}

// The upper layer gets all of it at once.
void Client::take_part(Fetch& fetch, const uint8_t* message, size_t length) noexcept {
  wire::RmaPart part;
  const bool follows = wire::read_message(message, length, &part) && part.first == fetch.received &&
                       length - sizeof(part) <= fetch.length - fetch.received;
  if (!follows) return end(fetch, RmaStatus::kRefused, nullptr, 0);
  if (fetch.parts == nullptr) fetch.parts.reset(new (std::nothrow) uint8_t[fetch.length]);
  if (fetch.parts == nullptr) return end(fetch, RmaStatus::kBusy, nullptr, 0);
  std::memcpy(fetch.parts.get() + fetch.received, message + sizeof(part), length - sizeof(part));
  fetch.received += static_cast<uint32_t>(length - sizeof(part));
  if (fetch.received == fetch.length) end(fetch, RmaStatus::kOk, fetch.parts.get(), fetch.length);
}

// --- hashing
// -------------------------------------------------------------------------------------------------------------------

merkle::Geometry Client::geometry(const Chunk& chunk) const noexcept {
  return {chunk.length, 1u << config_.segment_log2};
}

ChunkMemory Client::memory(const Chunk& chunk) const noexcept {
  const Read& read = *chunk.read;
  return {{read.pieces, read.count}, chunk.offset, read.length, read.address, geometry(chunk)};
}

unsigned Client::hash_slice() noexcept {
  unsigned count = 0;
  size_t budget = kSlice;
  while (hashing_.linked() && budget != 0) {
    Chunk& chunk = chunk_of(*VERITY_CONTAINER_OF(hashing_.next, Ticket, node));
    const ChunkMemory memory = this->memory(chunk);
    const merkle::Geometry& g = memory.geometry;
    const auto leaves = static_cast<uint32_t>(g.leaf_count());
    for (; chunk.hashed < leaves && budget != 0; ++chunk.hashed) {
      leaves_[chunk.hashed] = memory.digest(chunk.hashed);
      budget -= std::min<size_t>(budget, g.segment_size());
    }
    ++count;
    if (chunk.hashed < leaves) return count;
    chunk.mine = merkle::root_of(g, std::span(leaves_, leaves));
    move(chunk, idle_);
    if (chunk.answered) compare_roots(chunk);
  }
  return count;
}

health::Counters& Client::counts(const Chunk& chunk) noexcept {
  return chunk.read->counts != nullptr ? *chunk.read->counts : counts(*chunk.read->peer);
}

void Client::compare_roots(Chunk& chunk) noexcept {
  if (chunk.mine != chunk.theirs) return damaged(chunk);
  counts(chunk).read_chunks_verified++;
  counts(chunk).read_bytes_verified += chunk.length;
  finish(chunk, RmaStatus::kOk);
}

}  // namespace verity::rma
