// SPDX-License-Identifier: BSD-3-Clause
// The links of one interface: their table, the pool, the timers, and what they owe.
//
// One thread at a time, under the interface's own rules. No clock: time is passed to tick(). The fault-free path (reserve,
// commit, receive) is inline and neither allocates, locks nor calls the system.
#pragma once

#include <cstring>
#include <unordered_map>
#include <vector>

#include "health/counters.h"
#include "link/buffers.h"
#include "link/link.h"
#include "link/pool.h"
#include "link/port.h"
#include "wire/codec.h"
#include "wire/compact.h"

namespace verity::link {

struct Config {
  unsigned segment_log2 = 13;         // leaf size
  uint32_t window_frames = 256;       // frames in flight per link and class
  uint32_t window_bytes = 512 * 1024; // bytes in flight per link and class
  uint32_t max_repairs = 16;          // attempts per frame
  uint32_t ack_polls = 64;            // idle progress calls before an acknowledgement travels alone
  uint64_t copy_after = 100'000;      // ns; zero-copy sends to a silent peer are copied then
  uint32_t copy_polls = 16;           // or after so many progress calls since the last one: the caller seems to wait for it
  uint64_t probe_after = 1'000'000;   // ns; first probe, then four times as long each time ...
  uint64_t probe_limit = 20'000'000'000;  // ... up to this
  size_t max_send = 8192;             // bytes of the largest frame that Port::send takes
  size_t max_frame = 8192;            // bytes of the largest frame that is stored in a slot
  size_t hello_size = wire::kMaxHello;  // bytes that our own HELLO takes at most
  size_t pool_limit = 64 << 20;       // bytes
  size_t held_limit = 32 << 20;       // bytes of frames held back at the receiver
  Mode mode = Mode::kVerify;
  bool compact = false;               // the caller can send and receive compact frames (wire/compact.h)

  bool operator==(const Config&) const = default;
};

// A frame that may be delivered: from receive() to the caller, who makes the upcall and then calls delivered().
struct Received {
  Link* link = nullptr;
  const uint8_t* payload = nullptr;
  uint32_t length = 0;
  uint8_t am_id = 0;
};

class Hub {
 public:
  Hub(uint64_t uid, const Config& config, Port& port, health::Counters& counters);
  ~Hub();
  Hub(const Hub&) = delete;
  Hub& operator=(const Hub&) = delete;

  [[nodiscard]] const Config& config() const noexcept { return config_; }
  [[nodiscard]] uint64_t uid() const noexcept { return uid_; }
  [[nodiscard]] Pool& pool() noexcept { return pool_; }
  // Of what belongs to no link, and of links for which nobody named others.
  [[nodiscard]] health::Counters& counters() noexcept { return counters_; }

  // --- links -------------------------------------------------------------------------------------------------------------
  // Enters a link to the interface `peer_uid` into the table. Throws std::bad_alloc, also when all 2^20 - 1 ids are taken. The object stays the caller's.
  void open(Link& link, uint64_t peer_uid, uint8_t path, Mode peer_mode);
  // For connect-to-endpoint transports, whose addresses tell all that a HELLO does: gives the link its id, before the peer is
  // known, and then the peer's. find(uid, path) does not know such links. enter() may throw std::bad_alloc.
  void enter(Link& link);
  void connect(Link& link, uint64_t peer_uid, uint32_t remote_id, Mode peer_mode) noexcept;
  // Drops everything the link holds and takes it out of the table.
  void remove(Link& link) noexcept;
  [[nodiscard]] Link* find(uint32_t local_id) const noexcept {
    const uint32_t index = local_id & kIndexMask;
    Link* link = index < table_.size() ? table_[index] : nullptr;
    return link != nullptr && link->local_id == local_id ? link : nullptr;
  }
  [[nodiscard]] Link* find(uint64_t peer_uid, uint8_t path) const noexcept;
  // By the 24 bits of the local id that a compact frame carries.
  [[nodiscard]] Link* find_compact(uint32_t bits) const noexcept {
    const uint32_t index = bits & kIndexMask;
    Link* link = index < table_.size() ? table_[index] : nullptr;
    return link != nullptr && (link->local_id & wire::kCompactLinkMask) == bits ? link : nullptr;
  }
  // Gives the link up: drops what is in flight, tells the port once.
  void fail(Link& link, Failure why) noexcept;
  // The lower transport reported an error: drops what is in flight without telling the port.
  void shut(Link& link) noexcept;

  // --- sending -----------------------------------------------------------------------------------------------------------
  // A slot for a frame whose upper payload is at most `length` bytes, or nullptr: no room now (see writable()).
  [[nodiscard]] Slot* reserve(Link& link, wire::Class c, size_t length) noexcept {
    if (link.gated) [[unlikely]] return nullptr;
    return reserve_own(link, c, length);
  }
  // The same for a message of the layer above the link itself, which waits for nobody's: what is gated may be waiting for it.
  [[nodiscard]] Slot* reserve_own(Link& link, wire::Class c, size_t length) noexcept {
    Sender& tx = link.sender(c);
    if (tx.blocked) [[unlikely]] return nullptr;
    Slot* slot = pool_.take(sizeof(wire::FrameHeader) + length + (link.plain ? 0 : hello_size_));
    return slot != nullptr ? slot : reserve_slow(link, tx, length);
  }
  // A slot that was reserved and is not used after all.
  void cancel(Slot* slot) noexcept { pool_.give(slot); }

  // Seals the frame with `length` payload bytes already in the slot, gives it the next psn and keeps it until acknowledged.
  // The caller then hands slot->size bytes at slot->frame() to the lower transport, or calls stalled().
  void commit(Link& link, wire::Class c, Slot* slot, uint32_t length, uint8_t am_id) noexcept {
    if (commit_open(link, c, slot, length, am_id)) seal(link, c, slot);
  }
  // The format that commit() will choose for a payload of this length.
  [[nodiscard]] bool will_be_compact(const Link& link, wire::Class c, size_t length) const noexcept {
    return link.plain && length <= compact_limit_ && config_.compact && c == wire::Class::kSync;
  }
  // As commit(), but leaves the sealing to seal(), or to the caller's copy of the frame with seal_copy(), so that the bytes are
  // passed over once. False: sealed already.
  // `compact`: whether the compact format may be used, for a caller that had to choose before it knew the length.
  [[nodiscard, gnu::hot]] bool commit_open(Link& link, wire::Class c, Slot* slot, uint32_t length, uint8_t am_id,
                                 bool compact = true) noexcept {
    const bool may_be_compact = compact && config_.compact && c == wire::Class::kSync;
    if (!link.plain || length > (may_be_compact ? compact_limit_ : segment_size_)) [[unlikely]] {
      commit_slow(link, c, slot, length, am_id);
      return false;
    }
    if (may_be_compact) [[likely]] {
      prepare_compact(link, slot, length, am_id);
    } else {
      prepare(link, c, slot, length, am_id);
    }
    append(link, c, slot, length);
    return true;
  }
  static void seal(Link& link, wire::Class c, Slot* slot) noexcept {
    const uint64_t nonce = link.sender(c).nonce;
    if (slot->compact) [[likely]] {
      wire::seal_compact(slot->payload(), slot->size - wire::kCompactHeader, nonce, slot->key());
    } else {
      wire::seal_single(slot->header(), slot->size, nonce);
    }
  }
  static void seal_copy(Link& link, wire::Class c, Slot* slot, void* dest) noexcept {
    const uint64_t nonce = link.sender(c).nonce;
    if (slot->compact) [[likely]] {
      wire::seal_compact_copy(slot->payload(), dest, slot->size - wire::kCompactHeader, nonce, slot->key());
    } else {
      wire::seal_copy(slot->header(), dest, slot->size, nonce);
    }
  }
  // The same for a compact frame whose payload is not in the slot yet, but in `frame`, behind room for the header: the slot gets
  // its copy in the same pass, and `frame` its header.
  static void seal_in_place(Link& link, Slot* slot, void* frame) noexcept {
    constexpr size_t kWord = sizeof(uint64_t);
    auto* payload = static_cast<uint8_t*>(frame) + wire::kCompactHeader;
    std::memcpy(payload - kWord, slot->payload() - kWord, kWord);
    wire::seal_compact_copy(payload, slot->frame(), slot->size - wire::kCompactHeader, link.sender(wire::Class::kSync).nonce,
                            slot->key());
  }
  // The same for a frame whose payload is slot->source's pieces.
  void commit_source(Link& link, wire::Class c, Slot* slot, uint8_t am_id) noexcept;

  // Makes room for the description of a zero-copy frame in a slot reserved with source_space(header_length): the upper header is
  // copied and becomes the first piece; the caller appends the user's pieces.
  [[nodiscard]] static Source* make_source(Slot* slot, const void* upper_header, size_t header_length) noexcept;
  [[nodiscard]] static constexpr size_t source_space(size_t header_length) noexcept {
    return header_length + alignof(Source) + sizeof(Source);
  }

  // The newest frame, which the lower transport did not take, was never committed. `before` is what newest() was before.
  void uncommit(Link& link, wire::Class c, Slot* slot, Slot* before, uint32_t length) noexcept;
  [[nodiscard]] static Slot* newest(Link& link, wire::Class c) noexcept {
    const Sender& tx = link.sender(c);
    return tx.oldest == nullptr ? nullptr : tx.newest;
  }
  // The frame just committed was handed down. Needed in mode observe only, where nothing is kept.
  void sent(Link& link, wire::Class c) noexcept {
    if (link.mode == Mode::kObserve) [[unlikely]] forget_sent(link, c);
  }
  // The frame just committed could not be handed down: it waits for resume().
  void stalled(Link& link, wire::Class c, Slot* slot) noexcept;
  // The lower transport may have resources again: sends what waits. False while it is busy still.
  bool resume(Link& link) noexcept;
  // No new frames are taken from now on, until uncork(), which calls writable() when there is room.
  static void cork(Link& link) noexcept { link.corked = link.tx[0].blocked = link.tx[1].blocked = true; }
  void uncork(Link& link) noexcept;
  // Whether a new frame would be taken.
  [[nodiscard]] bool can_send(const Link& link, wire::Class c) const noexcept {
    return !link.tx[static_cast<unsigned>(c)].blocked;
  }
  // The lower transport has read the pieces of a zero-copy slot. The slot may be gone afterwards.
  void source_sent(Link& link, Slot& slot) noexcept;
  // The same for a slot that the lower transport was done with as soon as it was given to it: copies the pieces, so that their
  // buffers are free when the send returns. False: there is no memory for the copy, and source_free() will be called.
  [[nodiscard]] bool complete_at_once(Link& link, Slot& slot) noexcept;
  // Frees a slot whose source_free() was called and which is not in flight any more.
  void release(Slot* slot) noexcept;
  // Copies all zero-copy payloads in flight, so that their buffers are free.
  void own_sources(Link& link) noexcept;
  [[nodiscard]] bool has_unowned(const Link& link) const noexcept;
  [[nodiscard]] bool has_unsent(const Link& link) const noexcept {
    return link.tx[0].first_unsent != nullptr || link.tx[1].first_unsent != nullptr;
  }

  // --- receiving ---------------------------------------------------------------------------------------------------------
  // Takes one active message of the lower transport. True: `out` is to be delivered, then delivered() to be called.
  [[nodiscard]] bool receive(wire::Class c, const void* data, size_t size, Received* out) noexcept {
    if (size >= sizeof(wire::FrameHeader)) [[likely]] {
      wire::FrameHeader header;
      std::memcpy(&header, data, sizeof(header));
      Link* link = find(header.link);
      if (link != nullptr && wire::is_plain_data(header, size)) [[likely]] {
        Receiver& rx = link->receiver(c);
        if (header.psn == rx.expected && rx.held == nullptr && link->plain &&
            header.frame_class() == c && wire::check_plain_data(data, size, rx.nonce)) [[likely]] {
          accept(*link, c, header);
          *out = {link, static_cast<const uint8_t*>(data) + sizeof(header), header.length, header.upper_am_id()};
          return true;
        }
      }
    }
    return receive_slow(c, data, size, out);
  }
  // The same for a compact frame, of the synchronous class.
  [[nodiscard, gnu::hot]] bool receive_compact(const void* data, size_t size, Received* out) noexcept {
    if (size >= wire::kCompactHeader) [[likely]] {
      const wire::CompactView view = wire::read_compact(data);
      Link* link = find_compact(view.fields.link);
      if (link != nullptr && wire::well_formed(view)) [[likely]] {
        Receiver& rx = link->receiver(wire::Class::kSync);
        const uint32_t ack = wire::widen(view.fields.ack, link->sender(wire::Class::kSync).una);
        if (view.fields.psn == (rx.expected & 0xffff) && rx.held == nullptr && link->plain &&
            wire::check_compact(data, size, view, rx.nonce,
                                wire::compact_key({link->local_id, rx.expected, ack, 0, view.fields.kind}))) [[likely]] {
          const auto length = static_cast<uint32_t>(size - wire::kCompactHeader);
          accept(*link, wire::Class::kSync, length, ack, view.fields.kind & wire::kCompactAckRequest ? wire::kAckRequest : 0);
          *out = {link, static_cast<const uint8_t*>(data) + wire::kCompactHeader, length, view.fields.am_id};
          return true;
        }
      }
    }
    return receive_compact_slow(data, size, out);
  }
  // After the upcall: delivers what had waited behind that frame.
  void delivered(const Received& received, wire::Class c) noexcept {
    if (received.link->receiver(c).held != nullptr) [[unlikely]] drain(*received.link, c);
  }

  // --- progress ----------------------------------------------------------------------------------------------------------
  // Once per progress call. Sends what is owed; true when tick() should be called with the time.
  [[nodiscard]] bool poll() noexcept {
    ++polls_;
    if (owed_.linked() && first_is_due()) serve_owed();
    if (unowned_.linked() && polls_ - source_polls_ >= config_.copy_polls) own_oldest();
    return (polls_ & 63) == 0;
  }
  // Runs the timers. `now`: ns of a monotonic clock.
  void tick(uint64_t now) noexcept;
  // Somebody waits until all that was sent is acknowledged: the peer is asked, by the next poll(), not to wait for traffic of its own.
  void ask(Link& link) noexcept;
  // Sends everything owed at once, waiting for no reverse traffic: before sleeping or closing. False: the lower was busy.
  bool flush_owed() noexcept;
  // When tick() must be called next, ns; UINT64_MAX when no timer runs. Before a process sleeps.
  [[nodiscard]] uint64_t next_deadline() const noexcept;
  [[nodiscard]] bool owes() const noexcept { return owed_.linked(); }
  // What tick() was told last, ns.
  [[nodiscard]] uint64_t now() const noexcept { return now_; }

  // --- closing -----------------------------------------------------------------------------------------------------------
  // Says goodbye, on every link or on one: its interface or endpoint goes.
  void say_bye() noexcept;
  void say_bye(Link& link) noexcept;
  // The last endpoint of a link goes, with it perhaps all progress, though the interface stays: the peer's flushes need not wait
  // for long. Said several times, as it may be lost. stay(): there is an endpoint again.
  void leave(Link& link) noexcept;
  static void stay(Link& link) noexcept { link.leaving = false; }
  // Sends everything unacknowledged once more, unasked: the sender may make no progress when the peer asks.
  void repeat(Link& link) noexcept;
  // Something is to be sent again still.
  [[nodiscard]] static bool repeats(const Link& link) noexcept {
    return (link.owed & (owed_bit(kOweRepair, wire::Class::kSync) | owed_bit(kOweRepair, wire::Class::kAsync))) != 0;
  }
  // Nothing in flight that a peer could still ask for, and nothing owed.
  [[nodiscard]] bool quiet() const noexcept;

 private:
  static constexpr uint32_t kIndexBits = 20;
  static constexpr uint32_t kIndexMask = (1u << kIndexBits) - 1;

  [[nodiscard]] uint64_t& former_word(uint64_t key) noexcept { return former_[key >> 6 & 63]; }
  // Never spoke with its peer.
  [[nodiscard]] static bool is_strange(const Link& link) noexcept;
  void set_peer(Link& link, uint64_t peer_uid, Mode peer_mode) noexcept;
  void established(Link& link) noexcept;

  // sending
  void prepare(Link& link, wire::Class c, Slot* slot, uint32_t length, uint8_t am_id) noexcept {
    const uint8_t flags = enter_window(link, c, slot, static_cast<uint32_t>(sizeof(wire::FrameHeader)) + length, false);
    wire::FrameHeader* header = slot->header();
    header->link = link.remote_id;
    header->psn = slot->psn;
    header->ack = link.receiver(c).expected;
    header->length = length;
    header->kind = wire::kind_byte(wire::FrameKind::kData);
    header->flags = flags;
    header->am_id = wire::am_byte(am_id, c);
    header->segment = segment_byte_;
  }
  void prepare_compact(Link& link, Slot* slot, uint32_t length, uint8_t am_id) noexcept {
    constexpr wire::Class c = wire::Class::kSync;
    const uint8_t flags = enter_window(link, c, slot, static_cast<uint32_t>(wire::kCompactHeader) + length, true);
    const auto kind = static_cast<uint8_t>(wire::kCompactKind | (flags != 0 ? wire::kCompactAckRequest : 0));
    const wire::CompactFields fields{link.remote_id, slot->psn, link.receiver(c).expected, am_id, kind};
    wire::write_compact(slot->payload(), fields);
    slot->set_key(wire::compact_key(fields));
  }
  // Counts a frame of `size` bytes into the window; the flags it is to carry.
  [[nodiscard]] uint8_t enter_window(Link& link, wire::Class c, Slot* slot, uint32_t size, bool compact) noexcept {
    Sender& tx = link.sender(c);
    slot->next = nullptr;
    slot->psn = tx.next_psn++;
    slot->set_frame(size, compact);
    const uint32_t weight = compact ? size : slot->weight();
    tx.bytes += weight;
    if (link.owed != 0) ack_rides(link, c);
    return ask_for_ack(tx, weight);
  }
  [[nodiscard]] uint8_t ask_for_ack(Sender& tx, uint32_t size) const noexcept {
    tx.bytes_unasked += size;
    if (++tx.frames_unasked < quarter_frames_ && tx.bytes_unasked < quarter_bytes_) [[likely]] return 0;
    tx.frames_unasked = tx.bytes_unasked = 0;
    return wire::kAckRequest;
  }
  void append(Link& link, wire::Class c, Slot* slot, uint32_t length) noexcept {
    Sender& tx = link.sender(c);
    (tx.oldest == nullptr ? tx.oldest : tx.newest->next) = slot;
    tx.newest = slot;
    link.counters->count_sent(length);
    if (tx.frames() >= config_.window_frames || tx.bytes >= config_.window_bytes) tx.blocked = true;
    if (!link.timer_armed) arm_timer(link);
  }
  void ack_rides(Link& link, wire::Class c) noexcept {
    link.owed &= static_cast<uint8_t>(~owed_bit(kOweAck, c));
    if (link.owed == 0 && !link.owe_bye) {
      link.urgent = false;
      link.owed_node.unlink();
    }
  }
  void forget_sent(Link& link, wire::Class c) noexcept;
  bool resume_class(Link& link, wire::Class c) noexcept;
  void drop_hello(Sender& tx, Slot& slot) noexcept;
  void free_source(Slot* slot) noexcept;
  Slot* reserve_slow(Link& link, Sender& tx, size_t length) noexcept;
  void commit_slow(Link& link, wire::Class c, Slot* slot, uint32_t length, uint8_t am_id) noexcept;
  bool expand(Link& link, Slot& slot) noexcept;
  size_t append_hello(Link& link, wire::Class c, uint8_t* out) noexcept;
  Sent transmit(Link& link, wire::Class c, Slot& slot) noexcept;
  void on_ack(Link& link, wire::Class c, uint32_t ack) noexcept;
  void retire(Link& link, Slot* slot) noexcept;
  void retire_all(Link& link) noexcept;
  void unblock(Link& link, Sender& tx) noexcept;
  bool own_source(Link& link, Slot& slot) noexcept;
  void own_oldest() noexcept;
  void count_late_copy(Link& link) noexcept {
    ++late_copies_;
    link.counters->late_copies++;
  }
  static void resize(Sender& tx, Slot& slot, uint32_t size) noexcept {
    tx.bytes -= slot.weight();
    slot.size = size;
    tx.bytes += slot.weight();
  }

  // repairing, sender's side
  void on_nack(Link& link, wire::Class c, const wire::FrameView& view) noexcept;
  void mark_repair(Link& link, wire::Class c, Slot& slot, const uint8_t* digests, uint16_t count) noexcept;
  bool mark_whole(Link& link, wire::Class c, Slot& slot) noexcept;
  void mark_bad_leaves(Slot& slot, const uint8_t* digests, uint16_t count) noexcept;
  bool prepare_repair(Link& link, wire::Class c, Slot& slot) noexcept;
  bool send_repairs(Link& link, wire::Class c) noexcept;
  bool send_repair(Link& link, wire::Class c, Slot& slot) noexcept;
  bool resend_frame(Link& link, wire::Class c, Slot& slot) noexcept;
  bool send_pieces(Link& link, wire::Class c, Slot& slot) noexcept;
  void count_piece(health::Counters& counters, bool whole, uint32_t begin, uint32_t bytes, bool last) noexcept;

  // receiving
  void accept(Link& link, wire::Class c, const wire::FrameHeader& header) noexcept {
    accept(link, c, header.length, header.ack, header.flags);
  }
  void accept(Link& link, wire::Class c, uint32_t length, uint32_t ack, uint8_t flags) noexcept {
    Receiver& rx = link.receiver(c);
    if (rx.top == rx.expected) ++rx.top;
    ++rx.expected;
    link.counters->count_verified(length);
    if (ack != link.sender(c).una) on_ack(link, c, ack);
    owe_ack(link, c, flags);
  }
  void owe_ack(Link& link, wire::Class c, uint8_t flags) noexcept {
    link.owed |= owed_bit(kOweAck, c);
    if ((flags & wire::kAckRequest) != 0) {
      owe_now(link);
    } else if (!link.owed_node.linked()) {
      link.owed_since = polls_;
      owed_.push_back(link.owed_node);
    }
  }
  void owe_now(Link& link) noexcept {
    link.urgent = true;
    link.owed_node.unlink();
    owed_.next->push_back(link.owed_node);  // at the head
  }
  // What a compact header abbreviates: the full numbers next to those expected.
  [[nodiscard]] static wire::CompactFields widened(const Link& link, const wire::CompactFields& f) noexcept {
    constexpr auto c = static_cast<unsigned>(wire::Class::kSync);
    return {link.local_id, wire::widen(f.psn, link.rx[c].expected), wire::widen(f.ack, link.tx[c].una), f.am_id, f.kind};
  }
  bool receive_slow(wire::Class c, const void* data, size_t size, Received* out) noexcept;
  bool receive_compact_slow(const void* data, size_t size, Received* out) noexcept;
  bool take(Link* link, wire::Class c, wire::Verdict verdict, const wire::FrameView& view, size_t size,
            Received* out) noexcept;
  Link* link_of(const wire::FrameView& view, wire::Class c, const void* data, size_t size, wire::Verdict* verdict) noexcept;
  bool is_for_closed(const wire::FrameView& view, wire::Class c, const void* data, size_t size) noexcept;
  void met(Link& link) noexcept;
  Link* on_hello(const wire::FrameView& view) noexcept;
  void hear_hello(Link& link, const wire::HelloView& hello) noexcept;
  void probe_at_once(Link& link) noexcept;
  bool on_frame(Link& link, wire::Class c, const wire::FrameView& view, Received* out) noexcept;
  bool on_data(Link& link, wire::Class c, const wire::FrameView& view, Received* out) noexcept;
  bool on_observed(Link& link, wire::Class c, const wire::FrameView& view, Received* out) noexcept;
  bool observe_fault(Link& link, const wire::FrameView& view, size_t size, Received* out) noexcept;
  bool on_ahead(Link& link, wire::Class c, const wire::FrameView& view, Held** place) noexcept;
  void settle(Link& link, wire::Class c, Held& held, const wire::FrameHeader& header, const uint8_t* payload) noexcept;
  void diagnose(Link* link, wire::Class c, wire::Verdict verdict, const wire::FrameHeader& header) noexcept;
  void diagnose(Held& held, const wire::FrameHeader& header, const uint8_t* payload) noexcept;
  void diagnose_sent(Link& link, wire::Class c, Slot& slot, health::FaultKind kind) noexcept;
  static void suspect(Link& link, wire::Class c, wire::Verdict verdict, Held& held) noexcept;
  static void look(Held& held, uint32_t offset, const uint8_t* bytes, uint32_t length) noexcept;
  Held* held_for_repair(Link& link, Receiver& rx, const wire::FrameHeader& header) noexcept;
  void owe_nack(Link& link, wire::Class c) noexcept;
  void owe_probe(Link& link, wire::Class c) noexcept;
  void on_fault(Link* link, wire::Class c, wire::Verdict verdict, const wire::FrameView& view) noexcept;
  void count_fault(Link& link, wire::Class c, uint64_t health::Counters::*kind) noexcept;
  void count_fault_of_no_link(uint64_t health::Counters::*kind) noexcept;
  static void count_repaired(Link& link, Receiver& rx) noexcept;
  void count_repaired(Link& link) noexcept;
  void count_repaired_of_no_link() noexcept;
  void on_probe(Link& link, wire::Class c, const wire::FrameView& view) noexcept;
  void on_repair(Link& link, wire::Class c, const wire::FrameView& view) noexcept;
  void on_bye(Link& link) noexcept;
  Held* on_suspect(Link& link, wire::Class c, wire::Verdict verdict, const wire::FrameView& view) noexcept;
  Held** held_place(Receiver& rx, uint32_t psn) const noexcept;
  Held* hold(Link& link, Receiver& rx, const wire::FrameHeader& header, const uint8_t* payload) noexcept;
  void unhold(Held** place) noexcept;
  void drop_held(Receiver& rx) noexcept;
  void drain(Link& link, wire::Class c) noexcept;

  // control frames
  [[nodiscard]] bool first_is_due() const noexcept {
    const Link* first = VERITY_CONTAINER_OF(owed_.next, Link, owed_node);
    return first->urgent || polls_ - first->owed_since >= config_.ack_polls;
  }
  void serve_owed() noexcept;
  bool serve(Link& link) noexcept;
  bool serve_class(Link& link, wire::Class c) noexcept;
  bool serve_bye(Link& link) noexcept;
  Sent send_control(Link& link, wire::Class c, wire::FrameKind kind, util::Pieces body) noexcept;
  bool send_nacks(Link& link, wire::Class c) noexcept;
  bool send_nack_run(Link& link, wire::Class c, uint32_t psn, uint32_t run) noexcept;
  bool send_nack_held(Link& link, wire::Class c, Held& held) noexcept;
  bool send_probe(Link& link, wire::Class c) noexcept;

  // timers
  void arm_timer(Link& link) noexcept;
  void set_deadline(Link& link, uint64_t deadline) noexcept;
  void fire(Link& link) noexcept;
  void on_silence(Link& link) noexcept;
  bool heard_since(Link& link) noexcept;
  void hasten(Link& link) noexcept;
  void fire_bucket(util::ListNode& bucket) noexcept;

  static constexpr unsigned kBuckets = 64;
  static constexpr uint64_t kTick = 64 * 1024;  // ns

  const uint64_t uid_;
  const Config config_;
  const uint32_t segment_size_;
  // A compact frame may be a little longer than a segment, so that a lower transport's usual message, with what is added to it, is
  // still one: 8 KiB and some.
  const uint32_t compact_limit_;
  const uint32_t quarter_frames_;
  const uint32_t quarter_bytes_;
  const uint8_t segment_byte_;
  const size_t hello_size_;
  Port& port_;
  health::Counters& counters_;
  Pool pool_;
  Buffers copies_{4 << 20};
  util::ListNode unowned_;      // zero-copy frames in flight that stand in the user's memory, oldest first
  uint32_t source_polls_ = 0;   // poll count when the last was sent or copied
  uint32_t polls_ = 0;
  util::ListNode owed_;
  std::vector<Link*> table_;
  std::vector<uint32_t> free_ids_;
  std::unordered_map<uint64_t, Link*> by_peer_;
  uint64_t former_[64] = {};  // peers of links that are gone, one bit for each by hash: some seem so that are not
  uint64_t now_ = 0;
  uint64_t last_bucket_ = 0;
  util::ListNode wheel_[kBuckets];
  unsigned timers_ = 0;
  size_t held_bytes_ = 0;
  uint32_t epochs_ = 0;
  uint64_t trimmed_at_ = 0;
  uint64_t late_copies_ = 0;
  uint64_t copies_at_trim_ = 0;
  uint64_t damaged_ = 0;   // faults of frames whose link is not known, or that a link has no room to remember
  bool unclean_ = false;   // some link ended with a fault that was not repaired
};

}  // namespace verity::link
