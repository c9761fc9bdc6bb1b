// SPDX-License-Identifier: BSD-3-Clause
// The sending side beyond the fast path: window, acknowledgements, frames that wait for the lower transport, zero copy.
#include <cstdlib>
#include <new>

#include "link/hub.h"

namespace verity::link {

Slot* Hub::reserve_slow(Link& link, Sender& tx, size_t length) noexcept {
  const size_t size = sizeof(wire::FrameHeader) + length + (link.plain ? 0 : hello_size_);
  pool_.refill();
  if (Slot* slot = pool_.take(size); slot != nullptr) return slot;
  // The pool is at its limit. A link with nothing in flight has no acknowledgement to wait for: it gets its reserve of one.
  if (tx.oldest == nullptr) return Pool::take_reserve(size);
  tx.blocked = true;
  return nullptr;
}

size_t Hub::append_hello(Link& link, wire::Class c, uint8_t* out) noexcept {
  wire::HelloExt ext{};
  ext.uid = uid_;
  ext.epoch = link.epoch;
  ext.link = link.local_id;
  ext.mode = static_cast<uint8_t>(config_.mode);
  ext.path = link.path;
  port_.write_addresses(ext, out + sizeof(ext));
  std::memcpy(out, &ext, sizeof(ext));
  const size_t size = sizeof(ext) + ext.device_length + ext.iface_length + sizeof(uint64_t);
  wire::seal_hello(out, size, link.sender(c).nonce);
  return size;
}

void Hub::commit_slow(Link& link, wire::Class c, Slot* slot, uint32_t length, uint8_t am_id) noexcept {
  Sender& tx = link.sender(c);
  wire::FrameHeader* header = slot->header();
  prepare(link, c, slot, length, am_id);
  header->flags &= link.mode == Mode::kObserve ? 0 : 0xff;
  header->flags |= link.mode == Mode::kObserve ? wire::kObserve : 0;
  if (link.greeting) {
    header->flags |= wire::kHello;
    const size_t hello = append_hello(link, c, slot->payload() + length);
    resize(tx, *slot, slot->size + static_cast<uint32_t>(hello));
  }
  if (length <= segment_size_) {
    wire::seal_single(header, slot->size, tx.nonce);
  } else {
    header->flags |= wire::kTree;
    const util::Piece payload{slot->payload(), length};
    wire::seal_tree(header, {&payload, 1}, tx.nonce);
  }
  append(link, c, slot, length);
}

Source* Hub::make_source(Slot* slot, const void* upper_header, size_t header_length) noexcept {
  if (header_length != 0) std::memcpy(slot->payload(), upper_header, header_length);
  auto place = reinterpret_cast<uintptr_t>(slot->payload()) + header_length;
  place = (place + alignof(Source) - 1) / alignof(Source) * alignof(Source);
  slot->source = new (reinterpret_cast<void*>(place)) Source;
  slot->source->pieces[0] = {slot->payload(), header_length};
  slot->source->count = 1;
  return slot->source;
}

void Hub::commit_source(Link& link, wire::Class c, Slot* slot, uint8_t am_id) noexcept {
  Source& source = *slot->source;
  const size_t length = util::total_length({source.pieces, source.count});
  prepare(link, c, slot, static_cast<uint32_t>(length), am_id);
  Sender& tx = link.sender(c);
  wire::FrameHeader* header = slot->header();
  if (link.mode == Mode::kObserve) header->flags = wire::kObserve;
  if (link.greeting) {
    header->flags |= wire::kHello;
    auto* out = reinterpret_cast<uint8_t*>(slot->source + 1);
    source.hello = {out, append_hello(link, c, out)};
    resize(tx, *slot, slot->size + static_cast<uint32_t>(source.hello.length));
  }
  if (length > segment_size_) {
    header->flags |= wire::kTree;
    wire::seal_tree(header, {source.pieces, source.count}, tx.nonce);
  } else {
    util::Piece rest[kMaxSourcePieces + 1];
    std::copy_n(source.pieces, source.count, rest);
    rest[source.count] = source.hello;
    wire::seal_single(header, util::Pieces(rest, source.count + 1), tx.nonce);
  }
  append(link, c, slot, static_cast<uint32_t>(length));
  source.link = &link;
  source.slot = slot;
  unowned_.push_back(source.unowned);
  source_polls_ = polls_;
}

void Hub::uncommit(Link& link, wire::Class c, Slot* slot, Slot* before, uint32_t length) noexcept {
  Sender& tx = link.sender(c);
  (before == nullptr ? tx.oldest : before->next) = nullptr;
  tx.newest = before;
  --tx.next_psn;
  tx.bytes -= slot->size;
  tx.frames_unasked = quarter_frames_;  // the next one asks for an acknowledgement, as this one may have
  tx.blocked = false;
  link.counters->frames_sent--;
  link.counters->bytes_sent -= length;
  owe_ack(link, c, 0);  // it may have carried one
  pool_.give(slot);
}

void Hub::stalled(Link& link, wire::Class c, Slot* slot) noexcept {
  Sender& tx = link.sender(c);
  if (tx.first_unsent == nullptr) tx.first_unsent = slot;
  tx.blocked = true;
}

Sent Hub::transmit(Link& link, wire::Class c, Slot& slot) noexcept {
  if (slot.source != nullptr && !slot.source->owned) return port_.send_source(link, c, slot);
  if (slot.source == nullptr) {
    const util::Piece frame{slot.frame(), slot.size};
    if (slot.compact) return port_.send_compact(link, frame);
    return port_.send(link, c, {&frame, 1});
  }
  // A zero-copy frame that was copied before it could be sent. One that is too large goes in pieces, as a repair does.
  if (slot.size <= config_.max_send) return resend_frame(link, c, slot) ? Sent::kOk : Sent::kBusy;
  mark_repair(link, c, slot, nullptr, 0);
  return Sent::kOk;
}

bool Hub::resume_class(Link& link, wire::Class c) noexcept {
  Sender& tx = link.sender(c);
  while (tx.first_unsent != nullptr) {
    Slot* slot = tx.first_unsent;
    // Moved before the send: a transport that delivers inside it may acknowledge the frame there and then.
    tx.first_unsent = slot->next;
    if (transmit(link, c, *slot) == Sent::kBusy) {
      tx.first_unsent = slot;
      return false;
    }
    sent(link, c);
    if (link.failed) return true;
  }
  if (tx.blocked) unblock(link, tx);
  return true;
}

bool Hub::resume(Link& link) noexcept {
  return resume_class(link, wire::Class::kSync) && resume_class(link, wire::Class::kAsync);
}

void Hub::uncork(Link& link) noexcept {
  link.corked = false;
  for (Sender& tx : link.tx) unblock(link, tx);
}

void Hub::unblock(Link& link, Sender& tx) noexcept {
  if (link.failed || link.peer_gone || link.corked || tx.first_unsent != nullptr) return;
  if (tx.frames() >= config_.window_frames || tx.bytes >= config_.window_bytes) return;
  tx.blocked = false;
  port_.writable(link);
}

[[gnu::hot]] void Hub::on_ack(Link& link, wire::Class c, uint32_t ack) noexcept {
  Sender& tx = link.sender(c);
  if (ack - tx.una > tx.frames()) return;  // older than what is known, or of frames never sent
  while (tx.una != ack && tx.oldest != tx.first_unsent) {
    Slot* slot = tx.oldest;
    tx.oldest = slot->next;
    ++tx.una;
    tx.bytes -= slot->weight();
    retire(link, slot);
  }
  // Answered without having been asked, as in a ping-pong: an acknowledgement of its own would be an extra frame.
  if (tx.oldest == nullptr) tx.bytes_unasked = tx.frames_unasked = 0;
  if (tx.oldest != nullptr) hasten(link);
  if (tx.blocked) unblock(link, tx);
}

void Hub::forget_sent(Link& link, wire::Class c) noexcept {
  Sender& tx = link.sender(c);
  on_ack(link, c, tx.first_unsent != nullptr ? tx.first_unsent->psn : tx.next_psn);
}

[[gnu::hot]] void Hub::retire(Link& link, Slot* slot) noexcept {
  if (slot->source == nullptr) {
    pool_.give(slot);
    return;
  }
  Source& source = *slot->source;
  source.acked = true;
  source.unowned.unlink();
  if (source.released) {
    free_source(slot);
  } else if (!source.sending && !source.told) {
    source.told = true;
    port_.source_free(link, *slot);
  }
}

void Hub::retire_all(Link& link) noexcept {
  for (Sender& tx : link.tx) {
    tx.first_unsent = nullptr;
    tx.blocked = true;
    while (tx.oldest != nullptr) {
      Slot* slot = tx.oldest;
      tx.oldest = slot->next;
      ++tx.una;
      tx.bytes -= slot->weight();
      retire(link, slot);
    }
    tx.newest = nullptr;
  }
}

void Hub::source_sent(Link& link, Slot& slot) noexcept {
  Source& source = *slot.source;
  source.sending = false;
  if ((source.acked || source.owned) && !source.told) {
    source.told = true;
    port_.source_free(link, slot);
  }
}

// Callers rely on the lower transport's local completion: a buffered send of MPI never calls for progress, so that a buffer that
// becomes free in progress only would never be free for it.
bool Hub::complete_at_once(Link& link, Slot& slot) noexcept {
  Source& source = *slot.source;
  source.told = true;  // by the send's own return
  if (!source.acked) {
    const bool has_room = copies_.in_use() + slot.header()->length <= config_.pool_limit;
    if (!has_room || !own_source(link, slot)) {
      source.told = false;
      source_sent(link, slot);
      return false;
    }
    count_late_copy(link);
  }
  source.sending = false;
  release(&slot);
  return true;
}

void Hub::release(Slot* slot) noexcept {
  slot->source->released = true;
  if (slot->source->acked) free_source(slot);
}

void Hub::free_source(Slot* slot) noexcept {
  Source& source = *slot->source;
  if (source.copy != nullptr) copies_.give(source.copy, slot->header()->length);
  slot->source = nullptr;
  pool_.give(slot);
}

bool Hub::own_source(Link& link, Slot& slot) noexcept {
  Source& source = *slot.source;
  if (source.owned) return true;
  const size_t length = slot.header()->length;
  void* copy = copies_.take(length);
  if (copy == nullptr) return false;
  source.unowned.unlink();
  util::copy_out({source.pieces, source.count}, 0, copy, length);
  source.copy = copy;
  source.user = source.pieces[source.count - 1];
  source.pieces[0] = {copy, length};
  source.count = 1;
  source.owned = true;
  if (!source.sending && !source.told) {
    source.told = true;
    port_.source_free(link, slot);
  }
  return true;
}

// Whoever sent it calls for progress and finds none: the copy is made in time that would be spent waiting. One a call.
void Hub::own_oldest() noexcept {
  for (util::ListNode* node = unowned_.next; node != &unowned_; node = node->next) {
    Source& source = *VERITY_CONTAINER_OF(node, Source, unowned);
    if (source.sending) continue;
    Link& link = *source.link;
    Slot& slot = *source.slot;
    const Slot* unsent = link.sender(slot.header()->frame_class()).first_unsent;
    if (unsent != nullptr && static_cast<int32_t>(slot.psn - unsent->psn) >= 0) continue;
    if (own_source(link, slot)) count_late_copy(link);
    return;
  }
}

void Hub::own_sources(Link& link) noexcept {
  for (Sender& tx : link.tx) {
    for (Slot* slot = tx.oldest; slot != nullptr; slot = slot->next) {
      if (slot->source == nullptr || slot->source->owned) continue;
      // Not sent yet: the copy of a large one would go in pieces, which mode observe has nobody to put together for.
      if (link.mode == Mode::kObserve && slot->size > config_.max_send) continue;
      if (own_source(link, *slot)) count_late_copy(link);
    }
  }
}

bool Hub::has_unowned(const Link& link) const noexcept {
  for (const Sender& tx : link.tx) {
    for (const Slot* slot = tx.oldest; slot != nullptr; slot = slot->next) {
      if (slot->source != nullptr && !(slot->source->owned && !slot->source->sending)) return true;
    }
  }
  return false;
}

}  // namespace verity::link
