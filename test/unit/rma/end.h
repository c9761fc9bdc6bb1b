// SPDX-License-Identifier: BSD-3-Clause
// The port of a reader or of an owner of memory: it keeps what is sent, and what was reported.
#ifndef VERITY_TEST_UNIT_RMA_END_H
#define VERITY_TEST_UNIT_RMA_END_H

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "health/faults/syndrome.h"
#include "rma/port.h"

namespace verity::test {

using rma::Peer;
using rma::Started;
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

// One side: the port of a Client or of a Server. More than 15 fields: what a test chooses
// beforehand and looks at afterwards.
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

  bool access(uint64_t, size_t, void (*use)(void*), void* arg) noexcept override {
    if (before_look) before_look();
    if (unreadable) return false;
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
    changes_by_program += by_program;
  }
  void source_changed(Peer&, uint64_t address, uint32_t length) noexcept override {
    changed.emplace_back(address, length);
  }

  void diagnosed(const rma::Read&, const rma::ReadFault& fault) noexcept override {
    faults.push_back({fault, fault.syndrome != nullptr ? *fault.syndrome : health::Syndrome{}});
    faults.back().fault.syndrome = nullptr;
  }

  struct SeenFault {
    rma::ReadFault fault;
    health::Syndrome syndrome;  // without bits: there was none
  };
  std::vector<SeenFault> faults;
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
  std::deque<Flight> flights;
  std::vector<std::pair<uint64_t, uint64_t>> reads;  // offsets and lengths
  std::vector<rma::Read*> over;                      // not released yet
  std::vector<Result> ended;
  std::vector<Fetched> fetches;
  std::vector<std::string> mismatches;
  unsigned changes_by_program = 0;  // mismatches
  std::vector<std::pair<uint64_t, uint32_t>>
      changed;  // at the owner: what was read while it was written to

 private:
  Peer* opened = nullptr;
  std::unique_ptr<uint8_t[]> draft;
  size_t draft_length = 0;
};

}  // namespace verity::test

#endif
