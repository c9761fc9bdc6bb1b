// SPDX-License-Identifier: BSD-3-Clause
#include "fuzz/hostile_frames.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "wire/codec.h"
#include "wire/compact.h"

namespace verity::fuzz {

namespace {

// A psn or acknowledgement: near the one that matters, or anything.
uint32_t near(uint32_t value, Input& input) {
  const uint8_t how = input.u8();
  return how < 250 ? value + static_cast<uint32_t>(how % 32) - 8u : input.u32();
}

void body_of(wire::FrameKind kind, link::Link& l, wire::Class c, Input& input,
             std::vector<uint8_t>& out) {
  const auto put = [&](const auto& value) {
    const auto* bytes = reinterpret_cast<const uint8_t*>(&value);
    out.insert(out.end(), bytes, bytes + sizeof(value));
  };
  const uint8_t odd = input.u8();
  if (kind == wire::FrameKind::kNack) {
    const auto count = static_cast<uint16_t>(odd < 200 ? odd % 6 : input.u16());
    put(wire::NackBody{near(l.send_window(c).una(), input), count, input.u16()});
    for (unsigned n = odd < 240 ? std::max<unsigned>(count % 600, 1) : odd % 5; n != 0; --n)
      put(input.u64());
  } else if (kind == wire::FrameKind::kProbe) {
    put(wire::ProbeBody{near(l.receive_window(c).expected() + 8, input), input.u16(), 0});
  } else if (kind == wire::FrameKind::kRepair) {
    wire::RepairBody body{};
    body.header.psn = near(l.receive_window(c).expected() + 4, input);
    body.header.length = odd < 200 ? input.u16() % 1500 : input.u32();
    body.header.kind = wire::kind_byte(wire::FrameKind::kData);
    body.header.flags = odd % 3 == 0 ? uint8_t{0} : uint8_t{wire::kTree};
    body.header.am_id = wire::am_byte(input.u8(), c);
    body.header.segment = wire::segment_byte(wire::kMinSegmentLog2 + (odd < 200 ? 0u : odd % 9u));
    body.header.root = input.u64();
    body.offset = odd < 220 ? input.u8() % 8 * 256u : input.u32();
    body.last = odd % 4 == 0;
    const size_t n = input.u16() % 700;
    std::vector<uint8_t> bytes(n, odd);
    if (odd % 5 == 0 && body.offset == 0) {  // a true one
      body.header.length = static_cast<uint32_t>(n);
      body.header.flags = n > 256 ? uint8_t{wire::kTree} : uint8_t{0};
      body.header.segment = wire::segment_byte(8);
      const util::Piece piece{bytes.data(), n};
      if (n > 256) {
        wire::seal_tree(&body.header, {&piece, 1}, l.receive_window(c).nonce());
      } else {
        wire::seal_single(&body.header, util::Pieces(&piece, 1), l.receive_window(c).nonce());
      }
    }
    put(body);
    out.insert(out.end(), bytes.begin(), bytes.end());
  } else {
    out.resize(input.u16() % 900, odd);
  }
  if (odd == 255) out.resize(input.u8());
}

std::vector<uint8_t> sealed(wire::FrameHeader header, wire::Class c,
                            const std::vector<uint8_t>& body, uint64_t from, uint64_t to,
                            link::Link& l, Input& input) {
  uint64_t nonce = l.receive_window(c).nonce();
  std::vector<uint8_t> hello;
  if ((header.flags & wire::kHello) != 0) {
    wire::HelloExt ext{};
    ext.uid = from;
    ext.epoch = input.u8() % 8;
    ext.link = input.u8();
    ext.mode = input.u8() % 4;
    ext.path = input.u8() % 2;
    ext.device_length = input.u8() % 64;
    ext.iface_length = input.u8() % 128;
    hello.resize(sizeof(ext) + ext.device_length + ext.iface_length + sizeof(uint64_t));
    std::memcpy(hello.data(), &ext, sizeof(ext));
    nonce = wire::nonce(ext.uid, to, c);
    wire::seal_hello(hello.data(), hello.size(), nonce);
  }
  const util::Piece payload{body.data(), body.size()};
  const util::Piece rest[2] = {payload, {hello.data(), hello.size()}};
  if ((header.flags & wire::kTree) != 0) {
    wire::seal_tree(&header, {&payload, 1}, nonce);
  } else {
    wire::seal_single(&header, util::Pieces(rest, 2), nonce);
  }
  std::vector<uint8_t> frame(sizeof(header) + body.size() + hello.size());
  std::memcpy(frame.data(), &header, sizeof(header));
  std::copy(body.begin(), body.end(), frame.begin() + sizeof(header));
  std::copy(hello.begin(), hello.end(), frame.end() - static_cast<std::ptrdiff_t>(hello.size()));
  if (input.u8() < 20) {  // and sometimes damaged all the same
    const size_t bit = input.u16() % (frame.size() * 8);
    frame[bit / 8] = static_cast<uint8_t>(frame[bit / 8] ^ (1u << bit % 8));
  }
  return frame;
}

}  // namespace

HostileFrame hostile_frame(uint64_t from, uint64_t to, link::Link& l, Input& input) {
  const uint8_t how = input.u8();
  const auto c = static_cast<wire::Class>(how & 1);
  const auto kind = static_cast<wire::FrameKind>(1 + (how >> 1) % 6);
  wire::FrameHeader header{};
  std::vector<uint8_t> body;
  body_of(kind, l, c, input, body);
  const uint8_t flags = input.u8();
  header.link = (flags & 0x20) != 0   ? wire::kLinkUnknown
                : (flags & 0x40) != 0 ? input.u32()
                                      : l.local_id;
  header.psn = kind == wire::FrameKind::kData ? near(l.receive_window(c).expected() + 6, input) : 0;
  header.ack = near(l.send_window(c).una() + 8, input);
  header.length = static_cast<uint32_t>(body.size());
  header.kind = wire::kind_byte(kind);
  header.flags = flags & (wire::kKnownFlags & ~wire::kTree);
  if (kind == wire::FrameKind::kData && body.size() > 256) header.flags |= wire::kTree;
  header.am_id = wire::am_byte(input.u8(), c);
  header.segment = wire::segment_byte(8);
  return {c, sealed(header, c, body, from, to, l, input)};
}

HostileFrame hostile_compact_frame(link::Link& l, Input& input) {
  const uint8_t odd = input.u8();
  std::vector<uint8_t> frame(wire::kCompactHeader + (odd < 250 ? odd : input.u16()), odd);
  const uint8_t how = input.u8();
  wire::CompactFields f{l.local_id, near(l.rx[0].expected() + 6, input),
                        near(l.tx[0].una() + 8, input), input.u8(),
                        static_cast<uint8_t>(odd < 240 ? 0xc0 | (odd & 1) : odd)};
  if (how < 60) f.am_id &= 31;
  // From long ago, or of a previous link, or damaged: what the header shows is right, but must not
  // be believed. What the input made of the numbers before may lie just as far on the other side.
  const auto is_old = [](uint32_t full, uint32_t near_to) {
    return wire::widen(full & 0xffff, near_to) != full;
  };
  bool wrong = false;
  switch (how % 16) {
    case 0: f.psn += 0x10000u << how / 16; break;
    case 1: f.ack += 0x10000u << how / 16; break;
    case 2:
      f.link ^= 0x1000000u << how / 16 % 8;
      wrong = true;
      break;
    default: break;
  }
  wrong = wrong || is_old(f.psn, l.rx[0].expected()) || is_old(f.ack, l.tx[0].una());
  uint8_t* payload = frame.data() + wire::kCompactHeader;
  wire::write_compact(payload, f);
  wire::seal_compact(payload, frame.size() - wire::kCompactHeader, l.rx[0].nonce(),
                     wire::compact_key(f));
  if (how % 16 == 3) {
    frame[input.u16() % frame.size()] ^= 1;
    wrong = true;
  }
  return {wire::Class::kSync, std::move(frame), wrong};
}

}  // namespace verity::fuzz
