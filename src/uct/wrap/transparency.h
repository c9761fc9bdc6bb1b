// SPDX-License-Identifier: BSD-3-Clause
//
// Wrapping under the lower transports' own names. UCX then finds no device of the lower ones, which
// the wrapper alone can open (Component::hide_lowers), so that UCX_TLS, its aliases and the filters
// of MPI libraries mean the wrapped ones.
//
// A peer without the plugin has transports of the same names. UCP takes it for one that can be
// reached, unless their addresses say otherwise: a device address starts with a mark here.
//
//    0       1       2       3       4       5       6       7
//   +-------+-------+-------+-------+-------+-------+-------+-------+
//   | 0x04  |  'v'  |  'y'  |   0   |   0   |  'u'  |  'c'  |  't'  |  the lower transport's ...
//   +-------+-------+-------+-------+-------+-------+-------+-------+
//
// This side takes what has no mark for a raw peer's, and refuses it. Raw transports, from 1.13 to
// 1.23, take the mark for an address of a device that they do not reach:
//
//   tcp                            byte 1 is an address family, which there is not
//   posix, sysv, xpmem, cma, knem  the 8 bytes are the id of a host, which is not this one
//   rc, ud, dc, srd                byte 0 says InfiniBand with a partition key behind its LID,
//                                  which is in bytes 1 and 2; the key is 0, which no port has
//   self                           its interface address is another one's
//
// so that UCP finds them unreachable and returns an error to its user.
#ifndef VERITY_UCT_WRAP_TRANSPARENCY_H
#define VERITY_UCT_WRAP_TRANSPARENCY_H

#include <array>
#include <cstdint>
#include <cstring>

#include "uct/compat/ucx.h"

namespace verity::uct {

// UCP packs no device address of more than 31 bytes in its first format; the longest lower one has
// 21 (InfiniBand).
inline constexpr std::array<uint8_t, 8> kDeviceMark = {0x04, 'v', 'y', 0, 0, 'u', 'c', 't'};

// In UCP's addresses at least as many bytes follow any device address.
[[nodiscard]] inline bool has_mark(const uct_device_addr_t* address) noexcept {
  return address != nullptr && std::memcmp(address, kDeviceMark.data(), kDeviceMark.size()) == 0;
}

}  // namespace verity::uct

#endif
