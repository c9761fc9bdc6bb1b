// SPDX-License-Identifier: BSD-3-Clause
#include "link/zero_copy.h"

#include <algorithm>
#include <cstring>
#include <new>

namespace verity::link {

namespace {

// Behind the first bytes of the payload, which are its first piece.
Source* new_source(Slot* slot, size_t length) noexcept {
  auto place = reinterpret_cast<uintptr_t>(slot->payload()) + length;
  place = (place + alignof(Source) - 1) / alignof(Source) * alignof(Source);
  slot->source = new (reinterpret_cast<void*>(place)) Source;
  slot->source->pieces[0] = {slot->payload(), length};
  slot->source->handles[0] = nullptr;
  slot->source->count = 1;
  return slot->source;
}

}  // namespace

Source* ZeroCopy::make_source(Slot* slot, const void* upper_header, size_t header_length) noexcept {
  if (header_length != 0) std::memcpy(slot->payload(), upper_header, header_length);
  return new_source(slot, header_length);
}

Source* ZeroCopy::make_source_in_slot(Slot* slot, size_t length) noexcept {
  Source* source = new_source(slot, length);
  source->in_slot = source->bounced = true;
  return source;
}

void ZeroCopy::committed(Link& link, Slot& slot, uint32_t polls) noexcept {
  slot.source->link = &link;
  slot.source->slot = &slot;
  ++link.zero_copies;
  if (slot.source->bounced) return;
  unbounced_.push_back(slot.source->unbounced);
  last_send_ = polls;
}

void ZeroCopy::free_source(Link& link, Slot& slot) noexcept {
  if (slot.source->sending || slot.source->freed) return;
  slot.source->freed = true;
  iface_.port.source_free(link, slot);
}

namespace {

// Of a slot that was bounced while the lower transport read its pieces: whether the program wrote
// to them behind that. What was sent may be no copy of the bounce buffer's bytes then.
bool has_changed(Slot& slot) noexcept {
  const Source& source = *slot.source;
  const auto* copy = static_cast<const uint8_t*>(source.bounce) + slot.header()->length;
  for (uint32_t i = source.replaced; i-- > 1;) {  // the first one stood in the slot
    const util::Piece& piece = source.pieces[i];
    const auto* user = static_cast<const uint8_t*>(piece.data);
    copy -= piece.length;
    // Not memcmp(): an empty one may be null.
    if (!std::equal(copy, copy + piece.length, user)) return true;
  }
  return false;
}

}  // namespace

void ZeroCopy::source_sent(Link& link, Slot& slot) noexcept {
  slot.source->sending = false;
  // Should it be sent again, its root differs by that flag, as if its own bytes had changed.
  if (slot.source->compared && !slot.source->acked && slot.repair == nullptr && has_changed(slot))
    slot.header()->flags |= wire::kChanged;
  if (slot.source->acked) slot.source->unbounced.unlink();
  if (slot.source->acked && slot.source->released) return give_back(&slot);
  if (slot.source->acked || slot.source->bounced) free_source(link, slot);
}

// Callers rely on the lower transport's local completion: a buffered send of MPI never calls for
// progress, so that a buffer that becomes free in progress only would never be free for it.
bool ZeroCopy::complete_at_once(Link& link, Slot& slot) noexcept {
  Source& source = *slot.source;
  source.freed = true;  // by the send's own return
  if (!source.acked) {
    const bool has_room = buffers_.in_use() + slot.header()->length <= iface_.config.pool_limit;
    if (!has_room || !bounce(link, slot)) {
      source.freed = false;
      source_sent(link, slot);
      return false;
    }
    count_late_copy(link);
  }
  source.sending = false;
  if (source.acked) source.unbounced.unlink();
  release(&slot);
  return true;
}

void ZeroCopy::let_go(Link& link, Slot& slot) noexcept {
  slot.source->freed = true;
  slot.source->compared = false;
  iface_.port.source_free(link, slot);
}

void ZeroCopy::acknowledged(Link& link, Slot* slot) noexcept {
  Source& source = *slot->source;
  source.acked = true;
  --link.zero_copies;
  source.unbounced.unlink();
  // Out of the window, but not over: whoever ends an endpoint or the link finds it here.
  if (source.sending) link.still_read.push_back(source.unbounced);
  if (!source.released) return free_source(link, *slot);
  if (!source.sending) give_back(slot);
}

void ZeroCopy::release(Slot* slot) noexcept {
  Source& source = *slot->source;
  source.freed = !source.sending;
  source.released = !source.sending;
  if (source.acked && source.released) give_back(slot);
}

void ZeroCopy::give_back(Slot* slot) noexcept {
  if (slot->source->bounce != nullptr) buffers_.give(slot->source->bounce, slot->header()->length);
  slot->source = nullptr;
  pool_.give(slot);
}

bool ZeroCopy::bounce(Link& link, Slot& slot) noexcept {
  Source& source = *slot.source;
  if (source.bounced) return true;
  const size_t length = slot.header()->length;
  void* copy = buffers_.take(length);
  if (copy == nullptr) return false;
  source.unbounced.unlink();
  util::copy_out({source.pieces, source.count}, 0, copy, length);
  source.bounce = copy;
  source.replaced = source.count;
  source.pieces[0] = {copy, length};
  source.count = 1;
  source.bounced = true;
  source.compared = source.sending;
  free_source(link, slot);
  return true;
}

void ZeroCopy::bounce_oldest() noexcept {
  for (util::ListNode* node = unbounced_.next; node != &unbounced_; node = node->next) {
    Source& source = *VERITY_CONTAINER_OF(node, Source, unbounced);
    if (source.sending) continue;
    Link& link = *source.link;
    Slot& slot = *source.slot;
    const Slot* unsent = link.send_window(slot.header()->frame_class()).first_unsent();
    if (unsent != nullptr && static_cast<int32_t>(slot.psn - unsent->psn) >= 0) continue;
    if (bounce(link, slot)) count_late_copy(link);
    return;
  }
}

namespace {

template <typename Check>
bool any_in_flight(const Link& link, const Psns& until, Check&& check) noexcept {
  if (link.zero_copies == 0) return false;
  for (unsigned c = 0; c < wire::kClasses; ++c) {
    for (const Slot* slot = link.tx[c].oldest(); slot != nullptr; slot = slot->next) {
      if (static_cast<int32_t>(until[c] - slot->psn) <= 0) break;
      if (slot->source != nullptr && check(*slot->source)) return true;
    }
  }
  return false;
}

}  // namespace

bool ZeroCopy::has_unbounced(const Link& link) noexcept {
  return has_unbounced_before(link, link.next_psns());
}

bool ZeroCopy::has_unbounced_before(const Link& link, const Psns& psn) noexcept {
  if (link.still_read.linked()) return true;
  return any_in_flight(link, psn, [](const Source& s) { return !s.bounced || s.sending; });
}

bool ZeroCopy::has_uncopied(const Link& link) noexcept {
  return any_in_flight(link, link.next_psns(), [](const Source& s) { return !s.bounced; });
}

void ZeroCopy::count_late_copy(Link& link) noexcept {
  ++late_copies_;
  link.counters->late_copies++;
}

void ZeroCopy::trim() noexcept {
  if (late_copies_ == copies_at_trim_) buffers_.trim();
  copies_at_trim_ = late_copies_;
}

}  // namespace verity::link
