// SPDX-License-Identifier: BSD-3-Clause
//
// Full queues: pending requests, purge, flush, fence.
#include <algorithm>
#include <cstring>
#include <deque>

#include "cases.h"

namespace verity::test {
namespace {

constexpr uint8_t kId = 7;
constexpr uint64_t kMostToFill = 200'000;

size_t packet_length(const Iface& iface) {
  return std::min<size_t>(Outbound::longest(iface, Kind::kBcopy), 4000);
}

uint64_t exchange_number(Channel& channel, uint64_t mine) {
  Bytes bytes(sizeof(mine));
  std::memcpy(bytes.data(), &mine, sizeof(mine));
  bytes = channel.exchange(bytes);
  std::memcpy(&mine, bytes.data(), sizeof(mine));
  return mine;
}

// Sends until there are no resources, without progress anywhere.
void fill_up(Outbound& out) {
  while (out.try_send(Kind::kBcopy) == UCS_OK) {
    if (out.count() == kMostToFill) {
      throw Skip("this transport never runs out of resources");
    }
  }
}

// Sends of a flow that wait in the endpoint's pending queue.
struct Waiting {
  uct_pending_req_t request = {};
  Outbound* out = nullptr;
  unsigned* left = nullptr;
  uint64_t sequence = 0;
  Kind kind = Kind::kBcopy;

  static ucs_status_t go(uct_pending_req_t* request) {
    auto* self = reinterpret_cast<Waiting*>(request);
    ucs_status_t status = self->out->try_send_number(self->sequence, self->kind);
    if (status == UCS_OK) {
      --*self->left;
    }
    return status;
  }
  static void purge(uct_pending_req_t* request, void* argument) {
    static_cast<std::vector<Waiting*>*>(argument)->push_back(
        reinterpret_cast<Waiting*>(request));
  }
};
static_assert(offsetof(Waiting, request) == 0);

// Adds `count` requests. A transport that says BUSY has resources again: then the message is sent
// directly, which must not happen while older ones wait.
void add_pending(Iface& iface, uct_ep_h ep, Outbound& out, std::deque<Waiting>& queue,
                 unsigned count, unsigned& left) {
  for (unsigned i = 0; i < count; ++i) {
    queue.push_back({.request = {.func = Waiting::go, .priv = {}},
                     .out = &out,
                     .left = &left,
                     .sequence = out.reserve()});
    ++left;
    ucs_status_t status = uct_ep_pending_add(ep, &queue.back().request, 0);
    if (status == UCS_ERR_BUSY) {
      --left;
      queue.pop_back();
      out.unreserve();
      iface.progress_until([&] { return left == 0; }, "pending requests before a direct send");
      out.send(Kind::kBcopy);
    } else {
      check(status, "uct_ep_pending_add");
    }
  }
}

// Role 0 fills the transport while role 1 does nothing, then queues; all must come, in order.
void pending_order(Side& side) {
  Iface iface(side.options);
  if (!iface.has(UCT_IFACE_FLAG_PENDING)) {
    throw Skip("no pending queue");
  }
  auto length_of = [&](uint64_t) { return packet_length(iface); };
  Inbound in(iface, kId, length_of);
  std::deque<Waiting> queue;  // outlives the endpoint, which may still hold requests
  Endpoints eps(iface, side.channel, 1);
  Outbound out(iface, eps[0], kId, length_of);
  unsigned left = 0;
  // Connections are made first, then role 1 stops.
  out.send(Kind::kBcopy);
  in.expect(1);
  side.channel.barrier([&] { iface.progress(); });
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
    for (int i = 0; i < 3; ++i) {
      (void)out.try_send(Kind::kBcopy);
    }
    return UCS_OK;
  };
  unsigned left = 0;
  out.send(Kind::kBcopy);
  in.expect(1);
  side.channel.barrier([&] { iface.progress(); });
  for (uint64_t round = 1; round <= 20; ++round) {
    if (side.role == 0) {
      fill_up(out);
      add_pending(iface, eps[0], out, queue, 5, left);
    }
    side.channel.barrier({});
    // Role 1 takes what there is, and answers.
    if (side.role == 1) {
      for (int i = 0; i < 2000; ++i) {
        iface.progress();
      }
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
      if (uct_ep_pending_add(eps[0], &queue.back().request, 0) == UCS_OK) {
        break;
      }
      queue.pop_back();
      --left;
    }
    // Bursts of many messages between two calls of progress, and of few.
    if (dice(13, i) % (dice(14, i / 500) % 2 == 0 ? 10 : 300) == 0) {
      iface.progress();
    }
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
  out.send(Kind::kBcopy);
  in.expect(1);
  side.channel.barrier([&] { iface.progress(); });
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

struct Flushed {
  uct_completion_t completion = {.func = on_complete, .count = 1, .status = UCS_OK};
  bool done = false;
  static void on_complete(uct_completion_t* completion) {
    reinterpret_cast<Flushed*>(completion)->done = true;
  }
};

// Starts a flush of the endpoint (or of the interface) and waits for its completion.
void flush_with_completion(Iface& iface, uct_ep_h ep, double seconds) {
  // Left behind when a flush never ends: UCT may still write to it.
  Flushed& flushed = *new Flushed;
  ucs_status_t status = UCS_ERR_NO_RESOURCE;
  iface.progress_until(
      [&] {
        status = ep != nullptr
                     ? uct_ep_flush(ep, UCT_FLUSH_FLAG_LOCAL, &flushed.completion)
                     : uct_iface_flush(iface.handle(), UCT_FLUSH_FLAG_LOCAL, nullptr);
        return status != UCS_ERR_NO_RESOURCE && (ep != nullptr || status != UCS_INPROGRESS);
      },
      "resources for a flush", seconds);
  check(status, "flush");
  if (ep != nullptr && status == UCS_INPROGRESS) {
    iface.progress_until([&] { return flushed.done; }, "completion of a flush", seconds);
    require(flushed.completion.status == UCS_OK, "a flush completed with an error");
  }
  delete &flushed;
}

// What waits in the pending queue was sent before the flush: it is not over before they are.
void flush_behind_pending(Side& side) {
  Iface iface(side.options);
  if (!iface.has(UCT_IFACE_FLAG_PENDING)) {
    throw Skip("no pending queue");
  }
  auto length_of = [&](uint64_t) { return packet_length(iface); };
  Inbound in(iface, kId, length_of);
  std::deque<Waiting> queue;  // outlives the endpoint, which may still hold requests
  Endpoints eps(iface, side.channel, 1);
  Outbound out(iface, eps[0], kId, length_of);
  unsigned left = 0;
  out.send(Kind::kBcopy);
  in.expect(1);
  side.channel.barrier([&] { iface.progress(); });
  if (side.role == 0) {
    fill_up(out);
    add_pending(iface, eps[0], out, queue, 5, left);
  }
  side.channel.barrier({});
  if (side.role == 0 && left > 0) {
    Flushed& flushed = *new Flushed;  // left behind when the check fails
    const ucs_status_t status = uct_ep_flush(eps[0], UCT_FLUSH_FLAG_LOCAL, &flushed.completion);
    require(status == UCS_ERR_NO_RESOURCE || status == UCS_INPROGRESS,
            std::string("a flush in front of what waits: ") + ucs_status_string(status));
    iface.progress_until([&] { return left == 0 || flushed.done; }, "pending requests");
    require(!flushed.done || left == 0, "a flush was over before what waited was sent");
    if (status == UCS_INPROGRESS) {
      iface.progress_until([&] { return flushed.done; }, "completion of a flush", 30);
    }
    delete &flushed;
  }
  side.channel.barrier([&] { iface.progress(); });
  in.expect(exchange_number(side.channel, out.count()));
  finish(side, iface);
}

// A few messages to a peer that does nothing: the flush of active messages ends all the same, so
// that a rank can leave whatever the others do. Not so on raw tcp, which asks the peer.
void flush_without_peer(Side& side) {
  if (side.options.transport.ends_with("tcp")) {
    throw Skip("a flush of tcp asks the peer");
  }
  Iface iface(side.options);
  auto length_of = [](uint64_t i) { return static_cast<size_t>(i * 100); };
  Inbound in(iface, kId, length_of);
  Endpoints eps(iface, side.channel, 1);
  Outbound out(iface, eps[0], kId, length_of);
  out.send(Kind::kBcopy);
  in.expect(1);
  side.channel.barrier([&] { iface.progress(); });
  if (side.role == 0) {
    for (int i = 0; i < 8; ++i) {
      out.send(Kind::kBcopy);
    }
    flush_with_completion(iface, eps[0], 5);
    flush_with_completion(iface, nullptr, 5);
  }
  side.channel.barrier({});
  in.expect(side.role == 1 || side.channel.alone() ? 9 : 1);
  finish(side, iface);
}

// The endpoint goes while a flush of it waits for the peer: whoever waits for the flush hears of it.
void flush_cancelled(Side& side) {
  if (side.options.transport.front() != 'v' || side.channel.alone()) {
    throw Skip("needs a wrapper and two processes");
  }
  Iface iface(side.options);
  Inbound in(iface, kId, [](uint64_t) { return size_t{40}; });
  Endpoints eps(iface, side.channel, 1);
  Outbound out(iface, eps[0], kId, [](uint64_t) { return size_t{40}; });
  out.send(Kind::kBcopy);
  in.expect(1);
  side.channel.barrier([&] { iface.progress(); });
  if (side.role == 0) {
    Flushed& flushed = *new Flushed;
    out.send(Kind::kBcopy);
    ucs_status_t status = UCS_ERR_NO_RESOURCE;
    iface.progress_until(
        [&] {
          status = uct_ep_flush(eps[0], UCT_FLUSH_FLAG_LOCAL, &flushed.completion);
          return status != UCS_ERR_NO_RESOURCE;
        },
        "resources for a flush", 5);
    require(status == UCS_INPROGRESS, "the flush does not wait for the peer");
    eps.destroy(0);
    require(flushed.done && flushed.completion.status == UCS_ERR_CANCELED,
            "the flush of an endpoint that is gone was not cancelled");
    delete &flushed;
  }
  side.channel.barrier({});
  in.expect(side.role == 1 ? 2 : 1);
  finish(side, iface);
}

// Flushes under load, completions and plain calls mixed; fences in between change no order.
void flush_and_fence(Side& side) {
  Iface iface(side.options);
  auto length_of = [&](uint64_t i) {
    return static_cast<size_t>(dice(9, i) % (packet_length(iface) + 1));
  };
  Inbound in(iface, kId, length_of);
  Endpoints eps(iface, side.channel, 1);
  Outbound out(iface, eps[0], kId, length_of);
  uint64_t messages = 50 * static_cast<uint64_t>(side.rounds);
  for (uint64_t i = 0; i < messages; ++i) {
    out.send(Kind::kBcopy);
    if (i % 13 == 5) {
      check(uct_ep_fence(eps[0], 0), "uct_ep_fence");
    }
    if (i % 17 == 5) {
      check(uct_iface_fence(iface.handle(), 0), "uct_iface_fence");
    }
    if (i % 50 == 0) {
      flush_with_completion(iface, i % 100 == 0 ? eps[0] : nullptr, 30);
    }
  }
  in.expect(messages);
  finish(side, iface);
}

constexpr Case kCases[] = {
    {"a full transport, then the pending queue: order kept", pending_order},
    {"a direct send does not overtake pending ones", no_overtaking},
    {"a pending queue under load", queue_under_load},
    {"purge of the pending queue", pending_purge},
    {"a flush waits for the pending queue", flush_behind_pending},
    {"flush towards a peer that does nothing", flush_without_peer},
    {"endpoint destroyed during its flush", flush_cancelled},
    {"flushes and fences under load", flush_and_fence},
};

}  // namespace

std::span<const Case> queue_cases() { return kCases; }

}  // namespace verity::test
