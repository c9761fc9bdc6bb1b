// SPDX-License-Identifier: BSD-3-Clause
//
// Which variables of the lower transports say how long a copied message may be, where that is no
// more than a buffer's size; and where the message's own header on the wire cannot say more than so
// much, whatever the variables say.
#ifndef VERITY_UCT_COMPAT_SEGMENTS_H
#define VERITY_UCT_COMPAT_SEGMENTS_H

#include <cstddef>
#include <cstdint>

namespace verity::uct {

// UCX reads a variable of nested tables by the names of all of them, and sets it by the name of the
// last.
struct SegmentVariable {
  const char* read;
  const char* set;
  // How many of the buffers are allocated at once; nullptr: the size of frames stays as it is.
  const char* buffers = nullptr;
  // Bytes that a buffer has at least, for the frames of large messages.
  size_t large_frame = 0;
  // Below this the size is somebody's choice, for the sake of memory.
  size_t usual = 8192;
};

// More of a large message in a frame costs less a byte, until it leaves the cache between the
// passes over it.
inline constexpr size_t kLargeFrame = 16384;

// A frame of a large message over tcp fills three packets. One packet of 65535 bytes has IP's and
// TCP's headers, with timestamps, also where the device cuts it (TSO) or there is none (lo), and a
// message has a header of UCX's own. A few bytes more would cost one more packet. Each frame costs
// both sides a system call and some 1.3 us; longer ones leave the receiver with more to hash and to
// copy when the last byte has come, and the latency of 1 MiB grows.
inline constexpr size_t kTcpPacket = 65535 - 20 - 32;
inline constexpr size_t kTcpHeader = 5;
inline constexpr size_t kTcpFrame = 3 * kTcpPacket - kTcpHeader;

// ud is not among them: a message is one packet there, whatever the buffers.
inline constexpr SegmentVariable kSegmentVariables[] = {
    {"SEG_SIZE", "SEG_SIZE"},                                        // self
    {"MM_SEG_SIZE", "MM_SEG_SIZE", "MM_RX_BUFS_GROW", kLargeFrame},  // posix, sysv
    {"TX_SEG_SIZE", "TX_SEG_SIZE"},                                  // tcp
    {"RX_SEG_SIZE", "RX_SEG_SIZE", "RX_BUFS_GROW", kTcpFrame + kTcpHeader, 65536},
    {"RC_RC_IB_SEG_SIZE", "IB_SEG_SIZE"},  // rc_verbs, rc_mlx5
    {"DC_RC_IB_SEG_SIZE", "IB_SEG_SIZE"},  // dc_mlx5
};

// Shared memory queues write the length of a message into 16 bits and neither refuse a larger
// buffer nor a longer message, of which the receiver then gets the length modulo 65536. All others
// have 32 bits or more, or no length at all (self, InfiniBand), and the plugin's frames stay below
// 16 MiB. Read in UCX's sources from 1.13.1 to 1.23.
struct LengthField {
  const char* transport;
  size_t most;  // bytes
};
inline constexpr LengthField kLengthFields[] = {
    {"posix", UINT16_MAX},
    {"sysv", UINT16_MAX},
    {"xpmem", UINT16_MAX},
};

// Zero-copy messages are no longer than this, whatever the buffers hold.
struct ZeroCopyLimit {
  const char* transport;
  size_t most;  // bytes
};
inline constexpr ZeroCopyLimit kZeroCopyLimits[] = {
    {"tcp", kTcpFrame},
};

}  // namespace verity::uct

#endif
