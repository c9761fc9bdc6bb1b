// SPDX-License-Identifier: BSD-3-Clause
// Both sides give their link up and open it anew, again and again, on a wire that loses, repeats,
// delays and replays frames. No incarnation of a receiver may see a message of one incarnation of a
// sender twice, or out of order; and once there are no more restarts, the two come to rest with
// everything delivered.
#include <gtest/gtest.h>

#include <map>

#include "sim/channel.h"
#include "unit/link/pair.h"

namespace verity::sim {
namespace {

using test::End;

// Message text: incarnation of the sender, then its number.
class Restarter {
 public:
  Restarter(uint64_t uid, uint64_t peer_uid, const link::Config& config, uint64_t seed)
      : end(uid, config), peer_uid_(peer_uid), rng_(seed) {
    end.on_message = [this] { check(); };
    end.on_open = [this] { begin(); };
    if (rng_.chance(0.5)) open();
  }
  void restart() {
    if (end.link != nullptr) end.hub.lifecycle.remove(*end.link);
    open();
  }
  void send() {
    if (end.link == nullptr) open();
    if (end.link->failed()) restart();  // as an application does that was notified of the error
    const std::string text = std::to_string(sent_incarnation_) + ":" + std::to_string(sent_);
    if (end.send(text)) ++sent_;
  }
  void resume() {
    if (end.link != nullptr && end.link->has_unsent())
      (void)end.hub.retransmitter.resume(*end.link);
  }
  [[nodiscard]] bool at_rest() const {
    return end.link == nullptr || (!end.link->in_flight() && !end.hub.has_pending_control());
  }

  End end;
  std::string error;
  std::map<unsigned, unsigned>
      received;  // in this incarnation: how many of each incarnation of the sender
  [[nodiscard]] unsigned sent() const { return sent_; }
  [[nodiscard]] unsigned sent_incarnation() const { return sent_incarnation_; }

 private:
  void open() {
    if (end.link != nullptr) end.old_links.push_back(std::move(end.link));
    end.open(peer_uid_);
    begin();
  }
  void begin() {
    ++sent_incarnation_;
    sent_ = 0;
    received.clear();
  }
  void check() {
    const std::string& text = end.got.back();
    const auto colon = text.find(':');
    const auto incarnation = static_cast<unsigned>(std::stoul(text.substr(0, colon)));
    const auto number = static_cast<unsigned>(std::stoul(text.substr(colon + 1)));
    unsigned& next = received[incarnation];
    if (number != next && error.empty())
      error = "got " + text + " instead of number " + std::to_string(next);
    next = number + 1;
  }

  uint64_t peer_uid_;
  Rng rng_;
  unsigned sent_ = 0;
  unsigned sent_incarnation_ = 0;
};

class Duel {
 public:
  explicit Duel(uint64_t seed)
      : rng_(seed),
        a(1, 2, config(seed), seed * 3 + 1),
        b(2, 1, config(seed), seed * 3 + 2),
        to_b(faults(rng_), seed * 5, 2),
        to_a(faults(rng_), seed * 5 + 1, 2) {}

  std::string run() {
    for (unsigned i = 0; i < 400; ++i) {
      if (rng_.chance(0.3)) a.send();
      if (rng_.chance(0.3)) b.send();
      if (rng_.chance(0.02)) a.restart();
      if (rng_.chance(0.02)) b.restart();
      step();
    }
    const uint64_t until = now + 3'600'000'000'000;
    while (now < until && !(a.at_rest() && b.at_rest() && to_a.empty() && to_b.empty())) step();
    if (now >= until) return "does not come to rest";
    // Still usable, in both directions.
    for (unsigned i = 0; i < 3; ++i) {
      a.send();
      b.send();
      for (unsigned n = 0; n < 300; ++n) step();
    }
    const unsigned opened = links();
    while (now < until && !finished()) {
      step();
      if (a.end.link->failed()) a.send();
      if (b.end.link->failed()) b.send();
    }
    if (!finished()) return "what was sent last does not arrive";
    if (links() > opened + 4)
      return "the links restart each other: " + std::to_string(links() - opened) + " times";
    return a.error.empty() ? b.error : a.error;
  }

 private:
  static link::Config config(uint64_t seed) {
    link::Config c;
    c.max_repairs = 1000;
    c.ack_polls = 4;
    c.window_frames = seed % 3 == 0 ? 4 : 64;
    c.compact = seed % 2 == 0;
    return c;
  }
  static Faults faults(Rng& rng) {
    Faults f;
    const double p = rng.chance(0.3) ? 0 : 0.15;
    f.drop = p * rng.chance(0.5);
    f.duplicate = p * rng.chance(0.5);
    f.flip = p * rng.chance(0.5);
    f.delay = rng.chance(0.5) ? 0.2 : 0;
    f.swap = p * rng.chance(0.3);
    f.replay = p * rng.chance(0.5);
    return f;
  }
  [[nodiscard]] unsigned links() const {
    return static_cast<unsigned>(a.end.counters.links_opened + b.end.counters.links_opened);
  }
  bool finished() {
    return a.at_rest() && b.at_rest() && !a.end.link->failed() && !b.end.link->failed() &&
           to_a.empty() && to_b.empty() && b.received[a.sent_incarnation()] == a.sent() &&
           a.received[b.sent_incarnation()] == b.sent();
  }
  void hand(End& from, Channel& wire, End& to) {
    while (!from.wire.empty()) {
      test::WireFrame frame = from.take();
      wire.push({std::move(frame.bytes), frame.c, now, 0, nullptr, frame.compact}, now);
    }
    std::vector<Packet> out;
    while (wire.pop(now, out)) {}
    for (Packet& packet : out) to.receive({std::move(packet.bytes), packet.c, packet.compact});
  }
  void step() {
    const bool idle = to_a.empty() && to_b.empty() && !a.end.hub.has_pending_control() &&
                      !b.end.hub.has_pending_control();
    now += idle && rng_.chance(0.5) ? rng_.between(10'000, 3'000'000) : rng_.between(100, 3'000);
    for (Restarter* r : {&a, &b}) {
      r->end.poll(2);
      r->end.hub.tick(now);
      r->resume();
    }
    hand(a.end, to_b, b.end);
    hand(b.end, to_a, a.end);
  }

  Rng rng_;

 public:
  Restarter a;
  Restarter b;
  Channel to_b;
  Channel to_a;
  uint64_t now = 1'000'000;
};

TEST(Restart, BothSidesComeToRest) {
  const char* text = std::getenv("VERITY_SIM_SEEDS");
  const uint64_t count = text == nullptr ? 150 : std::strtoull(text, nullptr, 0);
  for (uint64_t seed = 1; seed <= count && !HasFailure(); ++seed) {
    Duel duel(seed);
    EXPECT_EQ(duel.run(), "") << "seed " << seed;
  }
}

}  // namespace
}  // namespace verity::sim
