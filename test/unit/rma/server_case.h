// SPDX-License-Identifier: BSD-3-Clause
#ifndef VERITY_TEST_UNIT_RMA_SERVER_CASE_H
#define VERITY_TEST_UNIT_RMA_SERVER_CASE_H

#include <algorithm>

#include "merkle/tree.h"
#include "unit/rma/pair.h"

namespace verity::test {

inline wire::RmaHeader header_of(const Message& message) {
  wire::RmaHeader header{};
  EXPECT_TRUE(wire::read_message(message.data(), message.size(), &header));
  return header;
}

inline RmaStatus status_of(const Message& message) {
  return static_cast<RmaStatus>(header_of(message).what);
}

inline Message body_of(const Message& message, size_t header = sizeof(wire::RmaHeader)) {
  return {message.begin() + static_cast<ptrdiff_t>(std::min(header, message.size())),
          message.end()};
}

// The owner's side alone, with requests as they stand in messages.
class RmaServer : public ::testing::Test, public RmaPair {
 protected:
  std::deque<Message>& out(unsigned link = 0) { return owner.lines[link].out; }
  Peer& peer(unsigned link = 0) { return owner.lines[link].peer; }
  Message take(unsigned link = 0) {
    if (out(link).empty()) {
      ADD_FAILURE() << "no answer";
      return {};
    }
    Message message = std::move(out(link).front());
    out(link).pop_front();
    return message;
  }
  void put_now(uint64_t token, uint64_t address, const std::vector<uint8_t>& bytes,
               unsigned link = 0) {
    put(token, address, bytes, link);
    to_owner(link);
  }
  // Polls until every job is answered or stuck.
  void poll_all() {
    while (server.poll() != 0 || hashes()) {}
  }
  merkle::Digest root_of(const std::vector<uint8_t>& bytes, unsigned segment_log2 = 13) {
    const util::Piece piece{bytes.data(), bytes.size()};
    return merkle::root({bytes.size(), 1u << segment_log2}, {&piece, 1});
  }

  std::vector<uint8_t> memory = bytes_of(200'000);
  const std::vector<uint8_t> pristine = memory;
  const uint64_t base = address_of(memory.data());
};

}  // namespace verity::test

#endif
