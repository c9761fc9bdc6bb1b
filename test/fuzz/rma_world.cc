// SPDX-License-Identifier: BSD-3-Clause
#include "fuzz/rma_world.h"

#include <algorithm>
#include <cstring>
#include <set>

namespace verity::fuzz {

RmaWorld::RmaWorld(Input& input)
    : input_(input),
      most_(sizeof(wire::RmaAtomic) + input.u8()),
      client_(*this, counters_, {1024, 8, input.u8() < 10}),
      server_(*this, regions_, counters_) {
  for (size_t i = 0; i < kMemory; ++i) memory_[i] = static_cast<uint8_t>(i * 131 + i / 256);
  shadow_.assign(memory_.get(), memory_.get() + kMemory);
  add(64, 3000, rma::kRead | rma::kWrite);
  add(3100, 1500, rma::kRead);
  add(4700, 500, rma::kWrite);
}

Line& RmaWorld::line_of(const rma::Peer& peer) {
  const auto it =
      std::find_if(lines_.begin(), lines_.end(), [&](const Line& l) { return &l.peer == &peer; });
  require(it != lines_.end(), "an unknown peer");
  return *it;
}

void RmaWorld::bring(const Flight& flight) {
  const auto* reading = static_cast<const Reading*>(flight.read->upper);
  const size_t from = reading->from == kMemory ? 0 : reading->from + flight.offset;
  Message bytes(flight.length, 0x77);
  std::copy_n(memory_.get() + from, std::min<size_t>(flight.length, kMemory - from), bytes.begin());
  if (input_.u8() % 4 == 0) bytes[input_.u16() % bytes.size()] ^= 0x40;
  size_t taken = 0;
  uint64_t skip = flight.offset;
  for (uint32_t i = 0; i < flight.read->count; ++i) {
    const util::Piece& piece = flight.read->pieces[i];
    const uint64_t here = std::min<uint64_t>(skip, piece.length);
    const uint64_t n = std::min<uint64_t>(piece.length - here, bytes.size() - taken);
    if (n != 0)
      std::memcpy(static_cast<uint8_t*>(const_cast<void*>(piece.data)) + here, bytes.data() + taken,
                  n);
    skip -= here;
    taken += n;
  }
}

bool RmaWorld::may(uint64_t at, size_t length, unsigned access) const {
  return std::any_of(table_.begin(), table_.end(), [&](const Region& r) {
    return r.alive && (r.access & access) != 0 && at >= address(r.begin) &&
           at - address(r.begin) <= r.length && length <= r.length - (at - address(r.begin));
  });
}

void RmaWorld::check_memory() {
  if (std::equal(shadow_.begin(), shadow_.end(), memory_.get())) return;
  ++version_;
  for (size_t i = 0; i < kMemory; ++i) {
    require(shadow_[i] == memory_[i] || may(address(i), 1, rma::kWrite),
            "a write outside of what may be written");
    shadow_[i] = memory_[i];
  }
}

void RmaWorld::check_rules() {
  std::set<const rma::Chunk*> chunks;
  for (const Flight& flight : flights_) chunks.insert(flight.chunk);
  require(chunks.size() <= Client::kMaxChunks, "more chunks than allowed");
  for (Line& l : lines_) {
    require(l.peer.requests <= 2 * Server::kMaxJobs, "more jobs than allowed");
    require(l.peer.chunks <= Client::kMaxChunks / 2, "more chunks of a peer than allowed");
    require(l.peer.unclaimed <= Client::kMaxRequests, "more requests of a peer than it keeps");
    require(l.peer.unclaimed_bytes <= Server::kMaxCopied, "more bytes of a peer than it keeps");
  }
  require(!opened_, "a message was opened and not sent");
}

void RmaWorld::check_bytes(const rma::Read& read, const Reading& reading) {
  if (!honest_ || read.broken || read.status != RmaStatus::kOk || reading.version != version_ ||
      reading.from == kMemory)
    return;
  if (counters_.faults_observed != 0) return;
  size_t at = reading.from;
  for (uint32_t i = 0; i < read.count; ++i) {
    const util::Piece& piece = read.pieces[i];
    require(piece.length == 0 || std::memcmp(memory_.get() + at, piece.data, piece.length) == 0,
            "a read ended with wrong bytes");
    at += piece.length;
  }
}

uint8_t* RmaWorld::open_message(rma::Peer& peer, size_t length) noexcept {
  require(!opened_, "two messages at a time");
  require(length <= most_, "a message too long");
  if (!line_of(peer).room) return nullptr;
  opened_ = true;
  draft_ = std::make_unique<uint8_t[]>(length);
  draft_length_ = length;
  return draft_.get();
}

void RmaWorld::send_message(rma::Peer& peer, size_t length) noexcept {
  require(opened_ && length <= draft_length_, "more is sent than was opened");
  opened_ = false;
  Line& l = line_of(peer);
  ++l.sent;
  if (l.out.size() < kQueue) l.out.emplace_back(draft_.get(), draft_.get() + length);
  wire::RmaHeader header{};
  require(wire::read_message(draft_.get(), length, &header), "a message without a header");
  ids_[next_id_++ % ids_.size()] = header.id;
}

bool RmaWorld::has_taken(rma::Peer& peer, uint32_t mark) noexcept {
  return static_cast<int32_t>(line_of(peer).taken - mark) >= 0;
}

Started RmaWorld::read(rma::Chunk& chunk, uint64_t offset, uint64_t length) noexcept {
  rma::Read& read = *chunk.read;
  require(length != 0 && offset < read.length && length <= read.length - offset,
          "more is read than asked for");
  require(length >= std::min(read.least, read.length) && length <= read.most,
          "a length that the lower transport does not read");
  require(!static_cast<const Reading*>(read.upper)->finished, "a read that is over goes on");
  if (lower_ == Started::kUnderWay) flights_.push_back({&chunk, &read, offset, length});
  if (lower_ == Started::kDone) bring({&chunk, &read, offset, length});
  return lower_;
}

bool RmaWorld::access(uint64_t at, size_t length, void (*use)(void*), void* arg) noexcept {
  require(may(at, length, rma::kRead | rma::kWrite),
          "an access outside of what may be read or written");
  if (may(at, length, rma::kWrite)) {
    use(arg);
    return true;
  }
  const auto* bytes = reinterpret_cast<const uint8_t*>(at);
  const std::vector<uint8_t> before(bytes, bytes + length);
  use(arg);
  require(std::equal(before.begin(), before.end(), bytes),
          "a write outside of what may be written");
  return !unreadable_;
}

void RmaWorld::finished(rma::Read& read) noexcept {
  auto* reading = static_cast<Reading*>(read.upper);
  require(!reading->finished, "a read ends twice");
  for (const Flight& flight : flights_)
    require(flight.read != &read, "a read ends while the lower transport writes for it");
  require(read.broken || read.status != RmaStatus::kOk || read.done == read.length,
          "a read ends early");
  reading->finished = true;
  ++ended_;
  over_.push_back(&read);
  check_bytes(read, *reading);
}

void RmaWorld::fetched(rma::Fetch& fetch, const uint8_t* data, size_t length) noexcept {
  ++fetched_;
  require((data != nullptr) == (fetch.status == RmaStatus::kOk && !fetch.broken),
          "bytes of a fetch that failed, or none");
  require(data == nullptr || length == fetch.length, "a fetch of a wrong length");
  uint64_t sum = 0;
  for (size_t i = 0; i < length; ++i) sum += data[i];
  sum_ = sum;
}

void RmaWorld::mismatched(const rma::Read& read, uint64_t offset, uint64_t length, const char*,
                          bool) noexcept {
  require(offset < read.length && length <= read.length - offset, "a mismatch outside of the read");
}

void RmaWorld::diagnosed(const rma::Read& read, const rma::ReadFault& fault) noexcept {
  require(fault.offset < read.length && fault.length <= read.length - fault.offset,
          "a fault outside of the read");
  if (fault.syndrome == nullptr) return;
  require(
      fault.syndrome->first >= fault.offset && fault.syndrome->last < fault.offset + fault.length,
      "a syndrome outside of its part");
}

}  // namespace verity::fuzz
