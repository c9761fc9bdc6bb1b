// SPDX-License-Identifier: BSD-3-Clause
#include "uct/sending/frame_limits.h"

#include <algorithm>

#include "uct/extensions/trailers.h"

namespace verity::uct {

namespace {

// Zero-copy sends up to this are copied, where the lower transport copies as much: cheaper than
// keeping the user waiting for an acknowledgement.
constexpr size_t kCopyUpTo = 2048;

// Bytes from which on short messages are kept behind their send (late_copy.h): on an Intel Xeon
// that takes a twentieth off the latency at 4 KiB and an eighth at 8 KiB, at the same rate; at 1
// KiB it costs a fifth of the rate.
constexpr size_t kLateFrom = 4096;

// Bytes of the longest upper header of a zero-copy message: UCP's are shorter.
constexpr size_t kMostHeader = 256;

// Bytes of the longest copied message where zero-copy ones are gathered: the usual buffer's, and an
// eighth for what UCP adds.
constexpr size_t kMostCopied = 9216;
// Bytes of the longest message of remote memory access. It bounds the slots of such messages
// (FrameLimits::max_large), which with all headers stay below 64 KiB each.
constexpr size_t kMaxRma = 60 * 1024;

[[nodiscard]] constexpr size_t whole_elements(size_t limit) noexcept {
  return limit / kElement * kElement;
}

// Where the lower transport only copies, zero-copy messages are gathered from the user's memory
// into its buffers. They may be as long as those. Copied ones are kept in slots as well, and cost
// less where a frame is compact.
void gather(FrameLimits* limits, size_t segment) noexcept {
  limits->gathers = true;
  limits->fuse_from = SIZE_MAX;
  limits->late_from = kLateFrom;
  limits->max_zcopy = limits->max_bcopy;
  limits->max_bcopy =
      std::min(limits->max_bcopy, whole_elements(std::max(segment + segment / 8, kMostCopied)));
  limits->max_header = kMostHeader;
  limits->header_room = kMostHeader + kTrailerRoom;
  limits->max_iov = link::kMaxSourcePieces - 1;
}

}  // namespace

FrameLimits limits_of(const uct_iface_attr_t& lower, const link::Config& config, size_t hello,
                      LowerTraits traits) noexcept {
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
  const bool has_zcopy = (lower.cap.flags & UCT_IFACE_FLAG_AM_ZCOPY) != 0;
  if (!has_zcopy && !traits.is_self) gather(&limits, segment);
  limits.copy_up_to = std::min(kCopyUpTo, limits.max_bcopy);
  limits.max_rma = limits.max_bcopy;
  limits.max_frame = std::max<size_t>(kHeader + limits.max_bcopy + added, 2048);
  if (!has_zcopy || cap.max_zcopy <= kHeader + added || cap.max_iov < 3) return limits;
  const size_t long_rma =
      whole_elements(std::min({cap.max_zcopy - kHeader - added, most, kMaxRma}));
  if (traits.reads_any_memory && long_rma > limits.max_rma) {
    limits.max_rma = long_rma;
    limits.max_large = kHeader + long_rma + link::ZeroCopy::source_space(0) + added;
  }
  limits.header_room = cap.max_hdr > kHeader ? cap.max_hdr - kHeader : 0;
  const size_t header = std::min(limits.header_room, kMostHeader);
  if (header < 64) return limits;
  limits.max_header = header;
  limits.max_zcopy = whole_elements(std::min(cap.max_zcopy - kHeader - added, most - room));
  limits.max_iov = std::min(cap.max_iov - 1, link::kMaxSourcePieces - 1);
  return limits;
}

}  // namespace verity::uct
