// SPDX-License-Identifier: BSD-3-Clause
// A reader and an owner of memory, with two links between them on which nothing happens unless the
// test makes it happen.
#ifndef VERITY_TEST_UNIT_RMA_PAIR_H
#define VERITY_TEST_UNIT_RMA_PAIR_H

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "rma/client.h"
#include "rma/regions.h"
#include "rma/server.h"

namespace verity::test {

using rma::Client;
using rma::Peer;
using rma::Server;
using rma::Started;
using wire::RmaKind;
using wire::RmaStatus;

using Message = std::vector<uint8_t>;

inline std::vector<uint8_t> bytes_of(size_t length, unsigned seed = 1) {
  std::vector<uint8_t> bytes(length);
  uint64_t state = seed;
  for (uint8_t& byte : bytes) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    byte = static_cast<uint8_t>(state >> 56);
  }
  return bytes;
}

inline uint64_t address_of(const void* data) { return reinterpret_cast<uint64_t>(data); }

// One side: the port of a Client or of a Server.
class RmaEnd final : public rma::Port {
 public:
  struct Line {
    Peer peer;
    std::deque<Message> out;
    unsigned room = ~0u;  // messages that it takes
    uint32_t sent = 0;
    uint32_t taken = 0;
    unsigned refusals = 0;
    unsigned revoked = 0;  // of them
    bool late = false;     // what was taken shows only when the test says so
  };
  struct Flight {
    rma::Chunk* chunk;
    const rma::Read* read;
    uint64_t offset;
    uint64_t length;
  };
  struct Result {
    RmaStatus status;
    bool broken;
    uint64_t done;
    void* owner;
  };
  struct Fetched {
    RmaStatus status;
    bool broken;
    Message bytes;
    uint32_t length;
  };

  Line& line_of(const Peer& peer) {
    for (Line& line : lines) {
      if (&line.peer == &peer) return line;
    }
    ADD_FAILURE() << "an unknown peer";
    return lines[0];
  }

  uint8_t* open_message(Peer& peer, size_t length) noexcept override {
    EXPECT_EQ(opened, nullptr) << "the message before was not sent";
    EXPECT_LE(length, most_of_message);
    if (line_of(peer).room == 0) return nullptr;
    opened = &peer;
    draft = std::make_unique<uint8_t[]>(length);  // sized exactly, for the sanitizer
    draft_length = length;
    return draft.get();
  }
  void send_message(Peer& peer, size_t length) noexcept override {
    EXPECT_EQ(opened, &peer);
    EXPECT_LE(length, draft_length);
    opened = nullptr;
    Line& line = line_of(peer);
    --line.room;
    ++line.sent;
    line.out.emplace_back(draft.get(), draft.get() + length);
    draft.reset();
  }
  bool has_room(const Peer& peer) const noexcept override {
    return const_cast<RmaEnd*>(this)->line_of(peer).room != 0;
  }
  size_t max_message() const noexcept override { return most_of_message; }
  uint32_t mark(Peer& peer) noexcept override { return line_of(peer).sent; }
  bool has_taken(Peer& peer, uint32_t mark) noexcept override {
    return static_cast<int32_t>(line_of(peer).taken - mark) >= 0;
  }

  bool is_before_fence() const noexcept override { return before_fence; }

  Started read(rma::Chunk& chunk, uint64_t offset, uint64_t length) noexcept override {
    const rma::Read& read = *chunk.read;
    EXPECT_LE(offset + length, read.length);
    EXPECT_GE(length, std::min(read.least, read.length));
    EXPECT_LE(length, read.most);
    if (answers != nullptr) {
      const Started given = answers(offset, length);
      if (given == Started::kBusy || given == Started::kFailed) return given;
    }
    reads.push_back({offset, length});
    const Flight flight{&chunk, &read, offset, length};
    if (immediate) {
      bring(flight);
      return Started::kDone;
    }
    flights.push_back(flight);
    return Started::kUnderWay;
  }
  // The lower transport's reading itself.
  void bring(const Flight& flight) {
    const rma::Read& read = *flight.read;
    if (before_read) before_read();
    const auto* from = reinterpret_cast<const uint8_t*>(read.address + flight.offset);
    Message bytes(from, from + flight.length);
    if (damage) damage(flight.offset, bytes);
    size_t taken = 0;
    uint64_t skip = flight.offset;
    for (unsigned i = 0; i < read.count; ++i) {
      const util::Piece& piece = read.pieces[i];
      const uint64_t n = std::min<uint64_t>(piece.length - std::min<uint64_t>(skip, piece.length),
                                            bytes.size() - taken);
      if (n != 0)
        std::memcpy(static_cast<uint8_t*>(const_cast<void*>(piece.data)) + skip,
                    bytes.data() + taken, n);
      skip -= std::min<uint64_t>(skip, piece.length);
      taken += n;
    }
    EXPECT_EQ(taken, flight.length);
  }

  const uint8_t* readable(uint64_t address, size_t length, uint8_t* scratch) noexcept override {
    if (before_look) before_look();
    if (unreadable) return nullptr;
    const auto* bytes = reinterpret_cast<const uint8_t*>(address);
    if (!copies) return bytes;
    std::copy(bytes, bytes + length, scratch);
    return scratch;
  }

  bool access(uint64_t, size_t, void (*use)(void*), void* arg) noexcept override {
    if (before_look) before_look();
    if (unreadable || unmapped_after_probe) return false;
    use(arg);
    return true;
  }

  rma::Hasher* hasher() noexcept override { return pool; }

  void finished(rma::Read& read) noexcept override {
    for (const Flight& flight : flights)
      EXPECT_NE(flight.read, &read) << "over, but still being written";
    EXPECT_EQ(std::find(over.begin(), over.end(), &read), over.end()) << "over twice";
    over.push_back(&read);
    ended.push_back({read.status, read.broken, read.done, read.owner});
  }
  void fetched(rma::Fetch& fetch, const uint8_t* data, size_t length) noexcept override {
    fetches.push_back({fetch.status, fetch.broken, Message(data, data + length), fetch.length});
    EXPECT_EQ(data != nullptr, fetch.status == RmaStatus::kOk && !fetch.broken);
  }
  void refused(Peer& peer, bool revoked) noexcept override {
    ++line_of(peer).refusals;
    line_of(peer).revoked += revoked;
  }
  void mismatched(const rma::Read&, uint64_t, uint64_t, const char* what,
                  bool by_program) noexcept override {
    mismatches.emplace_back(what);
    changes_told += by_program;
  }
  void source_changed(Peer&, uint64_t address, uint32_t length) noexcept override {
    changed.emplace_back(address, length);
  }

  void diagnosed(const rma::Read&, const rma::ReadFault& fault) noexcept override {
    faults.push_back({fault, fault.syndrome != nullptr ? *fault.syndrome : health::Syndrome{}});
    faults.back().fault.syndrome = nullptr;
  }

  struct ToldFault {
    rma::ReadFault fault;
    health::Syndrome syndrome;  // without bits: there was none
  };
  std::vector<ToldFault> faults;
  Line lines[4];
  size_t most_of_message = 8192;
  bool immediate = false;
  bool before_fence = false;                           // what is started waited while a fence came
  std::function<Started(uint64_t, uint64_t)> answers;  // of read(); nullptr: it works
  std::function<void(uint64_t, Message&)> damage;      // done to what was read
  std::function<void()> before_read;
  std::function<void()> before_look;  // of the owner, at its own memory
  rma::Hasher* pool = nullptr;
  bool unreadable = false;
  bool unmapped_after_probe = false;  // readable() says yes, and access() finds nothing there
  bool copies = false;
  std::deque<Flight> flights;
  std::vector<std::pair<uint64_t, uint64_t>> reads;  // offsets and lengths
  std::vector<rma::Read*> over;                      // not released yet
  std::vector<Result> ended;
  std::vector<Fetched> fetches;
  std::vector<std::string> mismatches;
  unsigned changes_told = 0;  // mismatches by the peer's program
  std::vector<std::pair<uint64_t, uint32_t>>
      changed;  // at the owner: what was read while it was written to

 private:
  Peer* opened = nullptr;
  std::unique_ptr<uint8_t[]> draft;
  size_t draft_length = 0;
};

class RmaPair {
 public:
  explicit RmaPair(const rma::ClientConfig& config = {})
      : client(reader, reader_counters, config), server(owner, regions, owner_counters) {}
  ~RmaPair() { release(); }

  // The reader's, and what it sent that has not arrived.
  Peer& peer(unsigned link = 0) { return reader.lines[link].peer; }
  std::deque<Message>& out(unsigned link = 0) { return reader.lines[link].out; }
  // Nothing is left to do on either side.
  void expect_idle() {
    EXPECT_FALSE(client.busy());
    EXPECT_FALSE(server.busy());
    EXPECT_TRUE(client.has_room(peer()));
    for (unsigned link : {0u, 1u}) {
      EXPECT_EQ(peer(link).open, 0u);
      EXPECT_EQ(owner.lines[link].peer.requests, 0u);
    }
  }

  [[nodiscard]] uint64_t share(const std::vector<uint8_t>& memory,
                               unsigned access = rma::kRead | rma::kWrite) {
    return regions.add(address_of(memory.data()), memory.size(), access);
  }

  // Reads `source` into `target`, cut into `pieces`.
  rma::Read* prepare(const std::vector<uint8_t>& source, std::vector<uint8_t>& target,
                     uint64_t token, unsigned pieces = 1, unsigned link = 0) {
    rma::Read* read = client.make_read();
    if (read == nullptr) return nullptr;
    read->peer = &reader.lines[link].peer;
    read->token = token;
    read->address = address_of(source.data());
    read->length = source.size();
    target.assign(source.size(), 0xee);
    for (size_t at = 0; read->count < pieces; ++read->count) {
      const size_t n = read->count + 1 == pieces ? target.size() - at : (target.size() - at) / 3;
      read->pieces[read->count] = {target.data() + at, n};
      at += n;
    }
    return read;
  }
  void read(const std::vector<uint8_t>& source, std::vector<uint8_t>& target, uint64_t token,
            unsigned pieces = 1, unsigned link = 0) {
    rma::Read* read = prepare(source, target, token, pieces, link);
    ASSERT_NE(read, nullptr);
    client.start(*read);
  }
  bool fetch(const std::vector<uint8_t>& source, uint64_t token, unsigned link = 0) {
    rma::Fetch* fetch = client.make_fetch(reader.lines[link].peer);
    if (fetch == nullptr) return false;
    fetch->peer = &reader.lines[link].peer;
    fetch->token = token;
    fetch->address = address_of(source.data());
    fetch->length = static_cast<uint32_t>(source.size());
    client.start(*fetch);
    return true;
  }
  // What the upper layer of the reader does for a put.
  void put(uint64_t token, uint64_t address, const std::vector<uint8_t>& bytes, unsigned link = 0) {
    const wire::RmaPut header{{static_cast<uint8_t>(RmaKind::kPut), 0, 0, 0, 0}, token, address};
    Peer& peer = reader.lines[link].peer;
    uint8_t* out = reader.open_message(peer, sizeof(header) + bytes.size());
    ASSERT_NE(out, nullptr);
    std::memcpy(out, &header, sizeof(header));
    std::copy(bytes.begin(), bytes.end(), out + sizeof(header));
    reader.send_message(peer, sizeof(header) + bytes.size());
    client.put_sent(peer, {address, bytes.size()});
  }
  // A request as it stands in a message, for the owner's side alone.
  void ask(RmaKind kind, uint8_t what, uint64_t token, uint64_t address, uint32_t length,
           uint32_t id, unsigned segment_log2 = 13, unsigned link = 0) {
    const auto segment = static_cast<uint8_t>(segment_log2 - wire::kMinSegmentLog2);
    const wire::RmaRequest r{
        {static_cast<uint8_t>(kind), what, segment, 0, id}, token, address, length, 0};
    server.request(owner.lines[link].peer, reinterpret_cast<const uint8_t*>(&r), sizeof(r));
  }

  void to_owner(unsigned link = 0) {
    RmaEnd::Line& line = reader.lines[link];
    while (!line.out.empty()) {
      give_owner(link, line.out.front());
      line.out.pop_front();
      if (!line.late) ++line.taken;
    }
  }
  void give_owner(unsigned link, const Message& message) {
    wire::RmaHeader header;
    ASSERT_TRUE(wire::read_message(message.data(), message.size(), &header));
    Peer& peer = owner.lines[link].peer;
    header.kind == static_cast<uint8_t>(RmaKind::kPut)
        ? server.put(peer, message.data(), message.size())
        : server.request(peer, message.data(), message.size());
  }
  void to_reader(unsigned link = 0) {
    RmaEnd::Line& line = owner.lines[link];
    while (!line.out.empty()) {
      const Message message = std::move(line.out.front());
      line.out.pop_front();
      ++line.taken;
      client.answer(reader.lines[link].peer, message.data(), message.size());
    }
  }
  // The oldest read of the lower transport ends.
  void land(bool good = true) {
    const RmaEnd::Flight flight = reader.flights.front();
    reader.flights.pop_front();
    if (good) reader.bring(flight);
    client.landed(*flight.chunk, good);
  }
  void land_all() {
    while (!reader.flights.empty()) land();
  }
  void release() {
    for (rma::Read* read : reader.over) client.release(*read);
    reader.over.clear();
  }
  // Until nothing happens any more; the number of rounds.
  unsigned settle() {
    unsigned rounds = 0;
    for (unsigned quiet = 0; quiet < 20 && rounds < 100'000; ++rounds) {
      const unsigned steps = client.poll() + server.poll();
      const size_t queued = reader.lines[0].out.size() + reader.lines[1].out.size() +
                            owner.lines[0].out.size() + owner.lines[1].out.size() +
                            reader.flights.size();
      quiet = steps == 0 && queued == 0 && !hashes() ? quiet + 1 : 0;
      land_all();
      for (unsigned link : {0u, 1u}) {
        to_owner(link);
        to_reader(link);
      }
      release();
    }
    EXPECT_LT(rounds, 100'000u) << "it never ends";
    return rounds - 20;
  }
  // Whether the owner is in the middle of a digest, of which poll() does not tell.
  bool hashes() {
    const uint64_t before = digested;
    digested = owner_counters.digest_bytes;
    return digested != before;
  }
  // One read from start to end: its result.
  RmaEnd::Result run(const std::vector<uint8_t>& source, std::vector<uint8_t>& target,
                     uint64_t token, unsigned pieces = 1) {
    const size_t before = reader.ended.size();
    read(source, target, token, pieces);
    settle();
    if (reader.ended.size() != before + 1) {
      ADD_FAILURE() << reader.ended.size() - before << " ends of one read";
      return {RmaStatus::kBusy, true, 0, nullptr};
    }
    EXPECT_EQ(reader.lines[0].peer.open, 0u);
    return reader.ended.back();
  }

  rma::Regions regions;
  health::Counters reader_counters{};
  health::Counters owner_counters{};
  RmaEnd reader;
  RmaEnd owner;
  Client client;
  Server server;
  uint64_t digested = 0;
};

}  // namespace verity::test

#endif
