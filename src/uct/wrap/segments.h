// SPDX-License-Identifier: BSD-3-Clause
//
// Which variables of the lower transports say how long a copied message may be, where that is no more than a buffer's size.
#ifndef VERITY_UCT_WRAP_SEGMENTS_H
#define VERITY_UCT_WRAP_SEGMENTS_H

namespace verity::uct {

// UCX reads a variable of nested tables by the names of all of them, and sets it by the name of the last.
struct SegmentVariable {
  const char* read;
  const char* set;
};

// ud is not among them: a message is one packet there, whatever the buffers.
inline constexpr SegmentVariable kSegmentVariables[] = {
    {"SEG_SIZE", "SEG_SIZE"},             // self
    {"MM_SEG_SIZE", "MM_SEG_SIZE"},       // posix, sysv
    {"TX_SEG_SIZE", "TX_SEG_SIZE"},       // tcp
    {"RX_SEG_SIZE", "RX_SEG_SIZE"},
    {"RC_RC_IB_SEG_SIZE", "IB_SEG_SIZE"}, // rc_verbs, rc_mlx5
    {"DC_RC_IB_SEG_SIZE", "IB_SEG_SIZE"}, // dc_mlx5
};

}  // namespace verity::uct

#endif
