// SPDX-License-Identifier: BSD-3-Clause
//
// Zero-copy sends whose buffers are free: their upper completions run in progress, oldest first, or
// when their endpoint goes. A completion may do anything, so each is called without the guard, when
// its send is no longer in the list.
#ifndef VERITY_UCT_SENDING_COMPLETIONS_H
#define VERITY_UCT_SENDING_COMPLETIONS_H

#include "uct/links/iface_core.h"
#include "uct/links/uct_link.h"

namespace verity::uct {

// A zero-copy send, in link::Source::port.
struct ZcopyState {
  uct_completion_t lower;  // what the lower transport completes
  uct_completion_t* upper;
  UctLink* link;
  uint64_t serial;  // of the upper endpoint
  link::Slot* slot;
  link::Slot* next_done;
  ucs_status_t status;
  uint64_t watched;  // the MPI interposer's count of sends when this one left; 0 without it

  [[nodiscard]] static ZcopyState& of(link::Slot& slot) noexcept {
    return *reinterpret_cast<ZcopyState*>(slot.source->port);
  }
};
static_assert(sizeof(ZcopyState) <= sizeof(link::Source::port));

class Completions {
 public:
  explicit Completions(IfaceCore& core) noexcept : core_(core) {}

  [[nodiscard]] bool empty() const noexcept { return first_ == nullptr; }
  // Those that are left now, behind what was not the worker's progress, are for this layer's alone:
  // not to run ahead of a message within the lower transport's (receiving/delivery.cc, is_kept()).
  void keep() noexcept { kept_ = first_ != nullptr; }
  [[nodiscard]] bool are_kept() const noexcept { return kept_; }
  // The buffers of that send are free. Without an upper completion its slot is released at once,
  // but for one that failed: tcp may complete it again before it returns (lower_zcopy_done()).
  void add(link::Slot& slot, ucs_status_t status) noexcept;
  // Makes all upper completions; how many.
  unsigned run() noexcept;
  // Those of an endpoint that goes, by its serial number: what the link has copied is over for the
  // upper layer, as on UCX's own transports.
  void run_of(uint64_t serial) noexcept;

 private:
  // Serial numbers begin with 1.
  static constexpr uint64_t kAll = 0;
  [[nodiscard]] bool complete_next(uint64_t serial) noexcept;
  [[nodiscard]] link::Slot* take_of(uint64_t serial) noexcept;

  IfaceCore& core_;
  link::Slot* first_ = nullptr;
  link::Slot* last_ = nullptr;
  bool kept_ = false;
};

}  // namespace verity::uct

#endif
