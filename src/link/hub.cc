// SPDX-License-Identifier: BSD-3-Clause
#include "link/hub.h"

#include <algorithm>

namespace verity::link {

namespace {

constexpr uint64_t kTrimEvery = 1'000'000'000;  // ns
constexpr size_t kKeepIdle = 1 << 20;           // bytes of an idle pool that are kept

Config bounded(Config config) noexcept {
  if (config.compact) config.window_frames = std::min(config.window_frames, wire::kCompactWindow);
  return config;
}

}  // namespace

// The sender keeps the address of `iface`, which is constructed later; gcc 16 takes that for a use.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
Hub::Hub(uint64_t uid, const Config& config, Port& port, health::Counters& counters)
    : sender(bounded(config), iface, control, zero_copy, timer),
      iface{uid, bounded(config), port, counters},
      control(config.ack_polls),
      out_of_order(config.out_of_order_limit),
      zero_copy(iface, sender.pool()),
      timer(iface, control, zero_copy),
      faults(iface, out_of_order),
      lifecycle(iface, links, control, sender, faults),
      handshake(iface, links, control, lifecycle),
      retransmitter(iface, control, zero_copy, sender, faults, lifecycle),
      control_sender(iface, control, retransmitter),
      receiver(iface, links, control, out_of_order, sender, faults, lifecycle, retransmitter,
               handshake) {}
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

Hub::~Hub() {
  for (Link* link : links.all()) {
    if (link != nullptr) lifecycle.remove(*link);
  }
}

void Hub::tick(uint64_t now) noexcept {
  if (pool().wants_refill()) pool().refill();
  if (!timer.advance(now) || now - trimmed_at_ <= kTrimEvery) return;
  trimmed_at_ = now;
  pool().trim(kKeepIdle);
  zero_copy.trim();
}

bool Hub::is_idle() const noexcept {
  const auto& all = links.all();
  return control.empty() && std::none_of(all.begin(), all.end(), [](const Link* link) {
           if (link == nullptr) return false;
           // In mode observe nothing is kept, and the answer comes all the same.
           const bool in_handshake = link->is_alive() && link->carries_hello() && link->has_sent();
           return link->in_flight() || in_handshake;
         });
}

}  // namespace verity::link
