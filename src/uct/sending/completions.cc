// SPDX-License-Identifier: BSD-3-Clause
#include "uct/sending/completions.h"

#include <utility>

namespace verity::uct {

void Completions::add(link::Slot& slot, ucs_status_t status) noexcept {
  ZcopyState& state = ZcopyState::of(slot);
  if (state.upper == nullptr && status == UCS_OK) return core_.hub->zero_copy.release(&slot);
  state.status = status;
  state.next_done = nullptr;
  (first_ == nullptr ? first_ : ZcopyState::of(*last_).next_done) = &slot;
  last_ = &slot;
  core_.check_kept = true;
}

// The oldest one, or the oldest of that endpoint.
link::Slot* Completions::take_of(uint64_t serial) noexcept {
  link::Slot* before = nullptr;
  link::Slot* slot = first_;
  while (slot != nullptr && serial != kAll && ZcopyState::of(*slot).serial != serial) {
    before = slot;
    slot = ZcopyState::of(*slot).next_done;
  }
  if (slot == nullptr) return nullptr;
  (before == nullptr ? first_ : ZcopyState::of(*before).next_done) =
      ZcopyState::of(*slot).next_done;
  if (last_ == slot) last_ = before;
  kept_ = kept_ && first_ != nullptr;
  return slot;
}

unsigned Completions::run() noexcept {
  unsigned count = 0;
  while (complete_next(kAll)) ++count;
  return count;
}

void Completions::run_of(uint64_t serial) noexcept {
  while (complete_next(serial)) {}
}

bool Completions::complete_next(uint64_t serial) noexcept {
  uct_completion_t* upper;
  ucs_status_t status;
  {
    const AsyncGuard guard(core_.threads);
    link::Slot* slot = take_of(serial);
    if (slot == nullptr) return false;
    ZcopyState& state = ZcopyState::of(*slot);
    upper = std::exchange(state.upper, nullptr);
    status = state.status;
    state.serial = kAll;  // no endpoint's any more
    core_.hub->zero_copy.release(slot);
  }
  if (upper != nullptr) invoke_completion(upper, status);
  return true;
}

}  // namespace verity::uct
