// SPDX-License-Identifier: BSD-3-Clause
// Frames: what travels in one active message of the lower transport.
//
//   +--------+----------------------------------+-------------------------+
//   | header |  payload (`length` bytes)        |  hello (when flagged)   |
//   +--------+----------------------------------+-------------------------+
//   0        32                                 32 + length               = lower length, exactly
//
// Header, 32 bytes, little endian:
//
//    0       1       2       3       4       5       6       7
//   +-------+-------+-------+-------+-------+-------+-------+-------+
// 0 |                             root                              |
//   +-------+-------+-------+-------+-------+-------+-------+-------+
// 8 |             check             |             link              |
//   +-------+-------+-------+-------+-------+-------+-------+-------+
// 16|              psn              |              ack              |
//   +-------+-------+-------+-------+-------+-------+-------+-------+
// 24|            length             | kind  | flags | am_id |segment|
//   +-------+-------+-------+-------+-------+-------+-------+-------+
//
// root     single-hash frame: mix(XXH3(bytes 8 to the end of the frame), nonce); check is zero.
//          tree frame (flag kTree): mix(Merkle root of the payload, header digest), where the
//          header digest is mix(XXH3(bytes 12 to 31), nonce), and check is its low half: a damaged
//          header is distinguished from a damaged payload.
// nonce    made from the uids of both interfaces, the direction and the class: a frame that is
// stale, swapped or delivered to
//          another link fails its check. XXH3 is no MAC: this guards against faults, not against
//          forgers.
// link     the index (and generation) that the RECEIVER gave to this link, or kLinkUnknown until it
// has advertised it. psn      sequence number of a data frame; zero in control frames. ack every
// psn before this one has arrived (cumulative, modulo 2^32). kind     high nibble kMagic, low
// nibble FrameKind. am_id    low 5 bits: the upper layer's active message; bit 7: the asynchronous
// class; bits 5 and 6 are zero. segment  low nibble: log2(segment size) - 8; high nibble: kVersion.
#ifndef VERITY_WIRE_FRAME_H
#define VERITY_WIRE_FRAME_H

#include <bit>
#include <cstddef>
#include <cstdint>

namespace verity::wire {

static_assert(std::endian::native == std::endian::little,
              "the wire format is little endian, as UCX's own is host order");

inline constexpr uint8_t kMagic = 0xb;
inline constexpr uint8_t kVersion = 7;
inline constexpr uint32_t kLinkUnknown = 0xffffffffu;
inline constexpr unsigned kMinSegmentLog2 = 8;   // 256 B
inline constexpr unsigned kMaxSegmentLog2 = 16;  // 64 KiB
// Most leaves of one frame: bounds the NACK, which carries a digest for each.
inline constexpr uint32_t kMaxFrameLeaves = 256;

// Two classes of active messages, each with its own lower id and its own sequence space: the
// asynchronous one may be received while the upper layer is outside of progress.
enum class Class : uint8_t { kSync = 0, kAsync = 1 };
inline constexpr unsigned kClasses = 2;

enum class FrameKind : uint8_t {
  kData = 1,
  kAck = 2,     // the header alone
  kNack = 3,    // NackBody + digests
  kProbe = 4,   // ProbeBody
  kRepair = 5,  // RepairBody + bytes of the payload
  kBye = 6,     // the header alone: the sender's interface closes; its ack is final
};

enum FrameFlags : uint8_t {
  kTree = 1u << 0,        // payload of several segments: Merkle root
  kHello = 1u << 1,       // a HelloExt follows the payload
  kAckRequest = 1u << 2,  // acknowledge at the next progress, do not wait for reverse traffic
  kObserve = 1u << 3,     // the sender keeps no copy: check and count, deliver whatever comes
  kDetached = 1u << 4,    // in control frames: the sender has no endpoint here any more and may not
                          // progress again
  kChanged = 1u << 5,     // in data frames: sent again, and not what it was: the sender's program
                          // wrote to its memory meanwhile
  kKnownFlags = kTree | kHello | kAckRequest | kObserve | kDetached | kChanged,
};

struct FrameHeader {
  uint64_t root;
  uint32_t check;
  uint32_t link;
  uint32_t psn;
  uint32_t ack;
  uint32_t length;
  uint8_t kind;
  uint8_t flags;
  uint8_t am_id;
  uint8_t segment;

  [[nodiscard]] FrameKind frame_kind() const noexcept {
    return static_cast<FrameKind>(kind & 0x0f);
  }
  [[nodiscard]] Class frame_class() const noexcept { return static_cast<Class>(am_id >> 7); }
  [[nodiscard]] uint8_t upper_am_id() const noexcept { return am_id & 0x1f; }
  [[nodiscard]] uint32_t segment_size() const noexcept {
    return 1u << ((segment & 0x0f) + kMinSegmentLog2);
  }
};
static_assert(sizeof(FrameHeader) == 32);

// NACK, what was received of frame `psn`:
//   +-------+-------+-------+-------+-------+-------+-------+-------+
//   |              psn              |     count     |    serial     |
//   +-------+-------+-------+-------+-------+-------+-------+-------+
//   |   `count` leaf digests as received (8 bytes each)  ...        |
// count 0: nothing usable arrived of the `run` frames from psn on; run then stands where the first
// digest would. With the digests the sender finds ALL bad leaves at once from its own copy; a
// fault-free frame carries none of this. The header's psn is the serial of the PROBE that made the
// receiver repeat an earlier request, or 0: an answer that left after that PROBE is still under
// way.
struct NackBody {
  uint32_t psn;
  uint16_t count;
  uint16_t serial;
};
static_assert(sizeof(NackBody) == 8);

// PROBE, sent on a retransmission timeout: `next_psn` is one past the newest frame that was sent;
// `nacks_seen` the serial of the last NACK that it processed, so that the receiver does not repeat
// a request whose answer is on its way. `serial`, never 0, numbers the probes of a class.
struct ProbeBody {
  uint32_t next_psn;
  uint16_t nacks_seen;
  uint16_t serial;
};
static_assert(sizeof(ProbeBody) == 8);

// REPAIR, bytes [offset, offset + n) of the payload of the frame whose header is given; n is what
// remains of the frame. `last` = 1 on the last piece of an answer: the receiver then checks the
// root again.
struct RepairBody {
  FrameHeader header;
  uint32_t offset;
  uint32_t last;
};
static_assert(sizeof(RepairBody) == 40);

// HELLO extension: who sends, and which link id it expects in return. On every frame until the
// receiver is known to have it.
//   +-------+-------+-------+-------+-------+-------+-------+-------+
//   |                              uid                              |
//   +-------+-------+-------+-------+-------+-------+-------+-------+
//   |             epoch             |             link              |
//   +-------+-------+-------+-------+-------+-------+-------+-------+
//   | mode  | path  |dev len|if len |trail  |       reserved        |
//   +-------+-------+-------+-------+-------+-------+-------+-------+
//   |       the sender's host, 20 bytes, zero padded, for counters  |
//   |                                               |   reserved    |
//   +-------+-------+-------+-------+-------+-------+-------+-------+
//   |   device address, then interface address of the sender ...    |
//   |                             digest of all of the above (8)    |
// Bytes of a host's name that a HELLO advertises (health::short_name). The address carries a hash
// of it only.
inline constexpr size_t kMaxHostName = 20;

struct HelloExt {
  uint64_t uid;
  uint32_t epoch;
  uint32_t link;
  uint8_t mode;
  uint8_t path;
  uint8_t device_length;
  uint8_t iface_length;
  uint8_t trailers;  // which ones the sender understands (util/interposer.h), 0: none
  uint8_t reserved[3];
  char host[kMaxHostName];  // without an end when it is full
  uint8_t reserved2[4];
};
static_assert(sizeof(HelloExt) == 48);
inline constexpr size_t kMaxDeviceAddress = 63;
inline constexpr size_t kMaxIfaceAddress = 127;
// The most that a HELLO adds to a frame, digest included.
inline constexpr size_t kMaxHello = sizeof(HelloExt) + kMaxDeviceAddress + kMaxIfaceAddress + 8;

}  // namespace verity::wire

#endif
