// SPDX-License-Identifier: BSD-3-Clause
// The actors of the link layer that can be seen alone, with no hub around them.
#include <gtest/gtest.h>

#include <vector>

#include "link/control_sender.h"

namespace verity::test {
namespace {

using link::Control;
using wire::Class;

// Notes what it is called for.
class NotingPort final : public link::Port {
 public:
  link::Sent send(link::Link&, Class, util::Pieces frame) noexcept override {
    frames.emplace_back(util::total_length(frame));
    util::copy_out(frame, 0, frames.back().data(), frames.back().size());
    return busy ? link::Sent::kBusy : link::Sent::kOk;
  }
  link::Sent send_source(link::Link&, Class, link::Slot&) noexcept override {
    return link::Sent::kOk;
  }
  void deliver(link::Link&, Class, uint8_t, const void*, size_t) noexcept override {}
  void source_free(link::Link&, link::Slot&) noexcept override { ++freed; }
  void writable(link::Link&) noexcept override {}
  void failed(link::Link&, link::Failure) noexcept override {}
  void peer_closed(link::Link&) noexcept override {}
  link::Link* new_peer(const wire::HelloView&) noexcept override { return nullptr; }
  void write_addresses(wire::HelloExt&, uint8_t*) noexcept override {}
  void faulted(link::Link*, wire::Verdict, const wire::FrameHeader&) noexcept override {}
  void diagnosed(link::Link*, const link::Fault& fault) noexcept override {
    reported.push_back(fault.kind);
  }

  bool busy = false;
  unsigned freed = 0;
  std::vector<std::vector<uint8_t>> frames;
  std::vector<health::FaultKind> reported;
};

class LinkParts : public ::testing::Test {
 protected:
  LinkParts() { link.counters = &counters; }
  // A zero-copy frame in flight.
  link::Slot* send(std::vector<uint8_t>& buffer) {
    link::Slot* slot = link::Pool::take_reserve(4096);
    link::Source* source = link::ZeroCopy::make_source(slot, nullptr, 0);
    source->pieces[source->count++] = {buffer.data(), buffer.size()};
    *slot->header() = {};
    slot->header()->length = static_cast<uint32_t>(buffer.size());
    link.tx[0].enter(slot, sizeof(wire::FrameHeader), false);
    link.tx[0].append(slot, {10, 1 << 20, 10, 1 << 20});
    zero_copy.committed(link, *slot, control.polls());
    return slot;
  }
  static link::Config config() {
    link::Config c;
    c.copy_polls = 3;
    return c;
  }
  NotingPort port;
  health::Counters counters{};
  const link::Interface iface{1, config(), port, counters};
  link::Link link;
  link::ControlQueue control{64};
  link::Pool pool{8192, 1 << 20};
  link::ZeroCopy zero_copy{iface, pool};
};

TEST_F(LinkParts, ABufferIsFreeOnceWhicheverComesFirst) {
  std::vector<uint8_t> buffer(100, 7);
  const auto acknowledge = [&] {
    link.tx[0].acknowledge(link.tx[0].next_psn(),
                           [&](link::Slot* slot) { zero_copy.acknowledged(link, slot); });
  };
  link::Slot* slot = send(buffer);
  slot->source->sending = true;
  acknowledge();
  EXPECT_EQ(port.freed, 0u) << "the lower transport still reads it";
  zero_copy.source_sent(link, *slot);
  EXPECT_EQ(port.freed, 1u);
  zero_copy.release(slot);
  slot = send(buffer);
  EXPECT_TRUE(link::ZeroCopy::has_unbounced(link));
  zero_copy.poll(2);
  EXPECT_EQ(port.freed, 1u);
  zero_copy.poll(3);
  EXPECT_EQ(port.freed, 2u) << "bounced";
  buffer[0] = 8;
  EXPECT_EQ(*static_cast<const uint8_t*>(slot->source->pieces[0].data), 7);
  EXPECT_FALSE(link::ZeroCopy::has_unbounced(link));
  zero_copy.release(slot);
  acknowledge();
  EXPECT_EQ(port.freed, 2u);
  EXPECT_EQ(counters.late_copies, 1u);
}

TEST_F(LinkParts, ATimeoutBouncesThenProbesWithGrowingPauses) {
  link::RetransmitTimer timer(iface, control, zero_copy);
  std::vector<uint8_t> buffer(100, 7);
  link::Slot* slot = send(buffer);
  timer.arm(link);
  std::vector<uint64_t> probes;
  for (uint64_t now = 0; now < 100'000'000; now += 100'000) {
    timer.advance(now);
    if (link.control.take(Control::kProbe, Class::kSync)) probes.push_back(now / 1'000'000);
  }
  EXPECT_EQ(port.freed, 1u);
  EXPECT_EQ(probes, (std::vector<uint64_t>{1, 5, 21, 85})) << "ms";
  timer.probe_soon(link);
  EXPECT_LE(timer.next_deadline(), timer.now() + 1'000'000);
  zero_copy.release(slot);
  link.tx[0].complete_all([&](link::Slot* s) { zero_copy.acknowledged(link, s); });
  timer.advance(1'000'000'000);
  EXPECT_FALSE(link.timer.deadline.armed());
}

TEST_F(LinkParts, AControlFrameCarriesTheAcknowledgementUnlessTheLowerTransportIsBusy) {
  const link::FrameWriter writer(iface);
  link.connection.on(link::Event::kIdentified);
  link.rx[0].start_at(17);
  control.schedule_ack(link.control, Class::kSync, true);
  port.busy = true;
  EXPECT_EQ(writer.send_control(link, Class::kSync, wire::FrameKind::kAck, {}), link::Sent::kBusy);
  EXPECT_TRUE(link.control.has(Control::kAck, Class::kSync));
  port.busy = false;
  EXPECT_EQ(writer.send_control(link, Class::kSync, wire::FrameKind::kAck, {}), link::Sent::kOk);
  EXPECT_FALSE(link.control.has(Control::kAck, Class::kSync));
  ASSERT_EQ(port.frames.back().size(), sizeof(wire::FrameHeader));
  wire::FrameHeader header;
  std::memcpy(&header, port.frames.back().data(), sizeof(header));
  EXPECT_EQ(header.ack, 17u);
  EXPECT_EQ(header.frame_kind(), wire::FrameKind::kAck);
}

TEST_F(LinkParts, AFaultIsCountedOnceAndBalancedByTheNextFrame) {
  link::OutOfOrderPool frames(1000);
  {
    link::Faults faults(iface, frames);
    faults.count(&link, Class::kSync, &health::Counters::faults_payload);
    faults.count(nullptr, Class::kSync, &health::Counters::faults_header);
    EXPECT_EQ(counters.faults_payload, 1u);
    EXPECT_EQ(counters.faults_header, 1u);
    link.rx[0].accept();
    link::Faults::count_repaired(link, link.rx[0]);
    EXPECT_EQ(counters.faults_repaired, 1u);
    faults.link_ends(link);
  }
  EXPECT_EQ(counters.faults_repaired, 2u) << "of no link: no link misses anything";
}

TEST_F(LinkParts, ADamagedFrameIsReportedOnce) {
  link::OutOfOrderPool frames(1000);
  link::Faults faults(iface, frames);
  wire::FrameHeader header{};
  header.length = 4;
  const auto* right = reinterpret_cast<const uint8_t*>("four");
  for (const bool came : {true, false}) {
    link::QueuedFrame* frame = frames.copy(header, reinterpret_cast<const uint8_t*>("foul"));
    link::Faults::queued(link, Class::kSync, wire::Verdict::kBadPayload, *frame);
    if (came) {
      link::Faults::compare(*frame, 0, right, 4);
      EXPECT_EQ(frame->syndrome.first, 3u);
      faults.report(*frame, header, right);
    }
    faults.discard(frame);
  }
  EXPECT_EQ(port.reported, (std::vector<health::FaultKind>{health::FaultKind::kPayload,
                                                           health::FaultKind::kPayload}));
  EXPECT_EQ(frames.bytes(), 0u);
}

}  // namespace
}  // namespace verity::test
