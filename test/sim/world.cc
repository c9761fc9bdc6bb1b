// SPDX-License-Identifier: BSD-3-Clause
#include "sim/world.h"

#include <algorithm>
#include <sstream>

namespace verity::sim {

namespace {

constexpr unsigned kInlineDepth = 6;

uint64_t uid_of(unsigned index) { return 0x1000'0000'0001ull * (index + 1); }

}  // namespace

Plan random_plan(uint64_t seed, double total) {
  Rng rng(seed ^ 0x5eed);
  Plan plan;
  plan.seed = seed;
  plan.interfaces = rng.chance(0.7) ? 2 : 3;
  plan.messages = static_cast<unsigned>(rng.between(10, 60));
  plan.longest = static_cast<uint32_t>(rng.chance(0.5) ? 600 : rng.between(300, 20'000));
  plan.faults = Faults::mixed(rng, total);
  plan.inline_delivery = rng.chance(0.3);
  plan.replies = rng.chance(0.5) ? 0.5 : 0;
  plan.zero_copy = rng.chance(0.5) ? 0.3 : 0;
  plan.mutate = rng.chance(0.3) ? 0.2 : 0;
  const uint32_t firsts[] = {0,
                             0,
                             0xffffffffu - 20,
                             0x7fffffffu - 20,
                             static_cast<uint32_t>(rng.next()),
                             0xffff - 20,
                             0x7fff - 20};
  plan.first_psn = firsts[rng.below(std::size(firsts))];
  if (rng.chance(0.5)) plan.spread = 30;
  for (unsigned i = 0; i < plan.interfaces; ++i) plan.full.push_back(rng.chance(0.2));
  plan.mixed = rng.chance(0.3) ? 0.5 : 0;
  link::Config& config = plan.config;
  config.segment_log2 = static_cast<unsigned>(rng.between(8, 13));
  config.window_frames = static_cast<uint32_t>(rng.chance(0.3) ? rng.between(1, 8) : 64);
  config.window_bytes = rng.chance(0.3) ? 8192 : 512 * 1024;
  config.max_repairs = 1'000'000;
  config.compact = rng.chance(0.7);
  config.ack_polls = static_cast<uint32_t>(rng.between(1, 64));
  config.max_send = rng.chance(0.3) ? 1024 : 8192;
  config.max_frame = config.max_send;
  config.pool_limit = rng.chance(0.2) ? 0 : 64 << 20;
  config.out_of_order_limit = rng.chance(0.2) ? rng.between(0, 4096) : 32 << 20;
  return plan;
}

World::World(const Plan& plan) : plan_(plan), rng_(plan.seed * 7 + 3) {
  const unsigned n = plan_.interfaces;
  for (unsigned from = 0; from < n; ++from) {
    for (unsigned to = 0; to < n; ++to) {
      channels_.push_back(std::make_unique<Channel>(
          plan_.faults, plan_.seed * 1009 + from * 31 + to, n, plan_.forget));
    }
  }
  for (unsigned i = 0; i < n; ++i) {
    link::Config config = plan_.config;
    if (i < plan_.modes.size()) config.mode = plan_.modes[i];
    if (i < plan_.full.size() && plan_.full[i] != 0) config.compact = false;
    nodes_.push_back(std::make_unique<Node>(*this, i, uid_of(i), config));
  }
  for (unsigned from = 0; from < n; ++from) {
    for (unsigned to = 0; to < n; ++to) {
      if (from == to) continue;
      for (unsigned c = 0; c < wire::kClasses; ++c) {
        node(from).peer(to).out[c].planned = plan_.messages;
        node(to).peer(from).in[c].planned = plan_.messages;
      }
    }
  }
}

World::~World() {
  for (auto& node : nodes_) node->remove_links();
}

void World::set_faults(const Faults& faults) {
  for (auto& channel : channels_) channel->set_faults(faults);
}

void World::error(std::string text) {
  if (error_.empty()) error_ = std::move(text);
}

uint32_t World::first_psn(unsigned from, unsigned to, unsigned c) const noexcept {
  const uint64_t key = plan_.seed << 16 ^ from << 8 ^ to << 4 ^ c;
  return plan_.first_psn + static_cast<uint32_t>(Rng(key).below(plan_.spread));
}

unsigned World::node_of_uid(uint64_t uid) const noexcept {
  for (unsigned i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i] != nullptr && nodes_[i]->uid() == uid) return i;
  }
  return ~0u;
}

health::Counters World::total() noexcept {
  health::Counters sum{};
  for (auto& node : nodes_) sum += node->counters();
  return sum;
}

link::Sent World::transmit(unsigned from, unsigned to, wire::Class c, std::vector<uint8_t> bytes,
                           std::function<void(Packet&)> finish, bool compact) {
  Channel& wire = channel(from, to);
  // A zero-copy send has asked before.
  if (!finish && wire.busy(now_)) return link::Sent::kBusy;
  ++frames_;
  Packet packet{std::move(bytes), c, now_, to, std::move(finish), compact};
  const bool at_once = plan_.inline_delivery && depth_ < kInlineDepth && wire.empty() &&
                       node(to).paused_until() <= now_;
  if (!at_once) {
    wire.push(std::move(packet), now_);
    return link::Sent::kOk;
  }
  std::vector<Packet> out;
  wire.pass(std::move(packet), out);
  ++depth_;
  deliver(out);
  --depth_;
  return link::Sent::kOk;
}

void World::deliver(std::vector<Packet>& packets) {
  for (Packet& packet : packets) node(packet.to).receive(packet);
}

void World::deliver_due() {
  const auto first = static_cast<size_t>(rng_.below(channels_.size()));
  for (size_t i = 0; i < channels_.size(); ++i) {
    const size_t at = (first + i) % channels_.size();
    if (node(static_cast<unsigned>(at % plan_.interfaces)).paused_until() > now_) continue;
    Channel& wire = *channels_[at];
    // One by one: what an upcall sends must not overtake the rest.
    std::vector<Packet> out;
    for (unsigned n = 0; n < 8 && wire.pop(now_, out); ++n) deliver(out), out.clear();
  }
}

// The clock goes on by little while there is something to do, else to where there is.
void World::advance() {
  bool active = false;
  uint64_t next = UINT64_MAX;
  for (size_t i = 0; i < channels_.size(); ++i) {
    const auto& wire = channels_[i];
    if (node(static_cast<unsigned>(i % plan_.interfaces)).paused_until() <= now_)
      next = std::min(next, wire->next_at());
    if (wire->busy_until() > now_) next = std::min(next, wire->busy_until());
  }
  for (const auto& node : nodes_) {
    if (node->paused_until() > now_) {
      next = std::min(next, node->paused_until());
      continue;
    }
    active |= node->wants_to_send() || node->hub().has_pending_control();
    next = std::min(next, node->hub().next_deadline());
  }
  idle_steps_ = active ? 0 : idle_steps_ + 1;
  const uint64_t little = now_ + rng_.between(100, 3'000);
  now_ = idle_steps_ > 4 && next != UINT64_MAX
             ? std::max(little, std::min(next + 70'000, now_ + 30'000'000'000))
             : little;
}

void World::check_rules() {
  for (const auto& node : nodes_) {
    if (const std::string rule = node->broken_rule(); !rule.empty()) {
      error("interface " + std::to_string(node->index()) + ": " + rule);
    }
  }
}

void World::step() {
  for (auto& node : nodes_) {
    node->progress(now_, idle_steps_ > 4 || rng_.chance(0.05));
    if (node->paused_until() <= now_) node->resume();
  }
  deliver_due();
  check_rules();
  advance();
}

void World::run_for(uint64_t time) {
  const uint64_t end = now_ + time;
  while (now_ < end && error_.empty()) step();
}

bool World::done() {
  for (auto& node : nodes_) {
    if (!node->all_sent() || !node->hub().is_idle() || node->buffers_in_use() != 0) return false;
    for (unsigned from = 0; from < plan_.interfaces; ++from) {
      for (const Stream& s : node->peer(from).in) {
        if (s.received < s.planned) return false;
      }
    }
  }
  return true;
}

std::string World::run() {
  const uint64_t limit = now_ + plan_.time_limit;
  for (uint64_t steps = 0; error_.empty() && !done(); ++steps) {
    step();
    if (now_ <= limit && steps < 5'000'000) continue;
    std::ostringstream text;
    text << "hangs at " << now_ / 1'000'000 << " ms";
    for (auto& node : nodes_)
      text << '\n' << node->describe() << "\n  zero-copy buffers " << node->buffers_in_use();
    error(text.str());
  }
  return error_;
}

std::string World::close() {
  for (auto& node : nodes_) {
    node->hub().lifecycle.close_all();
    for (unsigned i = 0; i < 200; ++i) (void)node->hub().flush_control();
    run_for(rng_.below(100'000));
  }
  run_for(200'000'000);
  for (auto& wire : channels_) {  // what still lies on the wire
    std::vector<Packet> late;
    while (wire->pop(UINT64_MAX - 1, late)) {}
    deliver(late);
  }
  for (auto& node : nodes_) node->remove_links();
  for (auto& node : nodes_) {
    if (node->buffers_in_use() != 0) error("a zero-copy buffer was never given back");
    node->hub().pool().trim(0);
    if (node->hub().pool().footprint() != 0) error("a slot was lost");
    if (node->hub().has_pending_control()) error("control frames are pending after all links went");
  }
  return error_;
}

}  // namespace verity::sim
