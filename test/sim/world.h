// SPDX-License-Identifier: BSD-3-Clause
// A simulated cluster: interfaces, the wire between them, and a clock.
#ifndef VERITY_TEST_SIM_WORLD_H
#define VERITY_TEST_SIM_WORLD_H

#include <memory>
#include <string>
#include <vector>

#include "sim/node.h"

namespace verity::sim {

// What a simulation is made of; everything else follows from the seed. More than 15
// fields: one for each property that random_plan() draws or a test sets.
struct Plan {
  uint64_t seed = 1;
  unsigned interfaces = 2;
  unsigned messages = 40;   // per ordered pair and class
  uint32_t longest = 3000;  // bytes of the longest message
  Faults faults;
  bool inline_delivery =
      false;           // the receiver runs inside the sender's call, as UCX's self transport has it
  double replies = 0;  // how often an upcall sends
  double zero_copy = 0;
  double mutate = 0;  // how often a zero-copy buffer changes in flight
  uint32_t first_psn = 0;
  uint32_t spread = 0;  // directions and classes start apart by up to this
  std::vector<uint8_t>
      full;          // interfaces that send full headers only, although compact frames are allowed
  double mixed = 0;  // how often a frame is sent with a full header that could be compact
  double forget = 0.2;  // of frames that may be replayed, see Channel
  link::Config config;
  std::vector<link::Mode> modes;                  // per interface, when not all alike
  uint64_t time_limit = 7200ull * 1'000'000'000;  // ns of simulated time
};

// A plan with everything drawn from the seed. `total`: share of the frames that something happens
// to.
[[nodiscard]] Plan random_plan(uint64_t seed, double total);

class World {
 public:
  explicit World(const Plan& plan);
  ~World();

  // Until all messages arrived and nothing is in flight, the time limit, or an error. Empty, or
  // what is wrong.
  [[nodiscard]] std::string run();
  void step();
  void run_for(uint64_t time);
  [[nodiscard]] bool done();
  // Goodbyes, removal, and the count of what is left behind. Empty, or what leaked.
  [[nodiscard]] std::string close();

  [[nodiscard]] const Plan& plan() const noexcept { return plan_; }
  [[nodiscard]] Node& node(unsigned i) noexcept { return *nodes_[i]; }
  [[nodiscard]] Channel& channel(unsigned from, unsigned to) noexcept {
    return *channels_[from * plan_.interfaces + to];
  }
  [[nodiscard]] uint64_t now() const noexcept { return now_; }
  [[nodiscard]] Rng& rng() noexcept { return rng_; }
  [[nodiscard]] uint64_t frames() const noexcept { return frames_; }
  [[nodiscard]] health::Counters total() noexcept;
  void set_faults(const Faults& faults);
  // The first error counts.
  void error(std::string text);
  [[nodiscard]] const std::string& first_error() const noexcept { return error_; }

  // For the nodes: hands a frame to the wire. `finish` as in Packet.
  link::Sent transmit(unsigned from, unsigned to, wire::Class c, std::vector<uint8_t> bytes,
                      std::function<void(Packet&)> finish, bool compact = false);
  // Where the sequence of one direction and class begins.
  [[nodiscard]] uint32_t first_psn(unsigned from, unsigned to, unsigned c) const noexcept;
  [[nodiscard]] unsigned node_of_uid(uint64_t uid) const noexcept;

 private:
  void deliver(std::vector<Packet>& packets);
  void deliver_due();
  void advance();
  void check_rules();

  Plan plan_;
  Rng rng_;
  uint64_t now_ = 1'000'000;
  uint64_t frames_ = 0;
  unsigned depth_ = 0;
  unsigned idle_steps_ = 0;
  std::string error_;
  std::vector<std::unique_ptr<Channel>> channels_;
  std::vector<std::unique_ptr<Node>> nodes_;
};

}  // namespace verity::sim

#endif
