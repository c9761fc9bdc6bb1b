// SPDX-License-Identifier: BSD-3-Clause
// Reads in virtual time: whether bytes, digests and hashing overlap. The lower transport brings
// bytes at a given rate and latency, both processors hash at a given rate and do nothing else; the
// bytes are hashed for real, so that all is as in a true transfer.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <tuple>
#include <vector>

#include "rma/client.h"
#include "rma/regions.h"
#include "rma/server.h"

namespace verity::test {
namespace {

using rma::Client;
using rma::Server;
using rma::Started;

constexpr double kLink = 50;       // bytes per ns
constexpr double kLatency = 1000;  // ns
constexpr double kIdlePoll = 20;   // ns

struct Message {
  double at;
  std::vector<uint8_t> bytes;
};

// One processor with its port. Time goes by when it hashes.
class Side : public rma::Port {
 public:
  uint8_t* open_message(rma::Peer&, size_t length) noexcept override {
    draft_.resize(length);
    return draft_.data();
  }
  void send_message(rma::Peer&, size_t length) noexcept override {
    other->inbox.push_back(
        {now + kLatency, {draft_.begin(), draft_.begin() + static_cast<ptrdiff_t>(length)}});
  }
  bool has_room(const rma::Peer&) const noexcept override { return true; }
  size_t max_message() const noexcept override { return 8192; }
  uint32_t mark(rma::Peer&) noexcept override { return 0; }
  bool has_taken(rma::Peer&, uint32_t) noexcept override { return true; }
  Started read(rma::Chunk& chunk, uint64_t offset, uint64_t length) noexcept override {
    // The request travels; the bytes wait for those before.
    link_free = std::max(link_free, now + kLatency) + static_cast<double>(length) / kLink;
    landings.push_back({link_free + kLatency, &chunk, offset, length});
    return Started::kUnderWay;
  }
  bool access(uint64_t, size_t, void (*use)(void*), void* arg) noexcept override {
    use(arg);
    return true;
  }
  void finished(rma::Read& read) noexcept override { over.push_back(&read); }
  void fetched(rma::Fetch&, const uint8_t*, size_t) noexcept override {}
  void refused(rma::Peer&, bool) noexcept override {}
  void mismatched(const rma::Read&, uint64_t, uint64_t, const char*, bool) noexcept override {
    ADD_FAILURE();
  }
  void source_changed(rma::Peer&, uint64_t, uint32_t) noexcept override { ADD_FAILURE(); }

  struct Landing {
    double at;
    rma::Chunk* chunk;
    uint64_t offset;
    uint64_t length;
  };
  Side* other = nullptr;
  double now = 0;
  double link_free = 0;
  std::deque<Message> inbox;
  std::deque<Landing> landings;
  std::vector<rma::Read*> over;

 private:
  std::vector<uint8_t> draft_;
};

struct Rates {
  double reader;  // bytes hashed in a ns
  double owner;
};

// ns until `reads` reads of `length` bytes altogether are over.
double time_of(uint64_t length, unsigned reads, uint64_t chunk, Rates rates) {
  static const std::vector<uint8_t> source(64 << 20, 0x5c);
  static std::vector<uint8_t> target(source.size());
  std::fill_n(target.begin(), length, uint8_t{0});
  health::Counters counters{};
  health::Counters owner_counters{};
  rma::Regions regions;
  Side reader;
  Side owner;
  reader.other = &owner;
  owner.other = &reader;
  rma::Peer peer;
  rma::Peer reading_peer;
  Client client(reader, counters, {chunk, 13, false});
  Server server(owner, regions, owner_counters);
  const uint64_t token =
      regions.add(reinterpret_cast<uint64_t>(source.data()), source.size(), rma::kRead);
  for (unsigned i = 0; i < reads; ++i) {
    rma::Read* read = client.make_read();
    read->peer = &peer;
    read->token = token;
    read->length = length / reads;
    read->address = reinterpret_cast<uint64_t>(source.data()) + i * read->length;
    read->pieces[0] = {target.data() + i * read->length, read->length};
    read->count = 1;
    client.start(*read);
  }
  uint64_t landed = 0;  // bytes that are there and not hashed
  while (reader.over.size() < reads && reader.now < 1e12) {
    if (reader.now <= owner.now) {
      while (!reader.landings.empty() && reader.landings.front().at <= reader.now) {
        const Side::Landing l = reader.landings.front();
        reader.landings.pop_front();
        const uint64_t at =
            l.chunk->read->address - reinterpret_cast<uint64_t>(source.data()) + l.offset;
        std::copy_n(source.data() + at, l.length, target.data() + at);
        landed += l.length;
        client.landed(*l.chunk, true);
      }
      while (!reader.inbox.empty() && reader.inbox.front().at <= reader.now) {
        client.answer(peer, reader.inbox.front().bytes.data(), reader.inbox.front().bytes.size());
        reader.inbox.pop_front();
      }
      // All lengths are whole segments here, so that this is just what poll() hashes, before it
      // sends anything.
      const uint64_t hashed = std::min<uint64_t>(landed, Client::kSlice);
      landed -= hashed;
      reader.now += hashed == 0 ? kIdlePoll : static_cast<double>(hashed) / rates.reader;
      (void)client.poll();
    } else {
      while (!owner.inbox.empty() && owner.inbox.front().at <= owner.now) {
        server.request(reading_peer, owner.inbox.front().bytes.data(),
                       owner.inbox.front().bytes.size());
        owner.inbox.pop_front();
      }
      const uint64_t before = owner_counters.digest_bytes;
      const size_t answers = reader.inbox.size();
      (void)server.poll();
      const auto cost = static_cast<double>(owner_counters.digest_bytes - before) / rates.owner;
      for (size_t i = answers; i < reader.inbox.size(); ++i) reader.inbox[i].at += cost;
      owner.now += std::max(cost, kIdlePoll);
    }
  }
  EXPECT_EQ(counters.read_bytes_verified, length);
  EXPECT_EQ(owner_counters.digest_bytes, length) << "hashed more than once";
  for (rma::Read* read : reader.over) client.release(*read);
  return reader.now;
}

class RmaTime : public ::testing::TestWithParam<std::tuple<Rates, uint64_t>> {};

// There is no time that only bytes or only a hash takes, but for one chunk.
TEST_P(RmaTime, BytesAndHashesOverlap) {
  constexpr uint64_t kLength = 64 << 20;
  const auto [rates, chunk] = GetParam();
  const double slower = std::min(rates.reader, rates.owner);
  const double link = kLength / kLink;
  const double hash = kLength / slower;
  // What the first chunk needs before it can be hashed, and the last one after it came.
  const auto bytes = static_cast<double>(chunk);
  double most = std::max(link, hash) + 2 * kLatency + bytes / kLink + bytes / slower;
  // A slice of hashing ends several small chunks, and the next ones are asked for together: those
  // under way may not last so long.
  if (chunk < Client::kSlice) most += static_cast<double>(kLength / Client::kSlice) * 2 * kLatency;
  for (const unsigned reads : {1u, 4u}) {
    const double time = time_of(kLength, reads, chunk, rates);
    EXPECT_GE(time, std::max(link, hash));
    EXPECT_LE(time, most) << "link " << link << " hash " << hash;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Rates, RmaTime,
    ::testing::Combine(::testing::Values(Rates{5, 5}, Rates{5, 200}, Rates{200, 5}, Rates{20, 50},
                                         Rates{50, 50}, Rates{60, 60}, Rates{200, 200}),
                       ::testing::Values(uint64_t{64} << 10, uint64_t{256} << 10,
                                         uint64_t{1} << 20)));

// A read of one chunk: its digest comes while its bytes do.
TEST(RmaTimeOfOne, ADigestCostsNoRoundTrip) {
  for (const uint64_t length : {uint64_t{8} << 10, uint64_t{64} << 10, uint64_t{256} << 10}) {
    const double bytes = static_cast<double>(length);
    const double time = time_of(length, 1, 256 << 10, {20, 50});
    EXPECT_LE(time, 2 * kLatency + bytes / kLink + bytes / 20 + 4 * kIdlePoll) << length;
  }
}

}  // namespace
}  // namespace verity::test
