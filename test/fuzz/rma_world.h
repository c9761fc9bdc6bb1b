// SPDX-License-Identifier: BSD-3-Clause
//
// What surrounds the reader and the owner of rma in its fuzz target: the owner's memory and
// registrations, messages to each peer, a lower transport that reads in any order and damages, and
// the rules that hold whatever happens.
#ifndef VERITY_TEST_FUZZ_RMA_WORLD_H
#define VERITY_TEST_FUZZ_RMA_WORLD_H

#include <array>
#include <deque>
#include <memory>
#include <vector>

#include "fuzz/targets.h"
#include "rma/client.h"
#include "rma/regions.h"
#include "rma/server.h"

namespace verity::fuzz {

using rma::Client;
using rma::Server;
using rma::Started;
using wire::RmaKind;
using wire::RmaStatus;

inline constexpr unsigned kPeers = 3;
inline constexpr size_t kMemory = 6 * 1024;
inline constexpr size_t kQueue = 4096;  // messages kept for a peer: whatever is beyond is lost

using Message = std::vector<uint8_t>;

struct Line {
  rma::Peer peer;
  std::deque<Message> out;
  bool room = true;
  uint32_t sent = 0;
  uint32_t taken = 0;
};

// Where a registration lies in the memory.
struct Region {
  uint64_t token;
  size_t begin;
  size_t length;
  unsigned access;
  bool alive;
};

struct Flight {
  rma::Chunk* chunk;
  rma::Read* read;
  uint64_t offset;
  uint64_t length;
};

struct Reading {
  std::vector<std::unique_ptr<uint8_t[]>> pieces;  // of exactly the right sizes, for the sanitizer
  size_t from;                                     // in the memory; kMemory: elsewhere
  uint64_t version;                                // of the memory when the read began
  bool finished = false;
};

// More than 15 fields: both ends, what is under way between them, and what was drawn so far.
class RmaWorld : public rma::Port {
 protected:
  explicit RmaWorld(Input& input);

  void add(size_t begin, size_t length, unsigned access) {
    table_.push_back({regions_.add(address(begin), length, access), begin, length, access, true});
  }
  [[nodiscard]] uint64_t address(size_t at) const {
    return reinterpret_cast<uint64_t>(memory_.get()) + at;
  }
  Line& line_of(const rma::Peer& peer);

  // The lower transport's bytes arrive, damaged at times.
  void bring(const Flight& flight);

  [[nodiscard]] bool may(uint64_t at, size_t length, unsigned access) const;
  // Only memory that may be written has changed.
  void check_memory();
  void check_rules();
  // What ends well in spite of the lower transport has the owner's bytes.
  void check_bytes(const rma::Read& read, const Reading& reading);

  Input& input_;
  const size_t most_;
  health::Counters counters_{};
  rma::Regions regions_;
  Client client_;
  Server server_;
  const std::unique_ptr<uint8_t[]> memory_ = std::make_unique<uint8_t[]>(kMemory);
  std::vector<uint8_t> shadow_;
  uint64_t version_ = 0;
  std::vector<Region> table_;
  std::array<Line, kPeers> lines_;
  std::deque<Flight> flights_;
  std::vector<std::unique_ptr<Reading>> readings_;
  std::vector<rma::Read*> over_;
  std::array<uint32_t, 32> ids_{};
  unsigned next_id_ = 0;
  uint8_t owners_[2] = {};
  uint64_t started_ = 0;
  uint64_t ended_ = 0;
  uint64_t fetches_ = 0;
  uint64_t fetched_ = 0;
  Started lower_ = Started::kUnderWay;
  bool unreadable_ = false;
  bool honest_ = true;
  bool opened_ = false;
  bool before_fence_ = false;  // what is started waited while a fence came
  std::unique_ptr<uint8_t[]> draft_;
  size_t draft_length_ = 0;
  volatile uint64_t sum_ = 0;

 private:
  // rma::Port
  uint8_t* open_message(rma::Peer& peer, size_t length) noexcept override;
  void send_message(rma::Peer& peer, size_t length) noexcept override;
  bool has_room(const rma::Peer& peer) const noexcept override {
    return const_cast<RmaWorld*>(this)->line_of(peer).room;
  }
  size_t max_message() const noexcept override { return most_; }
  uint32_t mark(rma::Peer& peer) noexcept override { return line_of(peer).sent; }
  bool has_taken(rma::Peer& peer, uint32_t mark) noexcept override;
  Started read(rma::Chunk& chunk, uint64_t offset, uint64_t length) noexcept override;
  bool access(uint64_t at, size_t length, void (*use)(void*), void* arg) noexcept override;
  void finished(rma::Read& read) noexcept override;
  void fetched(rma::Fetch& fetch, const uint8_t* data, size_t length) noexcept override;
  void refused(rma::Peer&, bool) noexcept override {}
  bool is_before_fence() const noexcept override { return before_fence_; }
  void source_changed(rma::Peer&, uint64_t, uint32_t) noexcept override {}
  void mismatched(const rma::Read& read, uint64_t offset, uint64_t length, const char*,
                  bool) noexcept override;
  void diagnosed(const rma::Read& read, const rma::ReadFault& fault) noexcept override;
};

}  // namespace verity::fuzz

#endif
