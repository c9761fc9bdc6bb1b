// SPDX-License-Identifier: BSD-3-Clause
//
// Full queues: pending requests, purge.
#include <algorithm>
#include <cstdlib>

#include "pending.h"

namespace verity::test {
namespace {

// Role 0 fills the transport while role 1 does nothing, then queues; all must come, in order.
void pending_order(Side& side) {
  Iface iface(side.options);
  if (!iface.has(UCT_IFACE_FLAG_PENDING)) { throw Skip("no pending queue"); }
  auto length_of = [&](uint64_t) { return packet_length(iface); };
  Inbound in(iface, kId, length_of);
  std::deque<Waiting> queue;  // outlives the endpoint, which may still hold requests
  Endpoints eps(iface, side.channel, 1);
  Outbound out(iface, eps[0], kId, length_of);
  unsigned left = 0;
  // Connections are made first, then role 1 stops.
  connect(side, iface, in, out);
  if (side.role == 0) {
    fill_up(out);
    add_pending(iface, eps[0], out, queue, 100, left);
  }
  side.channel.barrier({});
  if (side.role == 0) {
    iface.progress_until([&] { return left == 0; }, "pending requests");
  }
  // Role 1 progresses while role 0 drains its queue, and learns the number at the end.
  side.channel.barrier([&] { iface.progress(); });
  in.expect(exchange_number(side.channel, out.count()));
  finish(side, iface);
}

// Resources come back while requests wait: a direct send must not overtake those that wait, neither
// before progress was called nor inside the handler of a message that brings the resources back.
void no_overtaking(Side& side) {
  constexpr uint8_t kPoke = kId + 1;
  Iface iface(side.options);
  if (!iface.has(UCT_IFACE_FLAG_PENDING) || side.channel.alone()) {
    throw Skip("needs a pending queue and two processes");
  }
  auto length_of = [&](uint64_t) { return std::min<size_t>(packet_length(iface), 100); };
  Inbound in(iface, kId, length_of);
  Inbound pokes(iface, kPoke, length_of);
  std::deque<Waiting> queue;  // outlives the endpoint, which may still hold requests
  Endpoints eps(iface, side.channel, 1);
  Outbound out(iface, eps[0], kId, length_of);
  Outbound poke(iface, eps[0], kPoke, length_of);
  pokes.on_message = [&](uint8_t*, size_t, unsigned, uint64_t) {
    for (int i = 0; i < 3; ++i) { (void)out.try_send(Kind::kBcopy); }
    return UCS_OK;
  };
  unsigned left = 0;
  connect(side, iface, in, out);
  for (uint64_t round = 1; round <= 20; ++round) {
    if (side.role == 0) {
      fill_up(out);
      add_pending(iface, eps[0], out, queue, 5, left);
    }
    side.channel.barrier({});
    // Role 1 takes what there is, and answers.
    if (side.role == 1) {
      for (int i = 0; i < 2000; ++i) { iface.progress(); }
      poke.send(Kind::kBcopy);
    }
    side.channel.barrier({});
    if (side.role == 0) {
      (void)out.try_send(Kind::kBcopy);
      pokes.expect(round);
    }
    side.channel.barrier([&] { iface.progress(); });
    if (side.role == 0) {
      iface.progress_until([&] { return left == 0; }, "pending requests");
    }
    side.channel.barrier([&] { iface.progress(); });
    in.verify();
  }
  in.expect(exchange_number(side.channel, out.count()));
  finish(side, iface);
}

// As UCP does it: each message is tried, and queued when there are no resources; progress comes at
// any time. Short and bcopy messages, both directions.
void queue_under_load(Side& side) {
  Iface iface(side.options);
  if (!iface.has(UCT_IFACE_FLAG_PENDING | UCT_IFACE_FLAG_AM_SHORT)) {
    throw Skip("needs a pending queue and am_short");
  }
  auto length_of = [](uint64_t i) { return static_cast<size_t>(8 + dice(11, i) % 50); };
  Inbound in(iface, kId, length_of);
  std::deque<Waiting> queue;  // outlives the endpoint, which may still hold requests
  Endpoints eps(iface, side.channel, 1);
  Outbound out(iface, eps[0], kId, length_of);
  unsigned left = 0;
  uint64_t messages = 500 * static_cast<uint64_t>(side.rounds);
  for (uint64_t i = 0; i < messages; ++i) {
    Kind kind = dice(12, i) % 4 == 0 ? Kind::kBcopy : Kind::kShort;
    uint64_t sequence = out.reserve();
    while (out.try_send_number(sequence, kind) != UCS_OK) {
      queue.push_back({.request = {.func = Waiting::go, .priv = {}},
                       .out = &out,
                       .left = &left,
                       .sequence = sequence,
                       .kind = kind});
      ++left;
      if (uct_ep_pending_add(eps[0], &queue.back().request, 0) == UCS_OK) { break; }
      queue.pop_back();
      --left;
    }
    // Bursts of many messages between two calls of progress, and of few.
    if (dice(13, i) % (dice(14, i / 500) % 2 == 0 ? 10 : 300) == 0) { iface.progress(); }
    in.verify();
  }
  iface.progress_until([&] { return left == 0; }, "pending requests");
  in.expect(messages, 60);
  finish(side, iface);
}

// Purged requests come back in order, each once, and are never called afterwards.
void pending_purge(Side& side) {
  Iface iface(side.options);
  if (!iface.has(UCT_IFACE_FLAG_PENDING) || side.channel.alone()) {
    throw Skip("needs a pending queue and two processes");
  }
  auto length_of = [&](uint64_t) { return packet_length(iface); };
  Inbound in(iface, kId, length_of);
  std::deque<Waiting> queue;  // outlives the endpoint, which may still hold requests
  Endpoints eps(iface, side.channel, 1);
  Outbound out(iface, eps[0], kId, length_of);
  unsigned left = 0;
  connect(side, iface, in, out);
  uint64_t sent = out.count();
  if (side.role == 0) {
    fill_up(out);
    add_pending(iface, eps[0], out, queue, 50, left);
    sent = out.count() - left;
    require(left > 0, "nothing waits");
    std::vector<Waiting*> purged;
    uct_ep_pending_purge(eps[0], Waiting::purge, &purged);
    require(purged.size() == left, "purged " + std::to_string(purged.size()) + " of " +
                                       std::to_string(left) + " requests");
    for (size_t i = 0; i < purged.size(); ++i) {
      require(purged[i] == &queue[queue.size() - left + i], "purged in another order");
    }
  }
  in.expect(exchange_number(side.channel, sent));
  finish(side, iface);
  require(in.count() == 1 || side.role == 1, "a message from nowhere");
}

// A callback of the purge purges another endpoint to the same peer, and destroys it: all of its
// requests come back, too, and none runs hereafter.
void purge_in_purge(Side& side) {
  if (side.options.transport.front() != 'v' || in_mode_off())
    throw Skip("an endpoint that goes takes along what it has sent");
  Iface iface(side.options);
  if (!iface.has(UCT_IFACE_FLAG_PENDING) || side.channel.alone()) {
    throw Skip("needs a pending queue and two processes");
  }
  // The end of one reaches the peer, in pairs: what stock reports there, too.
  skip_if_pairs(iface);
  const auto length_of = [&](uint64_t) { return packet_length(iface); };
  constexpr unsigned kEach = 3;
  Inbound in(iface, kId, length_of);
  Inbound also(iface, kId + 1, length_of);
  std::deque<Waiting> queue;
  Endpoints eps(iface, side.channel, 2);
  Outbound first(iface, eps[0], kId, length_of);
  Outbound second(iface, eps[1], kId + 1, length_of);
  connect(side, iface, in, first);
  connect(side, iface, also, second);
  uint64_t sent[2] = {1, 1};
  if (side.role == 0) {
    fill_up(first);
    fill_up(second);
    sent[0] = first.count();
    sent[1] = second.count();
    unsigned left[2] = {};
    for (unsigned i = 0; i < kEach; ++i) {
      add_pending(iface, eps[0], first, queue, 1, left[0]);
      add_pending(iface, eps[1], second, queue, 1, left[1]);
    }
    struct Purge {
      Endpoints& eps;
      std::vector<Waiting*> purged[2];
      static void callback(uct_pending_req_t* request, void* argument) {
        auto& self = *static_cast<Purge*>(argument);
        Waiting::purge(request, &self.purged[0]);
        if (self.purged[0].size() != 1) return;
        uct_ep_pending_purge(self.eps[1], Waiting::purge, &self.purged[1]);
        self.eps.destroy(1);
      }
    } purge{eps, {}};
    require(left[0] == kEach && left[1] == kEach, "they do not wait");
    uct_ep_pending_purge(eps[0], Purge::callback, &purge);
    for (const auto& purged : purge.purged) {
      require(purged.size() == kEach,
              std::to_string(purged.size()) + " requests came back, of " + std::to_string(kEach));
    }
  }
  for (uint64_t& number : sent) number = exchange_number(side.channel, number);
  in.expect(sent[0]);
  also.expect(sent[1]);
  finish(side, iface);
}

// A request that, once both have been tried, progresses the worker until the other one has run.
struct Nested {
  uct_pending_req_t request = {};
  Iface* iface = nullptr;
  Nested* other = nullptr;
  bool* waits = nullptr;  // they are only tried so far
  unsigned tries = 0;
  bool begun = false;
  bool over = false;

  static ucs_status_t run(uct_pending_req_t* request) {
    auto& self = *reinterpret_cast<Nested*>(request);
    ++self.tries;
    if (*self.waits) return UCS_ERR_NO_RESOURCE;
    self.begun = true;
    for (const double until = seconds_now() + 5; !self.other->begun && seconds_now() < until;)
      self.iface->progress();
    self.over = self.other->begun;
    return UCS_OK;
  }
};
static_assert(offsetof(Nested, request) == 0);

// Requests wait for two peers, and are tried in the same progress: one that progresses the worker
// itself does not keep the other from its turn.
void progress_in_request(Side& side) {
  need_wrapper_and_two(side);
  if (in_mode_off()) throw Skip("stock UCX's tcp does not survive it");
  Iface iface(side.options);
  if (!iface.has(UCT_IFACE_FLAG_PENDING)) throw Skip("no pending queue");
  skip_if_pairs(iface);
  Iface second(side.options, iface);
  const auto length_of = [&](uint64_t) { return packet_length(iface); };
  Inbound in(iface, kId, length_of);
  Inbound in_second(second, kId, length_of);
  const Iface::Address peers[] = {iface.exchange_addresses(side.channel),
                                  second.exchange_addresses(side.channel)};
  uint64_t sent[2] = {};
  if (side.role == 0) {
    bool waits = true;
    Nested requests[2];
    std::vector<uct_ep_h> eps;
    for (const Iface::Address& peer : peers) eps.push_back(iface.connect_to_iface(peer));
    Outbound outs[] = {{iface, eps[0], kId, length_of}, {iface, eps[1], kId, length_of}};
    for (Outbound& out : outs) out.send(Kind::kBcopy);
    side.channel.barrier([&] { iface.progress(); });
    for (size_t i = 0; i < 2; ++i) {
      Outbound& out = outs[i];
      fill_up(out);
      sent[i] = out.count();
      requests[i].iface = &iface;
      requests[i].other = &requests[1 - i];
      requests[i].waits = &waits;
      requests[i].request.func = Nested::run;
      check(uct_ep_pending_add(eps[i], &requests[i].request, 0), "uct_ep_pending_add");
    }
    for (uint64_t& number : sent) (void)exchange_number(side.channel, number);
    iface.progress_until([&] { return requests[0].tries > 2 && requests[1].tries > 2; },
                         "both requests are tried");
    waits = false;
    iface.progress_until([&] { return requests[0].begun && requests[1].begun; }, "the requests");
    require(requests[0].over && requests[1].over, "a request kept the other one from its turn");
    side.channel.barrier([&] { iface.progress(); });
    for (uct_ep_h ep : eps) uct_ep_destroy(ep);
  } else {
    in.expect(1);
    in_second.expect(1);
    side.channel.barrier([&] { iface.progress(); });
    for (uint64_t& number : sent) number = exchange_number(side.channel, 0);
    in.expect(sent[0]);
    in_second.expect(sent[1]);
    side.channel.barrier([&] { iface.progress(); });
  }
  finish(side, iface);
}

// A peer in mode off is sent to unframed: the lower transport itself calls the upper layer, for
// which it must not be progressed by another worker of this thread.
void of_the_own_worker(Side& side) {
  if (side.channel.alone()) throw Skip("needs two processes");
  if (side.options.transport.front() != 'v') throw Skip("only the wrapper has modes");
  if (std::getenv("UCX_FAULT_RATE") != nullptr) throw Skip("damage is not repaired in mode off");
  if (side.role == 1) setenv("UCX_VERITY_MODE", "off", 1);
  Iface iface(side.options);
  if (iface.has(UCT_IFACE_FLAG_CB_ASYNC)) throw Skip("the lower transport calls at any time");
  Iface other(side.options);  // with a worker of its own
  const auto length = [&](uint64_t) { return packet_length(iface); };
  Inbound in(iface, kId, length);
  Endpoints eps(iface, side.channel, 1);
  Outbound out(iface, eps[0], kId, length);
  connect(side, iface, in, out);
  unsigned left = 0;
  std::deque<Waiting> queue;
  if (side.role == 0) {
    fill_up(out, Outbound::has(iface, Kind::kZcopy) ? Kind::kZcopy : Kind::kBcopy);
    add_pending(iface, eps[0], out, queue, 3, left);
    require(left != 0, "nothing waits");
  }
  side.channel.barrier({});
  if (side.role == 1) {  // makes room; the last message comes when it is sent
    side.channel.barrier([&] { iface.progress(); });
  } else {
    const unsigned requests = left, sends = out.under_way();
    for (const double until = seconds_now() + 0.3; seconds_now() < until;) other.progress();
    const bool ran = left != requests || out.under_way() != sends;
    side.channel.barrier({});
    iface.progress_until([&] { return left == 0; }, "pending requests");
    out.wait();
    require(!ran, "callbacks of a worker ran in another one's progress");
  }
  const uint64_t messages = exchange_number(side.channel, out.count());
  in.expect(messages);
  finish(side, iface);
}

constexpr Case kCases[] = {
    {"a full transport, then the pending queue: order kept", pending_order},
    {"a direct send does not overtake pending ones", no_overtaking},
    {"a pending queue under load", queue_under_load},
    {"purge of the pending queue", pending_purge},
    {"purge of another endpoint's queue in a purge", purge_in_purge},
    {"a request that progresses the worker", progress_in_request},
    {"a peer in mode off: what waits runs in its own worker's progress", of_the_own_worker},
};

}  // namespace

std::span<const Case> queue_cases() { return kCases; }

}  // namespace verity::test
