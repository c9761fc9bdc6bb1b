// SPDX-License-Identifier: BSD-3-Clause
// Answering NACKs: which segments are bad, whether our own copy is still right, and sending just those again.
#include <algorithm>
#include <new>

#include "link/hub.h"
#include "merkle/bitmap.h"
#include "merkle/tree.h"

namespace verity::link {

namespace {

// The payload of a stored frame, in pieces.
struct Stored {
  util::Piece single;
  util::Pieces pieces;

  explicit Stored(Slot& slot) noexcept : single{slot.payload(), slot.header()->length}, pieces(&single, 1) {
    if (slot.source != nullptr) pieces = {slot.source->pieces, slot.source->count};
  }
  Stored(const Stored&) = delete;
  Stored& operator=(const Stored&) = delete;
};

merkle::Geometry geometry_of(const wire::FrameHeader& header) noexcept {
  return {header.length, header.segment_size()};
}

void seal_again(Slot& slot, uint64_t nonce) noexcept {
  Stored stored(slot);
  wire::FrameHeader* header = slot.header();
  if ((header->flags & wire::kTree) != 0) {
    wire::seal_tree(header, stored.pieces, nonce);
  } else if (slot.source == nullptr) {
    wire::seal_single(header, slot.size, nonce);
  } else {
    util::Piece rest[kMaxSourcePieces + 1];
    std::copy(stored.pieces.begin(), stored.pieces.end(), rest);
    rest[stored.pieces.size()] = slot.source->hello;
    wire::seal_single(header, util::Pieces(rest, stored.pieces.size() + 1), nonce);
  }
}

// After prepare_repair() every payload is contiguous: it is in the slot or was copied.
const void* contiguous_payload(Slot& slot) noexcept {
  return slot.source == nullptr ? slot.payload() : slot.source->pieces[0].data;
}

struct Range {
  uint32_t begin;
  uint32_t length;
  bool last;
};

uint32_t skip_good(const Repair& repair, const wire::FrameHeader& header, uint32_t offset) noexcept {
  const merkle::ConstBitmap bad(repair.bad, geometry_of(header).leaf_count());
  const uint32_t segment = header.segment_size();
  while (offset < header.length && !bad.test(offset / segment)) offset = (offset / segment + 1) * segment;
  return std::min(offset, header.length);
}

// The next run of bad leaves from repair.offset on, at most `most` bytes of it. When only the header is to be sent again there
// is one empty range.
Range next_range(const Repair& repair, const wire::FrameHeader& header, size_t most) noexcept {
  const merkle::ConstBitmap bad(repair.bad, geometry_of(header).leaf_count());
  const uint32_t segment = header.segment_size();
  const uint32_t begin = skip_good(repair, header, repair.offset);
  uint32_t end = begin;
  while (end < header.length && end - begin < most && bad.test(end / segment)) {
    const uint64_t leaf_end = uint64_t{end / segment + 1} * segment;
    end = static_cast<uint32_t>(std::min<uint64_t>({leaf_end, header.length, uint64_t{begin} + most}));
  }
  return {begin, end - begin, skip_good(repair, header, end) == header.length};
}

// A repeated request: whether the answer to the first one left after the probe that made the peer ask again.
bool answered_since(const Slot& slot, uint32_t asked_by) noexcept {
  if (asked_by == 0 || slot.repair == nullptr || slot.repair->pending) return false;
  return static_cast<int16_t>(static_cast<uint16_t>(asked_by) - slot.repair->after_probe) <= 0;
}

}  // namespace

void Hub::on_nack(Link& link, wire::Class c, const wire::FrameView& view) noexcept {
  wire::NackBody body;
  const uint32_t length = view.header.length;
  if (length < sizeof(body) + sizeof(uint64_t)) return;
  std::memcpy(&body, view.payload, sizeof(body));
  if (length != sizeof(body) + sizeof(uint64_t) * std::max<size_t>(body.count, 1)) return;
  link.counters->nacks_received++;
  Sender& tx = link.sender(c);
  tx.nacks_seen = body.serial;
  uint64_t run = 1;
  const uint8_t* digests = view.payload + sizeof(body);
  if (body.count == 0) std::memcpy(&run, digests, sizeof(run));
  for (Slot* slot = tx.oldest; slot != nullptr && slot != tx.first_unsent; slot = slot->next) {
    if (slot->psn - body.psn >= run) continue;
    if (answered_since(*slot, view.header.psn)) continue;
    mark_repair(link, c, *slot, digests, body.count);
    if (link.failed) return;
  }
}

void Hub::mark_repair(Link& link, wire::Class c, Slot& slot, const uint8_t* digests, uint16_t count) noexcept {
  if (!mark_whole(link, c, slot)) return;
  Repair& repair = *slot.repair;
  if (++repair.tries > config_.max_repairs) {
    diagnose_sent(link, c, slot, health::FaultKind::kPersistent);
    return fail(link, Failure::kRepairsExhausted);
  }
  repair.whole = count == 0 || count != geometry_of(*slot.header()).leaf_count();
  if (!repair.whole) mark_bad_leaves(slot, digests, count);
}

// False: it is going to be sent again already, or the link failed.
bool Hub::mark_whole(Link& link, wire::Class c, Slot& slot) noexcept {
  if (slot.compact && !expand(link, slot)) return false;
  if (slot.repair == nullptr) slot.repair = new (std::nothrow) Repair;
  if (slot.repair == nullptr) {
    fail(link, Failure::kNoMemory);
    return false;
  }
  Repair& repair = *slot.repair;
  if (repair.pending) return false;
  repair.pending = true;
  repair.prepared = false;
  repair.offset = 0;
  repair.whole = true;
  link.sender(c).repairing = true;
  link.owed |= owed_bit(kOweRepair, c);
  owe_now(link);
  return true;
}

void Hub::repeat(Link& link) noexcept {
  for (unsigned i = 0; i < wire::kClasses && link.mode == Mode::kVerify; ++i) {
    const auto c = static_cast<wire::Class>(i);
    const Sender& tx = link.sender(c);
    for (Slot* slot = tx.oldest; slot != nullptr && slot != tx.first_unsent; slot = slot->next) {
      if (!mark_whole(link, c, *slot) && link.failed) return;  // and the slots are gone
    }
  }
}

// Gives a compact slot its full header, with which it is sent again. False: our own copy is damaged, and the link failed.
bool Hub::expand(Link& link, Slot& slot) noexcept {
  constexpr wire::Class c = wire::Class::kSync;
  Sender& tx = link.sender(c);
  const wire::CompactView view = wire::read_compact(slot.frame());
  if (!wire::check_compact(slot.frame(), slot.size, view, tx.nonce, slot.key())) {
    link.counters->source_faults++;
    wire::FrameHeader header{};
    header.psn = slot.psn;
    header.length = slot.size - static_cast<uint32_t>(wire::kCompactHeader);
    header.am_id = wire::am_byte(view.fields.am_id, c);
    port_.diagnosed(&link, {health::FaultKind::kSourceMemory, c, true, header, 1, nullptr, nullptr});
    fail(link, Failure::kSourceFault);
    return false;
  }
  constexpr auto kMore = static_cast<uint32_t>(sizeof(wire::FrameHeader) - wire::kCompactHeader);
  slot.compact = 0;
  slot.size += kMore;
  tx.bytes += kMore;
  wire::FrameHeader header{};
  header.link = link.remote_id;
  header.psn = slot.psn;
  header.ack = link.receiver(c).expected;
  header.length = slot.size - static_cast<uint32_t>(sizeof(header));
  header.kind = wire::kind_byte(wire::FrameKind::kData);
  header.flags = slot.key() >> 56 & wire::kCompactAckRequest ? wire::kAckRequest : 0;
  header.am_id = wire::am_byte(view.fields.am_id, c);
  // One segment it is and remains, if a longer one than others are.
  header.segment = header.length > segment_size_ ? wire::segment_byte(config_.segment_log2 + 1) : segment_byte_;
  *slot.header() = header;
  wire::seal_single(slot.header(), slot.size, tx.nonce);
  return true;
}

void Hub::mark_bad_leaves(Slot& slot, const uint8_t* digests, uint16_t count) noexcept {
  merkle::Digest ours[wire::kMaxFrameLeaves];
  Stored stored(slot);
  merkle::leaf_digests(geometry_of(*slot.header()), stored.pieces, {ours, count});
  merkle::Bitmap bad(slot.repair->bad, count);
  bad.clear();
  for (uint16_t i = 0; i < count; ++i) {
    merkle::Digest theirs;
    std::memcpy(&theirs, digests + i * sizeof(theirs), sizeof(theirs));
    if (theirs != ours[i]) bad.set(i);
  }
}

// Checks our own copy before it is sent again. What the user can still write to is copied first, so that what is sent is what
// was checked; if it changed since the first sending, the frame gets a new root under the same psn.
bool Hub::prepare_repair(Link& link, wire::Class c, Slot& slot) noexcept {
  Repair& repair = *slot.repair;
  if (repair.prepared) return true;
  const bool was_freed = slot.source != nullptr && slot.source->told;
  if (slot.source != nullptr) {
    if (!own_source(link, slot)) {
      fail(link, Failure::kNoMemory);
      return false;
    }
    link.counters->bounce_copies += repair.tries == 1;
  }
  const wire::FrameHeader before = *slot.header();
  seal_again(slot, link.sender(c).nonce);
  if (slot.header()->root != before.root) {
    if (slot.source == nullptr) {
      link.counters->source_faults++;
      diagnose_sent(link, c, slot, health::FaultKind::kSourceMemory);
      fail(link, Failure::kSourceFault);
      return false;
    }
    link.counters->source_changed++;
    port_.source_changed(link, slot, was_freed);
    diagnose_sent(link, c, slot, health::FaultKind::kSourceChanged);
    repair.whole = true;
  }
  // One that lost its HELLO (see drop_hello) was sealed when the peer's id for the link was not known.
  wire::FrameHeader* header = slot.header();
  if ((header->flags & wire::kHello) == 0 && header->link != link.remote_id) {
    header->link = link.remote_id;
    seal_again(slot, link.sender(c).nonce);
  }
  repair.prepared = true;
  return true;
}

bool Hub::send_repairs(Link& link, wire::Class c) noexcept {
  Sender& tx = link.sender(c);
  for (Slot* slot = tx.oldest; slot != nullptr; slot = slot->next) {
    if (slot->repair == nullptr || !slot->repair->pending) continue;
    if (!prepare_repair(link, c, *slot)) return true;  // the link failed
    // Sending may deliver and acknowledge there and then: the slot is looked at no more after its last piece.
    const uint32_t psn = slot->psn;
    if (!send_repair(link, c, *slot)) return false;
    if (tx.oldest == nullptr || psn - tx.una >= tx.frames()) return send_repairs(link, c);
  }
  tx.repairing = false;
  return true;
}

bool Hub::send_repair(Link& link, wire::Class c, Slot& slot) noexcept {
  const bool one_leaf = geometry_of(*slot.header()).leaf_count() == 1;
  if ((slot.repair->whole || one_leaf) && slot.size <= config_.max_send) {
    Repair& repair = *slot.repair;
    const bool damaged_payload = !repair.whole && merkle::Bitmap(repair.bad, 1).test(0);
    const uint32_t length = slot.header()->length;
    repair.pending = false;
    repair.after_probe = link.sender(c).probe_serial;
    if (!resend_frame(link, c, slot)) {
      repair.pending = true;
      return false;
    }
    count_piece(*link.counters, !damaged_payload, 0, length, true);
    return true;
  }
  return send_pieces(link, c, slot);
}

bool Hub::resend_frame(Link& link, wire::Class c, Slot& slot) noexcept {
  util::Piece frame[kMaxSourcePieces + 2];
  size_t count = 0;
  if (slot.source == nullptr) {
    frame[count++] = {slot.frame(), slot.size};
  } else {
    frame[count++] = {slot.frame(), sizeof(wire::FrameHeader)};
    for (uint32_t i = 0; i < slot.source->count; ++i) frame[count++] = slot.source->pieces[i];
    frame[count++] = slot.source->hello;
  }
  return port_.send(link, c, {frame, count}) != Sent::kBusy;
}

// A frame that is rebuilt from pieces carries no HELLO: the control frames around the pieces do.
void Hub::drop_hello(Sender& tx, Slot& slot) noexcept {
  wire::FrameHeader* header = slot.header();
  if ((header->flags & wire::kHello) == 0) return;
  const auto size = static_cast<uint32_t>(sizeof(*header)) + header->length;
  header->flags &= static_cast<uint8_t>(~wire::kHello);
  resize(tx, slot, size);
  if (slot.source != nullptr) slot.source->hello = {};
  seal_again(slot, tx.nonce);
}

bool Hub::send_pieces(Link& link, wire::Class c, Slot& slot) noexcept {
  Sender& tx = link.sender(c);
  drop_hello(tx, slot);
  Repair& repair = *slot.repair;
  const wire::FrameHeader header = *slot.header();
  if (repair.whole) merkle::Bitmap(repair.bad, geometry_of(header).leaf_count()).fill();
  const size_t overhead = sizeof(wire::FrameHeader) + sizeof(wire::RepairBody) + (link.greeting ? hello_size_ : 0);
  const auto* payload = static_cast<const uint8_t*>(contiguous_payload(slot));
  const uint32_t psn = slot.psn;
  for (bool last = false; !last;) {
    const Range range = next_range(repair, header, config_.max_send - overhead);
    last = range.last;
    const wire::RepairBody body{header, range.begin, last ? 1u : 0u};
    const util::Piece pieces[2] = {{&body, sizeof(body)}, {payload + range.begin, range.length}};
    repair.offset = range.begin + range.length;
    repair.pending = !last;
    repair.after_probe = tx.probe_serial;
    const bool whole = repair.whole;
    if (send_control(link, c, wire::FrameKind::kRepair, pieces) == Sent::kBusy) {
      repair.offset = range.begin;
      repair.pending = true;
      return false;
    }
    count_piece(*link.counters, whole, range.begin, range.length, last);
    if (psn - tx.una >= tx.frames()) return true;  // acknowledged meanwhile: the slot is gone
  }
  return true;
}

void Hub::count_piece(health::Counters& counters, bool whole, uint32_t begin, uint32_t bytes, bool last) noexcept {
  if (whole) {
    counters.frames_resent += last;
    counters.frame_bytes_resent += bytes;
  } else {
    // A segment that goes in two pieces counts with its first byte.
    const auto segments_to = [&](uint32_t offset) { return (uint64_t{offset} + segment_size_ - 1) / segment_size_; };
    counters.segments_resent += segments_to(begin + bytes) - segments_to(begin);
    counters.segment_bytes_resent += bytes;
  }
}

}  // namespace verity::link
