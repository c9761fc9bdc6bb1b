// SPDX-License-Identifier: BSD-3-Clause
// What is appended to the lower transport's addresses, so that a peer knows with whom it links.
//
// Behind an interface address, 20 bytes, little endian:
//
//    0       1       2       3       4       5       6       7
//   +-------+-------+-------+-------+-------+-------+-------+-------+
// 0 |     magic     |version| mode  |             host              |
//   +-------+-------+-------+-------+-------+-------+-------+-------+
// 8 |                              uid                              |
//   +-------+-------+-------+-------+-------+-------+-------+-------+
// 16| major | minor | patch |reserv.|
//   +-------+-------+-------+-------+
//
// version   kVersion. Its offset never changes, so that versions recognise each other.
// mode      low nibble: link::Mode; high nibble: which extensions the sender understands, 0: none
//           (uct/extensions/extensions.h).
// host      hash of the host's name, for counters (health::name_hash). The name itself comes with
//           the HELLO.
// uid       of the interface. The low byte numbers the interfaces of a worker, the others are the
//           worker's own: worker_of(). Number 0 is of a transport that only reads, which has no
//           links.
// major...  the sender's release, for the line that refuses a peer of another version. It is there
//           from version 6 on, and its offset never changes either.
// reserved  sent as zero and ignored.
//
// Behind an endpoint address, 44 bytes: those 20, and the contents of the HELLO, which connected
// endpoints do not send.
//
//   +-------+-------+-------+-------+-------+-------+-------+-------+
// 16|           (above)             |             link              |
//   +-------+-------+-------+-------+-------+-------+-------+-------+
// 24|  the sender's host, 20 bytes, zero padded                     |
//   +                                                               +
// 32|                                                               |
//   +                               +-------+-------+-------+-------+
// 40|                               |
//   +-------+-------+-------+-------+
#ifndef VERITY_WIRE_ADDRESS_H
#define VERITY_WIRE_ADDRESS_H

#include "wire/frame.h"
#include "wire/release.h"

namespace verity::wire {

inline constexpr uint16_t kAddressMagic = 0x7679;  // "yv"

struct [[gnu::packed]] AddressTail {
  uint16_t magic;
  uint8_t version;
  uint8_t mode;
  uint32_t host;
  uint64_t uid;
  Release release;
  uint8_t reserved;
};
static_assert(sizeof(AddressTail) == 20, "every peer has a copy of every address");
static_assert(offsetof(AddressTail, version) == 2 && offsetof(AddressTail, release) == 16,
              "other versions look for them there");

struct [[gnu::packed]] EpAddressTail {
  AddressTail iface;
  uint32_t link;  // the sender's id for it
  char host[kMaxHostName];
};
static_assert(sizeof(EpAddressTail) == 44,
              "UCX packs no address of an endpoint of more than 63 bytes");

[[nodiscard]] constexpr uint8_t mode_and_extensions(uint8_t mode, uint8_t extensions) noexcept {
  return static_cast<uint8_t>(mode | extensions << 4);
}
[[nodiscard]] constexpr uint8_t mode_of(const AddressTail& tail) noexcept {
  return tail.mode & 0x0f;
}
[[nodiscard]] constexpr uint8_t extensions_of(const AddressTail& tail) noexcept {
  return tail.mode >> 4;
}

// What a peer appended, of any version: with what is not known of an older one zero, and no byte
// read that it did not write.
void read_address(const void* bytes, AddressTail* tail) noexcept;

// Interfaces that a worker may open before it is taken for another one.
inline constexpr uint64_t kMostInterfaces = 255;
// What the uids of all interfaces of one worker have in common.
[[nodiscard]] constexpr uint64_t worker_of(uint64_t uid) noexcept { return uid & ~kMostInterfaces; }

}  // namespace verity::wire

#endif
