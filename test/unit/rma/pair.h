// SPDX-License-Identifier: BSD-3-Clause
// A reader and an owner of memory, with two links between them on which nothing happens unless the
// test makes it happen.
#ifndef VERITY_TEST_UNIT_RMA_PAIR_H
#define VERITY_TEST_UNIT_RMA_PAIR_H

#include <algorithm>
#include <map>

#include "rma/client.h"
#include "rma/regions.h"
#include "rma/server.h"
#include "unit/rma/end.h"

namespace verity::test {

using rma::Client;
using rma::Server;
using wire::RmaKind;

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
  unsigned run_until_idle() {
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
  // Whether the owner is in the middle of a digest, which poll() does not report.
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
    run_until_idle();
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
