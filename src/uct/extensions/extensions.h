// SPDX-License-Identifier: BSD-3-Clause
//
// What this side can do beyond plain frames, advertised to each peer and agreed with it. There is
// one extension so far, the trailers of a preloaded MPI interposer (trailers.h), and one mechanism
// for all: a nibble with the version that a side understands, 0 for none. It travels in the HELLO
// (wire::HelloExt::trailers) and in addresses (wire::AddressTail::mode, high nibble), for links
// that need no HELLO. An extension is used on a link only where both versions are the same.
#ifndef VERITY_UCT_EXTENSIONS_EXTENSIONS_H
#define VERITY_UCT_EXTENSIONS_EXTENSIONS_H

#include <cstddef>
#include <cstdint>

#include "link/state/link.h"
#include "uct/extensions/trailers.h"

namespace verity::uct {

class Extensions {
 public:
  // Once, before anything is sent, for an interface of this uct_worker_h. `has_room`: the lower
  // transport's messages are long enough for a trailer.
  void open(void* uct_worker, bool has_room) noexcept;

  // The nibble of this side.
  [[nodiscard]] uint8_t advertised() const noexcept {
    return mpi_ != nullptr ? static_cast<uint8_t>(VERITY_INTERPOSER_VERSION) : uint8_t{0};
  }
  // Bitmap of the upper messages that may get a trailer on a link with that mode whose peer
  // advertises `theirs`.
  [[nodiscard]] uint32_t agree(link::Mode mode, unsigned theirs) const noexcept;
  // Bitmap of the received messages that the interposer observes first, or that have trailers.
  [[nodiscard]] uint32_t observed_ids() const noexcept {
    return mpi_ != nullptr ? mpi_->am_ids | 1u << kTrailerId | 1u << kLeaderId : 0;
  }

  // The interposer's table. There is one where agree() or observed_ids() are not 0.
  [[nodiscard]] const verity_interposer* table() const noexcept { return mpi_; }
  [[nodiscard]] const verity_interposer& mpi() const noexcept { return *mpi_; }
  // How many sends it has begun to watch; 0 without it.
  [[nodiscard]] uint64_t watched_sends() const noexcept {
    return mpi_ != nullptr ? mpi_->watched() : 0;
  }

 private:
  const verity_interposer* mpi_ = nullptr;
};

}  // namespace verity::uct

#endif
