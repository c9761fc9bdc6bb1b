// SPDX-License-Identifier: BSD-3-Clause
//
// Completions of zero-copy sends: what they may do, and that they come before their endpoint is
// gone.
#include <memory>

#include "cases.h"

namespace verity::test {
namespace {

constexpr uint8_t kId = 9;
constexpr uint8_t kSendId = 12;  // UCP's for rendezvous data: kept in the buffer until acknowledged

size_t small(uint64_t i) { return static_cast<size_t>(dice(10, i) % 1000); }

// Zero-copy sends end with their endpoint, as on UCX's own transports: afterwards nothing calls
// back into what the program has freed. Those of another endpoint to that peer do not.
void sends_end_with_endpoint(Side& side, size_t count) {
  Iface iface(side.options);
  skip_if_pairs(iface);
  if (!iface.has(UCT_IFACE_FLAG_AM_ZCOPY)) throw Skip("no am_zcopy");
  Inbound in(iface, kSendId, [](uint64_t) -> size_t { return 4000; });
  Inbound first(iface, kId + 1, small);
  Endpoints eps(iface, side.channel, count);
  {
    Outbound out(iface, eps[0], kId + 1, small);
    out.send(Kind::kBcopy);
    first.expect(1);
    iface.flush(eps[0]);
  }
  side.channel.barrier([&] { iface.progress(); });
  if (side.role == 0) {
    uct_completion_t completions[2];
    ucs_status_t statuses[2];
    Bytes bytes(4000);
    fill(bytes.data(), bytes.size(), 0, 0);
    for (size_t i = 0; i < count; ++i) {
      completions[i] = {[](uct_completion_t*) {}, 1, UCS_OK};
      const uct_iov_t iov{bytes.data(), bytes.size(), UCT_MEM_HANDLE_NULL, 0, 1};
      iface.progress_until(
          [&] {
            statuses[i] = uct_ep_am_zcopy(eps[i], kSendId, nullptr, 0, &iov, 1, 0, &completions[i]);
            return statuses[i] != UCS_ERR_NO_RESOURCE;
          },
          "room for a message");
      check(statuses[i], "uct_ep_am_zcopy");
    }
    const int before = count == 1 ? 0 : completions[1].count;
    eps.destroy(0);
    require(statuses[0] == UCS_OK || completions[0].count == 0, "a send outlives its endpoint");
    require(count == 1 || completions[1].count == before, "a send ends with another's endpoint");
    iface.progress_until(
        [&] { return count == 1 || statuses[1] == UCS_OK || completions[1].count == 0; },
        "the other endpoint's send");
  }
  side.channel.barrier([&] { iface.progress(); });
}

// A send whose completion uses its endpoint, which is being destroyed then.
struct Purging {
  uct_completion_t completion;
  uct_ep_h ep;
  static void complete(uct_completion_t* completion) {
    uct_ep_pending_purge(
        reinterpret_cast<Purging*>(completion)->ep, [](uct_pending_req_t*, void*) {}, nullptr);
  }
};

// The same with more than the lower transport takes: it is in the middle of one when the endpoint
// goes, and the peer reads nothing.
void long_sends_end(Side& side, bool in_handler) {
  constexpr size_t kMost = 64;
  if (side.channel.alone()) throw Skip("needs two processes");
  Options little = side.options;
  little.settings = {{"SNDBUF", "16k"}, {"RCVBUF", "16k"}};
  Iface iface(little);
  skip_if_pairs(iface);
  if (!iface.has(UCT_IFACE_FLAG_AM_ZCOPY)) throw Skip("no am_zcopy");
  const size_t length = Outbound::longest(iface, Kind::kZcopy);
  Inbound in(iface, kSendId, [&](uint64_t) { return length; });
  Inbound first(iface, kId, small);
  Endpoints eps(iface, side.channel, 1);
  Outbound out(iface, eps[0], kId, small);
  connect_idle(side, iface, eps[0], first, out);
  std::vector<Bytes> messages;
  std::vector<Purging> sends(kMost);
  size_t under_way = 0;
  const auto destroy = [&] {
    eps.destroy(0);
    for (size_t i = 0; i < under_way; ++i)
      require(sends[i].completion.count == 0, "a long send outlives its endpoint");
  };
  if (side.role == 0) {
    for (uint64_t i = 0; i < kMost; ++i) {
      fill(messages.emplace_back(length).data(), length, kSendId, i);
      const uct_iov_t iov{messages[i].data(), length, UCT_MEM_HANDLE_NULL, 0, 1};
      sends[under_way] = {{Purging::complete, 1, UCS_OK}, eps[0]};
      const ucs_status_t status =
          uct_ep_am_zcopy(eps[0], kSendId, nullptr, 0, &iov, 1, 0, &sends[under_way].completion);
      if (status == UCS_ERR_NO_RESOURCE) break;
      check(status, "uct_ep_am_zcopy");
      under_way += status == UCS_INPROGRESS;
    }
    if (!in_handler) destroy();
  }
  side.channel.barrier({});
  if (in_handler && side.role == 0) {
    std::string error;
    first.on_message = [&](uint8_t*, size_t, unsigned, uint64_t) {
      try {
        destroy();
      } catch (const Failure& failure) { error = failure.what(); }
      return UCS_OK;
    };
    first.expect(2);
    require(error.empty(), error);
  } else if (in_handler) {
    out.send(Kind::kBcopy);
  }
  side.channel.barrier({});
  in.verify();
}

void long_sends_end_with_endpoint(Side& side) { long_sends_end(side, false); }
void long_sends_end_in_handler(Side& side) { long_sends_end(side, true); }

// The same with a send that the peer has acknowledged, where the lower transport has not completed
// it yet: rc and ud may see the answer first.
void acknowledged_send_ends_with_endpoint(Side& side) {
  constexpr double kLong = 0.2;  // s
  Iface iface(side.options);
  skip_if_pairs(iface);
  if (!iface.has(UCT_IFACE_FLAG_AM_ZCOPY)) throw Skip("no am_zcopy");
  Inbound in(iface, kSendId, [](uint64_t) -> size_t { return 4000; });
  Inbound first(iface, kId, small);
  Endpoints eps(iface, side.channel, 1);
  Outbound out(iface, eps[0], kId, small);
  connect_idle(side, iface, eps[0], first, out);
  uct_completion_t completion{[](uct_completion_t*) {}, 1, UCS_OK};
  Bytes bytes(4000);
  fill(bytes.data(), bytes.size(), kSendId, 0);
  const uct_iov_t iov{bytes.data(), bytes.size(), UCT_MEM_HANDLE_NULL, 0, 1};
  const ucs_status_t status = uct_ep_am_zcopy(eps[0], kSendId, nullptr, 0, &iov, 1, 0, &completion);
  check(status, "uct_ep_am_zcopy");
  in.expect(1);
  for (const double until = seconds_now() + kLong; seconds_now() < until;) iface.progress();
  side.channel.barrier([&] { iface.progress(); });
  eps.destroy(0);
  require(status == UCS_OK || completion.count == 0, "an acknowledged send outlives its endpoint");
  side.channel.barrier([&] { iface.progress(); });
}

void sends_end_with_only_endpoint(Side& side) { sends_end_with_endpoint(side, 1); }
void sends_end_with_one_endpoint(Side& side) { sends_end_with_endpoint(side, 2); }

// The completion of a send connects to a peer whose message comes just then, before its handler
// runs: tcp would give the connection that it is reading to the new endpoint, and lose the rest.
struct Connecting {
  uct_completion_t completion;
  Iface* iface;
  const Iface::Address* peer;
  uct_ep_h ep = nullptr;
  static void complete(uct_completion_t* completion) {
    auto& self = *reinterpret_cast<Connecting*>(completion);
    self.ep = self.iface->connect_to_iface(*self.peer);
  }
};

void connect_in_completion(Side& side) {
  constexpr uint64_t kEach = 20;
  constexpr double kLong = 0.2;  // s
  if (side.channel.alone()) throw Skip("needs two processes");
  Iface first(side.options);
  skip_if_pairs(first);
  if (!first.has(UCT_IFACE_FLAG_AM_ZCOPY)) throw Skip("no am_zcopy");
  Iface second(side.options);  // of role 1 not used
  const auto both = [&] {
    first.progress();
    if (side.role == 0) second.progress();
  };
  const auto progress_for = [](Iface& iface, double seconds) {
    for (const double until = seconds_now() + seconds; seconds_now() < until;) iface.progress();
  };
  Inbound in(first, kId, small);
  Inbound data(first, kSendId, [](uint64_t) -> size_t { return 4000; });
  Endpoints eps(first, side.channel, 1);
  Outbound out(first, eps[0], kId, small);
  connect(side, first, in, out);
  const Iface::Address peer = second.exchange_addresses(side.channel);
  const Iface::Address here = first.exchange_addresses(side.channel);
  std::unique_ptr<Outbound> other;
  uct_ep_h late = nullptr;
  if (side.role == 0) {
    late = second.connect_to_iface(here);
    other = std::make_unique<Outbound>(second, late, kId + 1, small);
  }
  Inbound behind(first, kId + 1, small);
  for (const double until = seconds_now() + kLong; seconds_now() < until;) both();
  side.channel.barrier(both);
  Connecting connecting{{Connecting::complete, 1, UCS_OK}, &first, &peer};
  Bytes bytes(4000);
  fill(bytes.data(), bytes.size(), kSendId, 0);
  if (side.role == 1) {
    const uct_iov_t iov{bytes.data(), bytes.size(), UCT_MEM_HANDLE_NULL, 0, 1};
    const ucs_status_t status =
        uct_ep_am_zcopy(eps[0], kSendId, nullptr, 0, &iov, 1, 0, &connecting.completion);
    check(status, "uct_ep_am_zcopy");
    side.channel.barrier({});
    side.channel.barrier({});
    behind.expect(kEach);
    if (status == UCS_INPROGRESS)
      first.progress_until([&] { return connecting.ep != nullptr; }, "the completion");
  } else {
    side.channel.barrier({});
    progress_for(first, kLong);  // it acknowledges
    while (other->count() < kEach && other->try_send(Kind::kBcopy) == UCS_OK) {}
    progress_for(second, 0.01);
    side.channel.barrier({});
    while (other->count() < kEach) other->send(Kind::kBcopy);
  }
  side.channel.barrier(both);
  if (connecting.ep != nullptr) uct_ep_destroy(connecting.ep);
  if (late != nullptr) uct_ep_destroy(late);
  side.channel.barrier(both);
}

constexpr Case kCases[] = {
    {"a completion connects to the peer of the next message", connect_in_completion},
    {"zero-copy sends end with their endpoint", sends_end_with_only_endpoint},
    {"zero-copy sends end with their endpoint and no other", sends_end_with_one_endpoint},
    {"acknowledged zero-copy sends end with their endpoint", acknowledged_send_ends_with_endpoint},
    {"long zero-copy sends end with their endpoint", long_sends_end_with_endpoint},
    {"long zero-copy sends end with their endpoint, in a handler", long_sends_end_in_handler},
};

}  // namespace

std::span<const Case> completion_cases() { return kCases; }

}  // namespace verity::test
