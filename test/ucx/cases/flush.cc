// SPDX-License-Identifier: BSD-3-Clause
//
// Flush and fence.
#include <memory>

#include "pending.h"

namespace verity::test {
namespace {

// Interfaces are flushed without a completion: UCX's transports take none.
void flush_iface(Iface& iface, double seconds) {
  ucs_status_t status = UCS_INPROGRESS;
  iface.progress_until(
      [&] {
        status = uct_iface_flush(iface.handle(), UCT_FLUSH_FLAG_LOCAL, nullptr);
        return status != UCS_ERR_NO_RESOURCE && status != UCS_INPROGRESS;
      },
      "flush of an interface", seconds);
  check(status, "uct_iface_flush");
}

// What waits in the pending queue was sent before the flush: it is not over before they are.
void flush_behind_pending(Side& side) {
  Iface iface(side.options);
  if (!iface.has(UCT_IFACE_FLAG_PENDING)) { throw Skip("no pending queue"); }
  auto length_of = [&](uint64_t) { return packet_length(iface); };
  Inbound in(iface, kId, length_of);
  std::deque<Waiting> queue;  // outlives the endpoint, which may still hold requests
  Endpoints eps(iface, side.channel, 1);
  Outbound out(iface, eps[0], kId, length_of);
  unsigned left = 0;
  connect(side, iface, in, out);
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
  if (side.options.transport.ends_with("tcp")) { throw Skip("a flush of tcp asks the peer"); }
  Iface iface(side.options);
  auto length_of = [](uint64_t i) { return static_cast<size_t>(i * 100); };
  Inbound in(iface, kId, length_of);
  Endpoints eps(iface, side.channel, 1);
  Outbound out(iface, eps[0], kId, length_of);
  connect(side, iface, in, out);
  if (side.role == 0) {
    for (int i = 0; i < 8; ++i) { out.send(Kind::kBcopy); }
    iface.flush(eps[0], 5);
    flush_iface(iface, 5);
  }
  side.channel.barrier({});
  in.expect(side.role == 1 || side.channel.alone() ? 9 : 1);
  finish(side, iface);
}

// The endpoint goes while a flush of it waits for the peer: whoever waits for the flush hears of
// it.
void flush_cancelled(Side& side) {
  if (side.options.transport.front() != 'v' || side.channel.alone()) {
    throw Skip("needs a wrapper and two processes");
  }
  Iface iface(side.options);
  Inbound in(iface, kId, [](uint64_t) { return size_t{40}; });
  Endpoints eps(iface, side.channel, 1);
  Outbound out(iface, eps[0], kId, [](uint64_t) { return size_t{40}; });
  connect(side, iface, in, out);
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
    if (status == UCS_OK && !in_mode_verify()) throw Skip("the flush does not wait for the peer");
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

void cancel(Iface& iface, uct_ep_h ep) {
  Flushed& flushed = *new Flushed;  // left behind when the check fails
  const ucs_status_t status = uct_ep_flush(ep, UCT_FLUSH_FLAG_CANCEL, &flushed.completion);
  require(status == UCS_OK || status == UCS_INPROGRESS,
          std::string("a flush with cancel: ") + ucs_status_string(status));
  if (status == UCS_INPROGRESS) {
    iface.progress_until([&] { return flushed.done; }, "completion of a flush", 30);
  }
  delete &flushed;
}

// UCP cancels what an endpoint has on its way before it destroys it; the link lives on, and may
// have another endpoint.
void flush_with_cancel(Side& side) {
  if (side.options.transport.front() != 'v' || side.channel.alone() || !in_mode_verify()) {
    throw Skip("needs a wrapper in mode verify, and two processes");
  }
  Iface iface(side.options);
  skip_if_pairs(iface);
  Inbound in(iface, kId, [](uint64_t) { return size_t{40}; });
  auto eps = std::make_unique<Endpoints>(iface, side.channel, 1);
  Outbound out(iface, (*eps)[0], kId, [](uint64_t) { return size_t{40}; });
  connect(side, iface, in, out);
  constexpr int kTimes = 10;
  for (int i = 0; i < kTimes; ++i) {
    if (side.role == 0) {
      out.send(Kind::kBcopy);
      cancel(iface, (*eps)[0]);
      eps->destroy(0);
    }
    side.channel.barrier([&] { iface.progress(); });
    if (side.role == 1) eps->destroy(0);
    eps = std::make_unique<Endpoints>(iface, side.channel, 1);
    out.use((*eps)[0]);
  }
  if (side.role == 0) { out.send(Kind::kBcopy); }
  in.expect(side.role == 1 ? kTimes + 2 : 1);
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
    if (i % 13 == 5) { check(uct_ep_fence(eps[0], 0), "uct_ep_fence"); }
    if (i % 17 == 5) { check(uct_iface_fence(iface.handle(), 0), "uct_iface_fence"); }
    if (i % 100 == 0) { iface.flush(eps[0]); }
    if (i % 100 == 50) { flush_iface(iface, 30); }
  }
  in.expect(messages);
  finish(side, iface);
}

constexpr Case kCases[] = {
    {"a flush waits for the pending queue", flush_behind_pending},
    {"flush towards a peer that does nothing", flush_without_peer},
    {"endpoint destroyed during its flush", flush_cancelled},
    {"endpoints that are flushed with cancel, and made again", flush_with_cancel},
    {"flushes and fences under load", flush_and_fence},
};

}  // namespace

std::span<const Case> flush_cases() { return kCases; }

}  // namespace verity::test
