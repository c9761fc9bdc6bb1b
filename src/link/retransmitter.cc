// SPDX-License-Identifier: BSD-3-Clause
#include "link/retransmitter.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "merkle/bitmap.h"
#include "merkle/tree.h"

namespace verity::link {

namespace {

merkle::Geometry geometry_of(const wire::FrameHeader& header) noexcept {
  return {header.length, header.segment_size()};
}

// After prepare() every payload is contiguous: it is in the slot or was bounced.
const void* contiguous_payload(Slot& slot) noexcept {
  return slot.source == nullptr ? slot.payload() : slot.source->pieces[0].data;
}

struct Range {
  uint32_t begin;
  uint32_t length;
  bool last;
};

uint32_t skip_good(const Repair& repair, const wire::FrameHeader& header,
                   uint32_t offset) noexcept {
  const merkle::ConstBitmap bad(repair.bad, geometry_of(header).leaf_count());
  const uint32_t segment = header.segment_size();
  while (offset < header.length && !bad.test(offset / segment))
    offset = (offset / segment + 1) * segment;
  return std::min(offset, header.length);
}

// The next run of bad leaves from repair.offset on, at most `most` bytes of it. When only the
// header is to be sent again there is one empty range.
Range next_range(const Repair& repair, const wire::FrameHeader& header, size_t most) noexcept {
  const merkle::ConstBitmap bad(repair.bad, geometry_of(header).leaf_count());
  const uint32_t segment = header.segment_size();
  const uint32_t begin = skip_good(repair, header, repair.offset);
  uint32_t end = begin;
  while (end < header.length && end - begin < most && bad.test(end / segment)) {
    const uint64_t leaf_end = uint64_t{end / segment + 1} * segment;
    end = static_cast<uint32_t>(
        std::min<uint64_t>({leaf_end, header.length, uint64_t{begin} + most}));
  }
  return {begin, end - begin, skip_good(repair, header, end) == header.length};
}

// True: this NACK repeats one that was answered after the probe with serial `probe`, which made the
// peer repeat it; the answer is under way.
bool answered_since(const Slot& slot, uint32_t probe) noexcept {
  if (probe == 0 || slot.repair == nullptr || slot.repair->pending) return false;
  return static_cast<int16_t>(static_cast<uint16_t>(probe) - slot.repair->after_probe) <= 0;
}

// Marks the leaves whose digests are not those that the peer computed of what arrived.
void mark_bad_leaves(Slot& slot, const uint8_t* digests, uint16_t count) noexcept {
  merkle::Digest ours[wire::kMaxFrameLeaves];
  const StoredPayload stored(slot);
  merkle::leaf_digests(geometry_of(*slot.header()), stored.pieces(), {ours, count});
  merkle::Bitmap bad(slot.repair->bad, count);
  bad.clear();
  for (uint16_t i = 0; i < count; ++i) {
    merkle::Digest theirs;
    std::memcpy(&theirs, digests + i * sizeof(theirs), sizeof(theirs));
    if (theirs != ours[i]) bad.set(i);
  }
}

// A frame that is rebuilt from pieces carries no HELLO: the control frames around the pieces do.
void drop_hello(SendWindow& tx, Slot& slot) noexcept {
  wire::FrameHeader* header = slot.header();
  if ((header->flags & wire::kHello) == 0) return;
  header->flags &= static_cast<uint8_t>(~wire::kHello);
  tx.resize(slot, static_cast<uint32_t>(sizeof(*header)) + header->length);
  if (slot.source != nullptr) slot.source->hello = {};
  seal_stored(slot, tx.nonce());
}

}  // namespace

bool Retransmitter::resume(Link& link) noexcept {
  control_.has_room(link.control);
  return resume(link, wire::Class::kSync) && resume(link, wire::Class::kAsync);
}

bool Retransmitter::resume(Link& link, wire::Class c) noexcept {
  SendWindow& tx = link.send_window(c);
  while (Slot* slot = tx.take_unsent()) {
    if (transmit(link, c, *slot) == Sent::kBusy) {
      tx.put_back(slot);
      return false;
    }
    sender_.sent(link, c);
    if (link.failed()) return true;
  }
  if (tx.blocked()) sender_.unblock(link, tx);
  return true;
}

// The first transmission of a frame.
Sent Retransmitter::transmit(Link& link, wire::Class c, Slot& slot) noexcept {
  // Too large to be copied again, it leaves from its own copy where the lower transport reads any
  // memory. A receiver in mode observe reassembles no pieces.
  const bool from_copy = slot.size > iface_.config.max_send &&
                         (iface_.config.max_large != 0 || link.mode() == Mode::kObserve);
  if (slot.source != nullptr && (!slot.source->bounced || slot.source->in_slot || from_copy))
    return iface_.port.send_source(link, c, slot);
  if (slot.source == nullptr) {
    const util::Piece frame{slot.frame(), slot.size};
    if (slot.compact) return iface_.port.send_compact(link, frame);
    return iface_.port.send(link, c, {&frame, 1});
  }
  // A zero-copy frame that was bounced before it could be sent. One that is still too large goes in
  // pieces, as a repair does.
  if (slot.size <= iface_.config.max_send)
    return send_frame(link, c, slot) ? Sent::kOk : Sent::kBusy;
  request(link, c, slot, nullptr, 0);
  return Sent::kOk;
}

void Retransmitter::on_nack(Link& link, wire::Class c, const wire::FrameView& view) noexcept {
  wire::NackBody body;
  const uint32_t length = view.header.length;
  if (length < sizeof(body) + sizeof(uint64_t)) return;
  std::memcpy(&body, view.payload, sizeof(body));
  if (length != sizeof(body) + sizeof(uint64_t) * std::max<size_t>(body.count, 1)) return;
  link.counters->nacks_received++;
  SendWindow& tx = link.send_window(c);
  tx.nack_seen(body.serial);
  uint64_t run = 1;
  const uint8_t* digests = view.payload + sizeof(body);
  if (body.count == 0) std::memcpy(&run, digests, sizeof(run));
  for (Slot* slot = tx.oldest(); slot != nullptr && slot != tx.first_unsent(); slot = slot->next) {
    if (slot->psn - body.psn >= run) continue;
    if (answered_since(*slot, view.header.psn)) continue;
    request(link, c, *slot, digests, body.count);
    if (link.failed()) return;
  }
}

void Retransmitter::request(Link& link, wire::Class c, Slot& slot, const uint8_t* digests,
                            uint16_t count) noexcept {
  const bool is_new = request_whole(link, c, slot);
  if (link.failed()) return;  // and the slots are gone
  Repair& repair = *slot.repair;
  repair.speculative = false;
  if (!is_new) return;
  if (++repair.tries > iface_.config.max_repairs) {
    faults_.report_sent(link, c, health::FaultKind::kPersistent, *slot.header(), repair.tries);
    return lifecycle_.fail(link, Failure::kRepairsExhausted);
  }
  repair.whole = count == 0 || count != geometry_of(*slot.header()).leaf_count();
  if (!repair.whole) mark_bad_leaves(slot, digests, count);
}

// False: it is going to be retransmitted already, or the link failed.
bool Retransmitter::request_whole(Link& link, wire::Class c, Slot& slot) noexcept {
  if (slot.compact && !expand(link, slot)) return false;
  if (slot.repair == nullptr) slot.repair = new (std::nothrow) Repair;
  if (slot.repair == nullptr) {
    lifecycle_.fail(link, Failure::kNoMemory);
    return false;
  }
  Repair& repair = *slot.repair;
  if (repair.pending) return false;
  repair.pending = true;
  repair.prepared = false;
  repair.offset = 0;
  repair.whole = true;
  control_.schedule(link.control, Control::kRepair, c);
  return true;
}

void Retransmitter::retransmit_all(Link& link) noexcept {
  for (unsigned i = 0; i < wire::kClasses && link.mode() == Mode::kVerify; ++i) {
    const auto c = static_cast<wire::Class>(i);
    const SendWindow& tx = link.send_window(c);
    for (Slot* slot = tx.oldest(); slot != nullptr && slot != tx.first_unsent();
         slot = slot->next) {
      if (request_whole(link, c, *slot)) slot->repair->speculative = true;
      if (link.failed()) return;  // and the slots are gone
    }
  }
}

// A compact slot is not what was sealed. False: the link failed. One that was copied behind its
// send may have a later state of the program's memory, and goes as it is.
bool Retransmitter::accept_changed(Link& link, const Slot& slot, uint8_t am_id) noexcept {
  constexpr wire::Class c = wire::Class::kSync;
  wire::FrameHeader header{};
  header.psn = slot.psn;
  header.length = slot.size - static_cast<uint32_t>(wire::kCompactHeader);
  header.am_id = wire::am_byte(am_id, c);
  if (slot.copied_late != 0) {
    link.counters->source_changed++;
    iface_.port.source_changed(link, slot, true);
    faults_.report_sent(link, c, health::FaultKind::kSourceChanged, header, 1);
    return true;
  }
  link.counters->source_faults++;
  faults_.report_sent(link, c, health::FaultKind::kSourceMemory, header, 1);
  lifecycle_.fail(link, Failure::kSourceFault);
  return false;
}

// Gives a compact slot its full header, with which it is sent again. False: our own copy is
// damaged, and the link failed.
bool Retransmitter::expand(Link& link, Slot& slot) noexcept {
  constexpr wire::Class c = wire::Class::kSync;
  SendWindow& tx = link.send_window(c);
  const wire::CompactView view = wire::read_compact(slot.frame());
  const bool changed = !wire::check_compact(slot.frame(), slot.size, view, tx.nonce(), slot.key());
  if (changed && !accept_changed(link, slot, view.fields.am_id)) return false;
  constexpr auto kMore = static_cast<uint32_t>(sizeof(wire::FrameHeader) - wire::kCompactHeader);
  slot.compact = 0;
  tx.resize(slot, slot.size + kMore);
  wire::FrameHeader header{};
  header.link = link.remote_id;
  header.psn = slot.psn;
  header.ack = link.proven_ack(c);
  header.length = slot.size - static_cast<uint32_t>(sizeof(header));
  header.kind = wire::kind_byte(wire::FrameKind::kData);
  header.flags = slot.key() >> 56 & wire::kCompactAckRequest ? wire::kAckRequest : 0;
  if (changed) header.flags |= wire::kChanged;
  header.am_id = wire::am_byte(view.fields.am_id, c);
  // One segment it is and remains, if a longer one than others are.
  const bool is_longer = header.length > iface_.segment_size();
  header.segment = wire::segment_byte(iface_.config.segment_log2 + (is_longer ? 1 : 0));
  *slot.header() = header;
  wire::seal_single(slot.header(), slot.size, tx.nonce());
  return true;
}

// Checks our own copy before it is sent again. What the user can still write to is copied first, so
// that what is sent is what was checked; if it changed since the first sending, the frame gets a
// new root under the same psn.
bool Retransmitter::prepare(Link& link, wire::Class c, Slot& slot) noexcept {
  Repair& repair = *slot.repair;
  if (repair.prepared) return true;
  const bool was_freed = !slot.holds_payload() && slot.source->freed;
  if (!slot.holds_payload()) {
    if (!zero_copy_.bounce(link, slot)) {
      lifecycle_.fail(link, Failure::kNoMemory);
      return false;
    }
    link.counters->bounce_copies += repair.tries == 1;
  }
  const wire::FrameHeader before = *slot.header();
  seal_stored(slot, link.send_window(c).nonce());
  if (slot.header()->root != before.root) {
    if (slot.holds_payload()) {
      link.counters->source_faults++;
      faults_.report_sent(link, c, health::FaultKind::kSourceMemory, *slot.header(), repair.tries);
      lifecycle_.fail(link, Failure::kSourceFault);
      return false;
    }
    link.counters->source_changed++;
    iface_.port.source_changed(link, slot, was_freed);
    faults_.report_sent(link, c, health::FaultKind::kSourceChanged, *slot.header(), repair.tries);
    slot.header()->flags |= wire::kChanged;
    seal_stored(slot, link.send_window(c).nonce());
  }
  // What the peer has of it is of no use, and no damage.
  if ((slot.header()->flags & wire::kChanged) != 0) repair.whole = true;
  // One that lost its HELLO (see drop_hello) was sealed when the peer's id for the link was not
  // known.
  wire::FrameHeader* header = slot.header();
  if ((header->flags & wire::kHello) == 0 && header->link != link.remote_id) {
    header->link = link.remote_id;
    seal_stored(slot, link.send_window(c).nonce());
  }
  repair.prepared = true;
  return true;
}

bool Retransmitter::send_repairs(Link& link, wire::Class c) noexcept {
  SendWindow& tx = link.send_window(c);
  for (Slot* slot = tx.oldest(); slot != nullptr; slot = slot->next) {
    if (slot->repair == nullptr || !slot->repair->pending) continue;
    if (!prepare(link, c, *slot)) return true;  // the link failed
    // Sending may deliver and acknowledge there and then: the slot is looked at no more after its
    // last piece.
    const uint32_t psn = slot->psn;
    if (!send_repair(link, c, *slot)) return false;
    if (!tx.contains(psn)) return send_repairs(link, c);
  }
  return true;
}

bool Retransmitter::send_repair(Link& link, wire::Class c, Slot& slot) noexcept {
  const bool one_leaf = geometry_of(*slot.header()).leaf_count() == 1;
  if ((slot.repair->whole || one_leaf) && slot.size <= iface_.config.max_send) {
    Repair& repair = *slot.repair;
    const bool damaged_payload = !repair.whole && merkle::Bitmap(repair.bad, 1).test(0);
    const bool speculative = repair.speculative;
    const uint32_t length = slot.header()->length;
    repair.pending = false;
    repair.after_probe = link.send_window(c).probe_serial();
    if (!send_frame(link, c, slot)) {
      repair.pending = true;
      return false;
    }
    if (!speculative) count_piece(*link.counters, !damaged_payload, 0, length, true);
    return true;
  }
  return send_pieces(link, c, slot);
}

bool Retransmitter::send_frame(Link& link, wire::Class c, Slot& slot) noexcept {
  util::Piece frame[kMaxSourcePieces + 2];
  size_t count = 0;
  if (slot.source == nullptr) {
    frame[count++] = {slot.frame(), slot.size};
  } else {
    frame[count++] = {slot.frame(), sizeof(wire::FrameHeader)};
    for (uint32_t i = 0; i < slot.source->count; ++i) frame[count++] = slot.source->pieces[i];
    frame[count++] = slot.source->hello;
  }
  return iface_.port.send(link, c, {frame, count}) != Sent::kBusy;
}

bool Retransmitter::send_pieces(Link& link, wire::Class c, Slot& slot) noexcept {
  SendWindow& tx = link.send_window(c);
  drop_hello(tx, slot);
  Repair& repair = *slot.repair;
  const wire::FrameHeader header = *slot.header();
  if (repair.whole) merkle::Bitmap(repair.bad, geometry_of(header).leaf_count()).fill();
  const size_t hello = link.carries_hello() ? iface_.config.hello_size : 0;
  const size_t overhead = sizeof(wire::FrameHeader) + sizeof(wire::RepairBody) + hello;
  const auto* payload = static_cast<const uint8_t*>(contiguous_payload(slot));
  const uint32_t psn = slot.psn;
  for (bool last = false; !last;) {
    const Range range = next_range(repair, header, iface_.config.max_send - overhead);
    last = range.last;
    const wire::RepairBody body{header, range.begin, last ? 1u : 0u};
    const util::Piece pieces[2] = {{&body, sizeof(body)}, {payload + range.begin, range.length}};
    repair.offset = range.begin + range.length;
    repair.pending = !last;
    repair.after_probe = tx.probe_serial();
    const bool whole = repair.whole;
    const bool speculative = repair.speculative;
    if (writer_.send_control(link, c, wire::FrameKind::kRepair, pieces) == Sent::kBusy) {
      repair.offset = range.begin;
      repair.pending = true;
      return false;
    }
    if (!speculative) count_piece(*link.counters, whole, range.begin, range.length, last);
    if (!tx.contains(psn)) return true;  // acknowledged meanwhile: the slot is gone
  }
  return true;
}

void Retransmitter::count_piece(health::Counters& counters, bool whole, uint32_t begin,
                                uint32_t bytes, bool last) noexcept {
  if (whole) {
    counters.frames_resent += last;
    counters.frame_bytes_resent += bytes;
  } else {
    // A segment that goes in two pieces counts with its first byte.
    const uint64_t size = iface_.segment_size();
    const auto segments_to = [size](uint32_t offset) { return (offset + size - 1) / size; };
    counters.segments_resent += segments_to(begin + bytes) - segments_to(begin);
    counters.segment_bytes_resent += bytes;
    counters.faults_sent += last && bytes != 0;
  }
}

}  // namespace verity::link
