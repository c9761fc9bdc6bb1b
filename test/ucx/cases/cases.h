// SPDX-License-Identifier: BSD-3-Clause
//
// The cases of uct_am. Each runs in two fresh processes at once, or in one that talks with itself;
// what goes wrong is thrown.
#ifndef VERITY_TEST_UCX_CASES_CASES_H
#define VERITY_TEST_UCX_CASES_CASES_H

#include <cstdlib>
#include <span>
#include <string_view>

#include "../flow.h"
#include "../peer.h"

namespace verity::test {

struct Side {
  Channel& channel;
  Options options;
  int role;    // 0 or 1; 0 when alone
  int rounds;  // scales the long cases, 100 is the normal form
};

struct Case {
  const char* name;
  void (*run)(Side& side);
};

std::span<const Case> send_cases();
std::span<const Case> receive_cases();
std::span<const Case> queue_cases();
std::span<const Case> flush_cases();
std::span<const Case> lifetime_cases();
std::span<const Case> closing_cases();
std::span<const Case> completion_cases();
std::span<const Case> link_cases();
std::span<const Case> fork_cases();
std::span<const Case> async_cases();
std::span<const Case> rma_cases();
std::span<const Case> rma_order_cases();
std::span<const Case> memory_cases();
std::span<const Case> read_cases();
std::span<const Case> setup_cases();
std::span<const Case> failover_cases();

// Destroys endpoints at the end of a scope, in any way it is left.
class Endpoints {
 public:
  Endpoints(Iface& iface, Channel& channel, size_t count) : eps_(iface.connect(channel, count)) {}
  ~Endpoints() {
    for (uct_ep_h ep : eps_) {
      if (ep != nullptr) { uct_ep_destroy(ep); }
    }
  }
  Endpoints(const Endpoints&) = delete;
  Endpoints& operator=(const Endpoints&) = delete;
  uct_ep_h operator[](size_t i) const { return eps_[i]; }
  void destroy(size_t i) {
    uct_ep_destroy(eps_[i]);
    eps_[i] = nullptr;
  }

 private:
  std::vector<uct_ep_h> eps_;
};

inline void need_wrapper_and_two(const Side& side) {
  if (side.options.transport.front() != 'v' || side.channel.alone()) {
    throw Skip("needs a wrapper and two processes");
  }
}

// Where endpoints come in pairs, one that goes ends the other: both sides have to agree first.
inline void skip_if_pairs(const Iface& iface) {
  if (!iface.has(UCT_IFACE_FLAG_CONNECT_TO_IFACE)) throw Skip("endpoints are connected in pairs");
}

// A first message each way: both sides are connected then.
inline void connect(Side& side, Iface& iface, Inbound& in, Outbound& out) {
  out.send(Kind::kBcopy);
  in.expect(1);
  side.channel.barrier([&] { iface.progress(); });
}

// The same, and nothing of it is under way any more.
inline void connect_idle(Side& side, Iface& iface, uct_ep_h ep, Inbound& in, Outbound& out) {
  connect(side, iface, in, out);
  iface.flush(ep);
  side.channel.barrier([&] { iface.progress(); });
}

// Ends a case: both sides are done and got no error. Only after the second barrier may one of them
// close, which may be an error to the other one.
inline void finish(Side& side, Iface& iface) {
  auto progress = [&] { iface.progress(); };
  side.channel.barrier(progress);
  require(iface.errors() == 0, "the error handler was called");
  side.channel.barrier(progress);
}

// The wrapper's mode: verify, observe or off. Only in mode verify is what was sent kept until the
// peer acknowledges it; in mode off the lower transport alone is at work.
inline std::string_view mode() {
  const char* set = std::getenv("UCX_VERITY_MODE");
  return set != nullptr ? set : "verify";
}
inline bool in_mode_verify() { return mode() == "verify"; }
inline bool in_mode_off() { return mode() == "off"; }

// A pseudo-random number that both sides compute alike.
uint64_t dice(uint64_t seed, uint64_t index);

// Bytes of message `i`, of some thousand.
inline size_t longish(uint64_t i) { return static_cast<size_t>(2500 + dice(20, i) % 1000); }

}  // namespace verity::test

#endif
