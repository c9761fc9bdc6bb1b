// SPDX-License-Identifier: BSD-3-Clause
// Two interfaces with one link between them and a wire on which nothing happens unless the test
// makes it happen.
#ifndef VERITY_TEST_UNIT_LINK_PAIR_H
#define VERITY_TEST_UNIT_LINK_PAIR_H

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "link/hub.h"
#include "unit/link/wire_frame.h"

namespace verity::test {

using link::Failure;
using link::Mode;
using link::Sent;

// How plain data travels: with full headers, with compact ones, or with one and the other in turn.
enum class Form { kFull, kCompact, kMixed };

// One interface. Frames that it sends lie in `wire` until the test delivers them. More than 15
// fields: what a test chooses beforehand and looks at afterwards.
class End : public link::Port {
 public:
  static inline Form form =
      Form::kFull;  // of the ends to come; a Config that says compact is so in any case

  End(uint64_t uid, const link::Config& config)
      : mixed(form == Form::kMixed), hub(uid, formed(config), *this, counters) {}
  ~End() override {
    if (link != nullptr) hub.lifecycle.remove(*link);
    for (auto& old : old_links) hub.lifecycle.remove(*old);
  }

  // Sends `text` as one short message. False: no room.
  bool send(const std::string& text, Class c = Class::kSync, uint8_t am_id = 1) {
    if (c == Class::kSync && text.size() <= hub.sender.small_payload() && link->is_fast() &&
        (++smalls & 1) != 0) {
      if (link::Slot* slot = hub.sender.reserve_small(*link)) return send_small(slot, text, am_id);
    }
    link::Slot* slot = hub.sender.reserve(*link, c, text.size());
    if (slot == nullptr) return false;
    std::memcpy(slot->payload(), text.data(), text.size());
    const bool may_be_compact = !mixed || (++commits & 1) != 0;
    if (hub.sender.commit_open(*link, c, slot, static_cast<uint32_t>(text.size()), am_id,
                               may_be_compact)) {
      link::seal(*link, c, slot);
    }
    const util::Piece frame{slot->frame(), slot->size};
    if ((slot->compact ? send_compact(*link, frame) : send(*link, c, {&frame, 1})) == Sent::kBusy) {
      hub.sender.stalled(*link, c, slot);
    } else {
      hub.sender.sent(*link, c);
    }
    return true;
  }
  // The same in a slot of reserve_small().
  bool send_small(link::Slot* slot, const std::string& text, uint8_t am_id) {
    std::memcpy(slot->payload(), text.data(), text.size());
    hub.sender.commit_small(*link, slot, static_cast<uint32_t>(text.size()), am_id);
    if (send_compact(*link, {slot->frame(), slot->size}) == Sent::kBusy)
      hub.sender.stalled(*link, Class::kSync, slot);
    return true;
  }
  // The same without a copy: `buffer` stays the source, in so many pieces.
  link::Slot* send_zero_copy(std::vector<uint8_t>& buffer, Class c = Class::kSync,
                             uint8_t am_id = 1, size_t pieces = 1) {
    link::Slot* slot = hub.sender.reserve(*link, c, link::ZeroCopy::source_space(0));
    if (slot == nullptr) return nullptr;
    link::Source* source = link::ZeroCopy::make_source(slot, nullptr, 0);
    for (size_t i = 0; i < pieces; ++i) {
      const size_t begin = buffer.size() * i / pieces;
      source->pieces[source->count++] = {buffer.data() + begin,
                                         buffer.size() * (i + 1) / pieces - begin};
    }
    if (mixed && !busy && !lower_keeps_sources && (++commits & 1) != 0)
      return send_gathered(slot, c, am_id, buffer.size());
    hub.sender.commit_source(*link, c, slot, am_id);
    if (send_source(*link, c, *slot) == Sent::kBusy) {
      hub.sender.stalled(*link, c, slot);
    } else {
      hub.sender.sent(*link, c);
    }
    return slot;
  }
  // The same over a lower transport that only copies: the frame is made in its buffer.
  link::Slot* send_gathered(link::Slot* slot, Class c, uint8_t am_id, size_t length) {
    std::vector<uint8_t> frame(sizeof(FrameHeader) + length + hub.config().hello_size);
    slot->source->sending = true;
    const size_t size = hub.sender.commit_gathered(*link, c, slot, am_id, frame.data());
    EXPECT_EQ(size, slot->size);
    const util::Piece whole{frame.data(), size};
    EXPECT_EQ(send(*link, c, {&whole, 1}), Sent::kOk);
    hub.sender.sent(*link, c);
    hub.zero_copy.source_sent(*link, *slot);
    return slot;
  }
  // The same with the payload in the slot, where the lower transport reads it.
  link::Slot* send_from_slot(const std::string& text) {
    const size_t length = text.size();
    link::Slot* slot =
        hub.sender.reserve(*link, Class::kSync, length + link::ZeroCopy::source_space(0));
    if (slot == nullptr) return nullptr;
    std::memcpy(slot->payload(), text.data(), length);
    (void)link::ZeroCopy::make_source_in_slot(slot, length);
    hub.sender.commit_source(*link, Class::kSync, slot, 1);
    if (send_source(*link, Class::kSync, *slot) == Sent::kBusy) {
      hub.sender.stalled(*link, Class::kSync, slot);
    } else {
      if (!lower_keeps_sources) hub.zero_copy.source_sent(*link, *slot);
      hub.sender.sent(*link, Class::kSync);
    }
    return slot;
  }
  void receive(const WireFrame& frame) {
    const auto copy = std::make_unique<uint8_t[]>(frame.bytes.size());
    std::memcpy(copy.get(), frame.bytes.data(), frame.bytes.size());
    link::Received received;
    if (frame.compact ? !hub.receive_compact(copy.get(), frame.bytes.size(), &received)
                      : !hub.receive(frame.c, copy.get(), frame.bytes.size(), &received)) {
      return;
    }
    deliver(*received.link, frame.c, received.am_id, received.payload, received.length);
    hub.delivered(received, frame.c);
  }
  // Takes the oldest frame off the wire.
  WireFrame take() {
    WireFrame frame = std::move(wire.front());
    wire.pop_front();
    return frame;
  }
  void poll(unsigned times = 1) {
    while (times-- != 0) (void)hub.poll();
  }

  // link::Port
  Sent send(link::Link&, Class c, util::Pieces frame) noexcept override {
    ++tried;
    if (busy) return Sent::kBusy;
    if (busy_after != 0 && --busy_after == 0) busy = true;
    std::vector<uint8_t> bytes(util::total_length(frame));
    util::copy_out(frame, 0, bytes.data(), bytes.size());
    wire.push_back({std::move(bytes), c});
    if (on_send) on_send();
    return Sent::kOk;
  }
  Sent send_compact(link::Link& l, util::Piece frame) noexcept override {
    const Sent result = send(l, Class::kSync, {&frame, 1});
    if (result == Sent::kOk) wire.back().compact = true;
    return result;
  }
  bool wait_for_room(link::Link&) noexcept override { return announces_room; }
  Sent send_source(link::Link& l, Class c, link::Slot& slot) noexcept override {
    std::vector<util::Piece> pieces{{slot.header(), sizeof(FrameHeader)}};
    for (uint32_t i = 0; i < slot.source->count; ++i) pieces.push_back(slot.source->pieces[i]);
    pieces.push_back(slot.source->hello);
    const Sent result = send(l, c, pieces);
    if (result == Sent::kOk && lower_keeps_sources) slot.source->sending = true;
    return result;
  }
  void deliver(link::Link&, wire::Class, uint8_t am_id, const void* payload,
               size_t length) noexcept override {
    am_ids.push_back(am_id);
    got.emplace_back(static_cast<const char*>(payload), length);
    if (on_message) on_message();
  }
  void source_changed(link::Link&, const link::Slot& slot, bool was_freed) noexcept override {
    const util::Piece user =
        slot.source != nullptr ? slot.source->user()
                               : util::Piece{slot.copied_from(), slot.size - wire::kCompactHeader};
    (was_freed ? changed_before : changed).push_back(user);
  }
  void source_free(link::Link&, link::Slot& slot) noexcept override {
    freed++;
    hub.zero_copy.release(&slot);
  }
  void writable(link::Link&) noexcept override { writables++; }
  void deadline_set() noexcept override { deadlines++; }
  void failed(link::Link&, Failure why) noexcept override { failures.push_back(why); }
  void peer_closed(link::Link&) noexcept override { closed++; }
  link::Link* new_peer(const wire::HelloView& hello) noexcept override {
    if (link != nullptr) old_links.push_back(std::move(link));
    open(hello.ext.uid, hello.ext.path);
    if (on_open) on_open();
    return link.get();
  }
  void hello_received(link::Link& l, const wire::HelloView& hello) noexcept override {
    introductions.push_back(
        {&l == link.get(), hello.ext.uid,
         std::string(hello.ext.host, strnlen(hello.ext.host, wire::kMaxHostName))});
  }
  size_t closed_interfaces(std::span<uint64_t> out) noexcept override {
    return static_cast<size_t>(std::copy(closed_before.begin(), closed_before.end(), out.begin()) -
                               out.begin());
  }
  void write_addresses(wire::HelloExt& ext, uint8_t* out) noexcept override {
    ext.device_length = 3;
    ext.iface_length = 8;
    host.copy(ext.host, wire::kMaxHostName);
    std::memset(out, 0x5a, 11);
  }
  void faulted(link::Link*, wire::Verdict verdict, const FrameHeader&) noexcept override {
    verdicts.push_back(verdict);
  }

  void diagnosed(link::Link* l, const link::Fault& fault) noexcept override {
    faults.push_back(
        {fault.kind, fault.c, fault.sent, fault.header, fault.attempts, l == link.get(),
         fault.syndrome != nullptr ? *fault.syndrome : health::Syndrome{},
         fault.payload != nullptr
             ? std::string(reinterpret_cast<const char*>(fault.payload), fault.header.length)
             : ""});
  }

  void open(uint64_t peer_uid, uint8_t path = 0) {
    link = std::make_unique<link::Link>();
    hub.lifecycle.open(*link, peer_uid, path, Mode::kVerify);
  }
  // All sequences of the link start at `psn`.
  void start_at(uint32_t psn) {
    for (unsigned c = 0; c < wire::kClasses; ++c) {
      link->tx[c].start_at(psn);
      link->rx[c].start_at(psn);
      link->timer.seen_una[c] = psn;
    }
  }

  const bool mixed;
  unsigned commits = 0;
  unsigned smalls = 0;
  health::Counters counters{};
  link::Hub hub;
  std::unique_ptr<link::Link> link;
  std::vector<std::unique_ptr<link::Link>> old_links;
  std::deque<WireFrame> wire;
  std::vector<std::string> got;
  std::vector<uint8_t> am_ids;
  std::vector<Failure> failures;
  std::vector<wire::Verdict> verdicts;
  struct ReportedFault {
    health::FaultKind kind;
    Class c;
    bool sent;
    FrameHeader header;
    uint32_t attempts;
    bool on_link;
    health::Syndrome syndrome;  // without bits: there was none
    std::string payload;
  };
  std::vector<ReportedFault> faults;
  struct Introduction {
    bool on_link;
    uint64_t uid;
    std::string host;
    bool operator==(const Introduction&) const = default;
  };
  std::vector<Introduction> introductions;
  std::vector<uint64_t> closed_before;  // uids of this process's interfaces
  std::string host = "node";
  unsigned freed = 0;
  std::vector<util::Piece> changed;         // of zero-copy sends
  std::vector<util::Piece> changed_before;  // the same, found out when they had been freed
  unsigned writables = 0;
  unsigned deadlines = 0;
  unsigned closed = 0;
  bool busy = false;
  unsigned busy_after = 0;  // sends until the lower transport becomes busy
  unsigned tried = 0;       // sends, be they in vain
  bool announces_room = false;
  bool lower_keeps_sources = false;
  std::function<void()> on_send;
  std::function<void()> on_message;
  std::function<void()> on_open;  // a HELLO opened a link

 private:
  static link::Config formed(link::Config config) {
    config.compact = config.compact || form != Form::kFull;
    return config;
  }
};

// Runs its tests in each form.
class InEachForm : public ::testing::TestWithParam<Form> {
 protected:
  InEachForm() { End::form = GetParam(); }
  ~InEachForm() override { End::form = Form::kFull; }
};
inline std::string form_name(const ::testing::TestParamInfo<Form>& info) {
  constexpr const char* kNames[] = {"Full", "Compact", "Mixed"};
  return kNames[static_cast<unsigned>(info.param)];
}
#define VERITY_IN_EACH_FORM(fixture) \
  INSTANTIATE_TEST_SUITE_P(          \
      Form, fixture, ::testing::Values(Form::kFull, Form::kCompact, Form::kMixed), form_name)

class Pair {
 public:
  explicit Pair(const link::Config& config = {}) : Pair(config, config) {}
  Pair(const link::Config& of_a, const link::Config& of_b) : a(0xa1, of_a), b(0xb2, of_b) {}

  // Both know each other, as after the first messages. Sequences start at `psn`.
  void join(uint32_t psn = 0) {
    a.open(b.hub.uid());
    b.open(a.hub.uid());
    a.hub.lifecycle.connect(*a.link, b.hub.uid(), b.link->local_id, b.hub.config().mode);
    b.hub.lifecycle.connect(*b.link, a.hub.uid(), a.link->local_id, a.hub.config().mode);
    a.start_at(psn);
    b.start_at(psn);
  }
  // Delivers what is on the wire, and what that leads to, polls included.
  void run_until_idle() {
    for (unsigned round = 0; round < 1000; ++round) {
      a.poll();
      b.poll();
      if (a.wire.empty() && b.wire.empty() && !a.hub.has_pending_control() &&
          !b.hub.has_pending_control())
        return;
      move(a, b);
      move(b, a);
    }
  }
  // Simulated time with polls and deliveries.
  void run_for(uint64_t time, uint64_t step = 50'000) {
    for (const uint64_t end = now + time; now < end; now += step) {
      run_until_idle();
      a.hub.tick(now);
      b.hub.tick(now);
    }
    run_until_idle();
  }
  static void move(End& from, End& to) {
    while (!from.wire.empty()) to.receive(from.take());
  }

  End a;
  End b;
  uint64_t now = 1'000'000'000;
};

inline std::string text_of(size_t length, unsigned seed = 1) {
  std::string text(length, 0);
  for (size_t i = 0; i < length; ++i)
    text[i] = static_cast<char>((i * 131 + i / 256 * 7 + seed * 31) & 0xff);
  return text;
}

// Segments of 256 bytes, so that few bytes make many.
inline constexpr unsigned kSmallSegment = 256;
inline link::Config small_segments(size_t max_send = 128 * 1024) {
  link::Config config;
  config.segment_log2 = 8;
  config.max_send = max_send;
  config.max_frame = 128 * 1024;
  config.max_repairs = 4;
  return config;
}

// A pair with them, whose sequences soon begin anew.
class Damaging : public InEachForm {
 protected:
  Damaging() { pair.join(0xfffffffeu); }
  // Sends `text` from a, with bits flipped at these payload offsets.
  void send_damaged(const std::string& text, const std::vector<size_t>& offsets) {
    ASSERT_TRUE(a.send(text));
    WireFrame frame = a.take();
    for (const size_t offset : offsets) frame.flip_payload(offset);
    b.receive(frame);
  }
  Pair pair{small_segments()};
  End& a = pair.a;
  End& b = pair.b;
};

}  // namespace verity::test

#endif
