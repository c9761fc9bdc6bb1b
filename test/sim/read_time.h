// SPDX-License-Identifier: BSD-3-Clause
//
// Verified reads in virtual time, by the true Client and Server. The lower transport brings bytes
// at a given rate and latency, processors and threads hash at a given rate and do nothing else; the
// bytes are hashed for real, so that all is as in a true transfer.
#ifndef VERITY_TEST_SIM_READ_TIME_H
#define VERITY_TEST_SIM_READ_TIME_H

#include <algorithm>
#include <deque>
#include <span>
#include <vector>

#include "rma/client.h"
#include "rma/hasher.h"
#include "rma/regions.h"
#include "rma/server.h"

namespace verity::test::read_time {

using rma::Client;
using rma::Server;
using rma::Started;

inline constexpr double kLatency = 1000;  // ns
inline constexpr double kIdlePoll = 20;   // ns

struct Message {
  double at;
  std::vector<uint8_t> bytes;
};

// The owner's threads. A slice is hashed for real when it is submitted, and done when its thread
// would be.
class Workers : public rma::Hasher {
 public:
  Workers(rma::Regions& regions, const double& now, double rate, unsigned count)
      : regions_(regions), now_(now), rate_(rate), free_(count, 0.0) {}

  bool submit(std::span<rma::HashSlice> slices) noexcept override {
    for (rma::HashSlice& slice : slices) {
      double& free = *std::min_element(free_.begin(), free_.end());
      free = std::max(free, now_) + static_cast<double>(slice.length) / rate_;
      slice.status = rma::make(slice, regions_, [&](const auto& use) {
        use(reinterpret_cast<const uint8_t*>(slice.address));
        return true;
      });
      under_way_.push_back({free, &slice});
    }
    return true;
  }
  void withdraw(rma::HashSlice& slice) noexcept override {
    std::erase_if(under_way_, [&](const UnderWay& u) { return u.slice == &slice; });
  }
  // What is done by now is seen to be.
  void advance() noexcept {
    std::erase_if(under_way_, [&](const UnderWay& u) {
      if (u.at > now_) return false;
      u.slice->done.store(true, std::memory_order_release);
      return true;
    });
  }

 private:
  struct UnderWay {
    double at;
    rma::HashSlice* slice;
  };
  rma::Regions& regions_;
  const double& now_;
  const double rate_;         // bytes that a thread hashes in a ns
  std::vector<double> free_;  // when each thread will be
  std::vector<UnderWay> under_way_;
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
    link_free = std::max(link_free, now + kLatency) + static_cast<double>(length) / link;
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
    is_wrong = true;
  }
  void source_changed(rma::Peer&, uint64_t, uint32_t) noexcept override { is_wrong = true; }
  rma::Hasher* hasher() noexcept override { return workers; }

  struct Landing {
    double at;
    rma::Chunk* chunk;
    uint64_t offset;
    uint64_t length;
  };
  Side* other = nullptr;
  Workers* workers = nullptr;
  double link = 0;  // bytes in a ns
  bool is_wrong = false;
  double now = 0;
  double link_free = 0;
  std::deque<Message> inbox;
  std::deque<Landing> landings;
  std::vector<rma::Read*> over;

 private:
  std::vector<uint8_t> draft_;
};

struct Transfer {
  uint64_t length;  // bytes, in all
  unsigned reads;   // which share them
  uint64_t chunk;   // bytes
  double link;      // bytes in a ns
  double reader;    // bytes that its processor hashes in a ns
  double owner;     // its processor, and each of its threads
  unsigned threads = 0;
};

struct Outcome {
  double time;           // ns
  uint64_t verified;     // bytes
  uint64_t owner_bytes;  // hashed by the owner
  bool is_wrong;
};

// The transfer in virtual time.
inline Outcome read_all(const Transfer& transfer) {
  const auto [length, reads, chunk, link, reader_rate, owner_rate, threads] = transfer;
  static const std::vector<uint8_t> source(64 << 20, 0x5c);
  static std::vector<uint8_t> target(source.size());
  std::fill_n(target.begin(), length, uint8_t{0});
  health::Counters counters{};
  health::Counters owner_counters{};
  rma::Regions regions;
  Side reader;
  Side owner;
  reader.link = link;
  reader.other = &owner;
  owner.other = &reader;
  Workers workers(regions, owner.now, owner_rate, threads);
  if (threads != 0) owner.workers = &workers;
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
      reader.now += hashed == 0 ? kIdlePoll : static_cast<double>(hashed) / reader_rate;
      (void)client.poll();
    } else {
      while (!owner.inbox.empty() && owner.inbox.front().at <= owner.now) {
        server.request(reading_peer, owner.inbox.front().bytes.data(),
                       owner.inbox.front().bytes.size());
        owner.inbox.pop_front();
      }
      workers.advance();
      const auto by_owner = [&] {
        return owner_counters.digest_bytes - owner_counters.digest_bytes_shared;
      };
      const uint64_t before = by_owner();
      const size_t answers = reader.inbox.size();
      (void)server.poll();
      const auto cost = static_cast<double>(by_owner() - before) / owner_rate;
      for (size_t i = answers; i < reader.inbox.size(); ++i) reader.inbox[i].at += cost;
      owner.now += std::max(cost, kIdlePoll);
    }
  }
  for (rma::Read* read : reader.over) client.release(*read);
  return {reader.now, counters.read_bytes_verified, owner_counters.digest_bytes,
          reader.is_wrong || owner.is_wrong};
}

}  // namespace verity::test::read_time

#endif
