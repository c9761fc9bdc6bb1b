// SPDX-License-Identifier: BSD-3-Clause
#include "sim/channel.h"

#include <algorithm>
#include <utility>

namespace verity::sim {

Faults Faults::mixed(Rng& rng, double total) {
  Faults faults;
  double* const kinds[] = {&faults.drop,       &faults.duplicate, &faults.flip,   &faults.burst,
                           &faults.truncate,   &faults.extend,    &faults.replay, &faults.swap,
                           &faults.misdeliver, &faults.delay};
  double weights[std::size(kinds)];
  double sum = 0;
  for (double& weight : weights)
    sum += weight = rng.chance(0.4) ? static_cast<double>(rng.below(100)) : 0;
  for (size_t i = 0; i < std::size(kinds) && sum > 0; ++i) *kinds[i] = total * weights[i] / sum;
  if (rng.chance(0.5)) faults.busy = static_cast<double>(rng.below(10)) / 100;
  return faults;
}

bool Channel::busy(uint64_t now) {
  if (now < busy_until_) return true;
  if (!rng_.chance(faults_.busy)) return false;
  busy_until_ = now + rng_.between(500, rng_.chance(0.05) ? 3'000'000 : 30'000);
  return true;
}

void Channel::push(Packet packet, uint64_t now) {
  const uint64_t pause =
      rng_.chance(faults_.delay) ? rng_.between(1'000, 2'000'000) : rng_.between(200, 2'000);
  packet.at = std::max(last_at_, now + pause);
  last_at_ = packet.at;
  queue_.push_back(std::move(packet));
  if (queue_.size() >= 2 && rng_.chance(faults_.swap)) {
    std::swap(queue_[queue_.size() - 1], queue_[queue_.size() - 2]);
    std::swap(queue_[queue_.size() - 1].at, queue_[queue_.size() - 2].at);
  }
}

bool Channel::pop(uint64_t now, std::vector<Packet>& out) {
  if (queue_.empty() || queue_.front().at > now) return false;
  Packet packet = std::move(queue_.front());
  queue_.pop_front();
  pass(std::move(packet), out);
  return true;
}

void Channel::pass(Packet packet, std::vector<Packet>& out) {
  if (packet.finish) std::exchange(packet.finish, nullptr)(packet);
  if (hook && hook(packet)) {
    ++damaged_;
    return;
  }
  if (rng_.chance(faults_.replay) && !old_.empty()) out.push_back(old_[rng_.below(old_.size())]);
  if (old_.size() < 32) {
    old_.push_back(packet);
  } else if (rng_.chance(forget_)) {
    old_[rng_.below(old_.size())] = packet;
  }
  if (rng_.chance(faults_.drop)) {
    ++damaged_;
    return;
  }
  if (rng_.chance(faults_.duplicate)) out.push_back(packet);
  damage(packet);
  if (rng_.chance(faults_.misdeliver)) {
    packet.to = static_cast<unsigned>(rng_.below(interfaces_));
    ++damaged_;
  }
  out.push_back(std::move(packet));
}

void Channel::damage(Packet& packet) {
  auto& bytes = packet.bytes;
  if (bytes.empty()) return;
  bool hit = false;
  if (rng_.chance(faults_.flip)) {
    hit = true;
    for (uint64_t bits = rng_.between(1, 4); bits != 0; --bits) {
      // Half of them in the header, which is small.
      const uint64_t bit =
          rng_.below(rng_.chance(0.5) ? std::min<size_t>(bytes.size(), 32) * 8 : bytes.size() * 8);
      bytes[bit / 8] = static_cast<uint8_t>(bytes[bit / 8] ^ (1u << bit % 8));
    }
  }
  if (rng_.chance(faults_.burst)) {
    hit = true;
    const uint64_t at = rng_.below(bytes.size());
    const uint64_t end = std::min<uint64_t>(bytes.size(), at + rng_.between(1, 64));
    const bool zero = rng_.chance(0.5);
    for (uint64_t i = at; i < end; ++i) bytes[i] = zero ? 0 : static_cast<uint8_t>(rng_.next());
  }
  if (rng_.chance(faults_.truncate)) {
    hit = true;
    bytes.resize(rng_.below(bytes.size()));
  }
  if (rng_.chance(faults_.extend)) {
    hit = true;
    for (uint64_t n = rng_.between(1, 40); n != 0; --n)
      bytes.push_back(static_cast<uint8_t>(rng_.next()));
  }
  bytes.shrink_to_fit();
  damaged_ += hit;
}

}  // namespace verity::sim
