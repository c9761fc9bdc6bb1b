// SPDX-License-Identifier: BSD-3-Clause
// What all parts of one interface's link layer share: who it is, its configuration, its port.
#ifndef VERITY_LINK_PORT_INTERFACE_H
#define VERITY_LINK_PORT_INTERFACE_H

#include <cstddef>
#include <cstdint>

#include "health/counters.h"
#include "link/state/connection.h"
#include "wire/frame.h"

namespace verity::link {

class Port;

// One field for each setting.
struct Config {
  unsigned segment_log2 = 13;          // leaf size
  uint32_t window_frames = 512;        // frames in flight per link and class
  uint32_t window_bytes = 512 * 1024;  // bytes in flight per link and class
  uint32_t max_repairs = 16;           // attempts per frame
  uint32_t ack_polls = 64;        // polls that a delayed acknowledgement waits for reverse traffic
  uint64_t copy_after = 100'000;  // ns; zero-copy sends to a silent peer are bounced then
  uint32_t copy_polls =
      16;  // or after so many polls since the last zero-copy send: the caller seems to wait
  uint64_t probe_after =
      1'000'000;  // ns; retransmission timeout: first probe, then four times as long each time ...
  uint64_t probe_limit = 20'000'000'000;  // ... up to this
  size_t max_send = 8192;                 // bytes of the largest frame that Port::send takes
  size_t max_frame = 8192;                // bytes of the largest frame that is stored in a slot
  size_t max_large = 0;                   // of some that are longer than that; 0: there are none
  size_t hello_size = wire::kMaxHello;    // bytes that our own HELLO takes at most
  size_t pool_limit = 64 << 20;           // bytes
  size_t out_of_order_limit = 32 << 20;   // bytes of the out-of-order queues
  Mode mode = Mode::kVerify;
  bool compact = false;  // the caller can send and receive compact frames (wire/compact.h)

  bool operator==(const Config&) const = default;
};

struct Interface {
  const uint64_t uid;
  const Config config;
  Port& port;
  health::Counters&
      counters;  // of frames that belong to no link, and of links that have none of their own

  [[nodiscard]] uint32_t segment_size() const noexcept { return 1u << config.segment_log2; }
};

}  // namespace verity::link

#endif
