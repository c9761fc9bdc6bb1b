// SPDX-License-Identifier: BSD-3-Clause
// A frame on the wire between two interfaces of a test: what it says, and how it is damaged.
#ifndef VERITY_TEST_UNIT_LINK_WIRE_FRAME_H
#define VERITY_TEST_UNIT_LINK_WIRE_FRAME_H

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "wire/compact.h"
#include "wire/frame.h"

namespace verity::test {

using wire::Class;
using wire::FrameHeader;
using wire::FrameKind;

struct WireFrame {
  std::vector<uint8_t> bytes;
  Class c;
  bool compact = false;

  [[nodiscard]] size_t header_size() const {
    return compact ? wire::kCompactHeader : sizeof(FrameHeader);
  }

  // Of a compact frame: what its header says, with the numbers next to `near`.
  [[nodiscard]] FrameHeader header(uint32_t near = 0) const {
    FrameHeader h{};
    if (!compact) {
      std::memcpy(&h, bytes.data(), sizeof(h));
      return h;
    }
    const wire::CompactView view = wire::read_compact(bytes.data());
    h.psn = wire::widen(view.fields.psn, near);
    h.ack = wire::widen(view.fields.ack, near);
    h.link = view.fields.link;
    h.length = static_cast<uint32_t>(bytes.size() - wire::kCompactHeader);
    h.kind = wire::kind_byte(FrameKind::kData);
    h.flags = (view.fields.kind & wire::kCompactAckRequest) != 0 ? wire::kAckRequest : 0;
    h.am_id = view.fields.am_id;
    return h;
  }
  [[nodiscard]] FrameKind kind() const { return header().frame_kind(); }
  template <typename Body>
  [[nodiscard]] Body body() const {
    Body b;
    std::memcpy(&b, bytes.data() + sizeof(FrameHeader), sizeof(b));
    return b;
  }
  // A bit of the payload's byte `offset`.
  void flip_payload(size_t offset) { flip((header_size() + offset) * 8 + offset % 8); }
  // A bit of the acknowledgement.
  void flip_ack() { flip((compact ? wire::kCompactHeader - 3 : offsetof(FrameHeader, ack)) * 8); }
  void flip(size_t bit) { bytes[bit / 8] = static_cast<uint8_t>(bytes[bit / 8] ^ (1u << bit % 8)); }
};

}  // namespace verity::test

#endif
