// SPDX-License-Identifier: BSD-3-Clause
// The link's fast path between two interfaces whose wire is a memcpy.
#include <cstdlib>
#include <memory>
#include <vector>

#include "link/hub.h"
#include "perf_counts/case.h"

namespace verity::perf {
namespace {

using wire::Class;

constexpr size_t kMost = 8192;
constexpr unsigned kCalls = 256;  // more than the driver makes

// Nothing goes wrong here: none of it may be called.
class NoPort final : public link::Port {
 public:
  link::Sent send(link::Link&, Class, util::Pieces) noexcept override { std::abort(); }
  link::Sent send_source(link::Link&, Class, link::Slot&) noexcept override { std::abort(); }
  void deliver(link::Link&, wire::Class, uint8_t, const void*, size_t) noexcept override {
    std::abort();
  }
  void source_free(link::Link&, link::Slot&) noexcept override { std::abort(); }
  void writable(link::Link&) noexcept override { std::abort(); }
  void failed(link::Link&, link::Failure) noexcept override { std::abort(); }
  void peer_closed(link::Link&) noexcept override { std::abort(); }
  link::Link* new_peer(const wire::HelloView&) noexcept override { std::abort(); }
  void write_addresses(wire::HelloExt&, uint8_t*) noexcept override { std::abort(); }
  void faulted(link::Link*, wire::Verdict, const wire::FrameHeader&) noexcept override {
    std::abort();
  }
};

struct Ends {
  explicit Ends(bool compact)
      : a(1, config(compact), port, counters), b(2, config(compact), port, counters) {
    a.lifecycle.open(link_a, 2, 0, link::Mode::kVerify);
    b.lifecycle.open(link_b, 1, 0, link::Mode::kVerify);
    a.lifecycle.connect(link_a, 2, link_b.local_id, link::Mode::kVerify);
    b.lifecycle.connect(link_b, 1, link_a.local_id, link::Mode::kVerify);
  }
  static link::Config config(bool compact) {
    link::Config c;
    c.window_frames = 8 * kCalls;
    c.window_bytes = 64 << 20;
    c.compact = compact;
    return c;
  }
  NoPort port;
  health::Counters counters{};
  link::Link link_a;
  link::Link link_b;
  link::Hub a;
  link::Hub b;
  alignas(64) uint8_t buffer[kMost] = {};
  std::vector<std::vector<uint8_t>> frames;
  size_t next = 0;
};
std::unique_ptr<Ends> ends;

// As src/uct does: small frames have their own way.
link::Slot* commit(link::Hub& hub, link::Link& l, uint32_t length) {
  if (length <= hub.sender.small_payload()) {
    if (link::Slot* slot = hub.sender.reserve_small(l)) {
      std::memcpy(slot->payload(), ends->buffer, 8);
      hub.sender.commit_small(l, slot, length, 5);
      return slot;
    }
  }
  link::Slot* slot = hub.sender.reserve(l, Class::kSync, length);
  if (length == 8)
    std::memcpy(slot->payload(), ends->buffer, 8);
  else
    std::memcpy(slot->payload(), ends->buffer, length);
  hub.sender.commit(l, Class::kSync, slot, length, 5);
  return slot;
}

void receive(link::Hub& hub, const void* data, size_t size, bool compact) {
  link::Received received;
  const bool good = compact ? hub.receive_compact(data, size, &received)
                            : hub.receive(Class::kSync, data, size, &received);
  if (!good) std::abort();
  consume(received.payload);
  hub.delivered(received, Class::kSync);
}

template <bool kCompact>
void two_ends() {
  ends = std::make_unique<Ends>(kCompact);
}

// Slots for all calls, of the classes that the cases use.
void fill_pool(uint32_t length) {
  std::vector<link::Slot*> slots;
  while (slots.size() < 2 * kCalls) {
    link::Slot* slot = ends->a.sender.reserve(ends->link_a, Class::kSync, length);
    if (slot != nullptr) slots.push_back(slot);
    ends->a.tick(0);
  }
  for (link::Slot* slot : slots) ends->a.sender.cancel(slot);
}

template <bool kCompact>
void ready_to_commit() {
  two_ends<kCompact>();
  fill_pool(8);
}

void commit_8() { consume(commit(ends->a, ends->link_a, 8)); }

template <bool kCompact>
void ready_to_receive() {
  ready_to_commit<kCompact>();
  for (unsigned i = 0; i < kCalls; ++i) {
    link::Slot* slot = commit(ends->a, ends->link_a, 8);
    ends->frames.emplace_back(slot->frame(), slot->frame() + slot->size);
  }
}

template <bool kCompact>
void receive_8() {
  const std::vector<uint8_t>& frame = ends->frames[ends->next++];
  receive(ends->b, frame.data(), frame.size(), kCompact);
}

template <bool kCompact>
void one_way(link::Hub& from, link::Link& l, link::Hub& to, uint32_t length) {
  link::Slot* slot = commit(from, l, length);
  static uint8_t wire[kMost];
  const size_t size = slot->size;
  std::memcpy(wire, slot->frame(), size);
  (void)to.poll();
  receive(to, wire, size, kCompact);
}

template <uint32_t kLength, bool kCompact>
void ping_pong() {
  one_way<kCompact>(ends->a, ends->link_a, ends->b, kLength);
  one_way<kCompact>(ends->b, ends->link_b, ends->a, kLength);
}

constexpr Case kCases[] = {
    {"link-commit-8", ready_to_commit<true>, commit_8},
    {"link-receive-8", ready_to_receive<true>, receive_8<true>},
    {"link-ping-pong-8", two_ends<true>, ping_pong<8, true>},
    {"link-ping-pong-4k", two_ends<true>, ping_pong<4096, true>},
    {"link-ping-pong-8-full-header", two_ends<false>, ping_pong<8, false>},
};

}  // namespace

std::span<const Case> link_cases() { return kCases; }

}  // namespace verity::perf
