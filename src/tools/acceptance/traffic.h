// SPDX-License-Identifier: BSD-3-Clause
//
// Messages between this process and one of another host, whose bytes are known in advance. The two
// find each other by lines: each writes its address to its standard output and reads the other's
// from its standard input; the line "ended" says that the other one will not answer.
#ifndef VERITY_TOOLS_ACCEPTANCE_TRAFFIC_H
#define VERITY_TOOLS_ACCEPTANCE_TRAFFIC_H

#include <cstddef>
#include <cstdint>
#include <string>

namespace verity::tools {

struct TrafficOrder {
  bool first = true;  // sends the first twenty messages, the other one the next ones, and so on
  std::uint64_t messages = 0;  // of both together
  std::size_t largest = 0;     // bytes; sizes are of all magnitudes up to it
  std::uint64_t die_after =
      0;             // the second one kills itself after so many messages; 0: it does not
  int seconds = 60;  // what takes longer fails
};

struct TrafficResult {
  std::string error;           // empty: all messages arrived
  std::uint64_t messages = 0;  // received
  std::uint64_t bytes = 0;     // of these
  std::uint64_t wrong_messages = 0;
  std::uint64_t wrong_bytes = 0;
  std::string noticed;       // with die_after: UCX's words when the peer's end was noticed
  double noticed_after = 0;  // seconds from the last message that arrived
  std::string endpoint;      // UCP's description of its lanes
};

// The byte at `offset` of message `number`: no two messages or places look alike.
[[nodiscard]] std::uint8_t expected_byte(std::uint64_t number, std::size_t offset);
// Of message `number`, the same on both sides.
[[nodiscard]] std::size_t message_size(std::uint64_t number, std::size_t largest);

[[nodiscard]] TrafficResult exchange_traffic(const TrafficOrder& order);

}  // namespace verity::tools

#endif
