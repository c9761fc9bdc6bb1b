// SPDX-License-Identifier: BSD-3-Clause
#include "uct/sending/frame_limits.h"

#include "uct/extensions/trailers.h"

namespace verity::uct {

namespace {

// Zero-copy sends up to this are copied, where the lower transport copies as much: cheaper than
// keeping the user waiting for an acknowledgement.
constexpr size_t kCopyUpTo = 2048;

[[nodiscard]] constexpr size_t whole_elements(size_t limit) noexcept {
  return limit / kElement * kElement;
}

}  // namespace

FrameLimits limits_of(const uct_iface_attr_t& lower, const link::Config& config,
                      size_t hello) noexcept {
  const auto& cap = lower.cap.am;
  constexpr size_t kHeader = sizeof(wire::FrameHeader);
  const size_t segment = size_t{1} << config.segment_log2;
  const size_t most = std::min<size_t>(segment * wire::kMaxFrameLeaves, 1u << 23);
  FrameLimits limits;
  // With an MPI interposer or without: a peer goes by our limits, and may have the other.
  const size_t room = cap.max_bcopy >= kHeader + hello + 2 * kTrailerRoom ? kTrailerRoom : 0;
  const size_t added = hello + room;
  limits.trailer_room = room;
  limits.max_short = (lower.cap.flags & UCT_IFACE_FLAG_AM_SHORT) != 0 ? cap.max_short : 0;
  limits.max_bcopy = whole_elements(std::min(cap.max_bcopy - kHeader - added, most - room));
  limits.copy_up_to = std::min(kCopyUpTo, limits.max_bcopy);
  limits.max_frame = std::max<size_t>(kHeader + limits.max_bcopy + added, 2048);
  const bool has_zcopy = (lower.cap.flags & UCT_IFACE_FLAG_AM_ZCOPY) != 0;
  if (!has_zcopy || cap.max_zcopy <= kHeader + added || cap.max_iov < 3) return limits;
  limits.header_room = cap.max_hdr > kHeader ? cap.max_hdr - kHeader : 0;
  const size_t header = std::min<size_t>(limits.header_room, 256);
  if (header < 64) return limits;
  limits.max_header = header;
  limits.max_zcopy = whole_elements(std::min(cap.max_zcopy - kHeader - added, most - room));
  limits.max_iov = std::min(cap.max_iov - 1, link::kMaxSourcePieces - 1);
  return limits;
}

}  // namespace verity::uct
