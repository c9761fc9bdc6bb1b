// SPDX-License-Identifier: BSD-3-Clause
//
// What UCP's failover (from UCX 1.21 on) builds on: an endpoint that fails ends all that was posted
// on it with an error, so that UCP posts it again on another lane, and has one failure to report.
#include <algorithm>

#include "cases.h"
#include "uct/compat/ucx.h"

#if VERITY_UCX_AT_LEAST(1, 23)
extern "C" ucs_status_t uct_ep_outstanding_purge(uct_ep_h ep, const void* params);
extern "C" ucs_status_t uct_iface_query_v2(uct_iface_h iface, void* attr);
#endif

namespace verity::test {
namespace {

constexpr uint8_t kId = 12;

size_t long_ones(uint64_t i) { return 600 + static_cast<size_t>(dice(12, i) % 400); }

struct Ended {
  uct_completion_t completion;
  unsigned calls;
  ucs_status_t status;
};
void has_ended(uct_completion_t* completion) {
  auto* ended = reinterpret_cast<Ended*>(completion);
  ++ended->calls;
  ended->status = completion->status;
}

// The peer makes no progress meanwhile: nothing is acknowledged.
void end_by_invalidation(Iface& iface, uct_ep_h ep, Outbound& out) {
  if (!Outbound::has(iface, Kind::kZcopy)) throw Skip("no am_zcopy");
  if ((iface.md_attr().cap.flags & UCT_MD_FLAG_NEED_MEMH) != 0)
    throw Skip("needs registered memory");
  Bytes buffer(std::min<size_t>(Outbound::longest(iface, Kind::kZcopy), 50'000), 7);
  Ended zcopy{{has_ended, 1, UCS_OK}, 0, UCS_OK};
  const uct_iov_t iov{buffer.data(), buffer.size(), UCT_MEM_HANDLE_NULL, 0, 1};
  const ucs_status_t posted = uct_ep_am_zcopy(ep, kId, nullptr, 0, &iov, 1, 0, &zcopy.completion);
  if (posted != UCS_INPROGRESS) throw Skip("am_zcopy is complete at once");
  Ended flush{{has_ended, 1, UCS_OK}, 0, UCS_OK};
  const ucs_status_t flushed = uct_ep_flush(ep, 0, &flush.completion);
  const bool waits = flushed == UCS_INPROGRESS;
  require(waits || !in_mode_verify(), "a flush does not wait for what is not acknowledged");

  // As UCX's tests of failover call it: without flags before 1.21, without parameters from there
  // on.
  const ucs_status_t status = uct_ep_invalidate(ep, 0);
  require(status == UCS_OK, std::string("uct_ep_invalidate: ") + ucs_status_string(status));
  iface.progress_until(
      [&] { return iface.errors() != 0 && zcopy.calls != 0 && (flush.calls != 0 || !waits); },
      "the failure");
  for (int i = 0; i < 1000; ++i) iface.progress();
  require(iface.errors() == 1, std::to_string(iface.errors()) + " failures reported");
  // In the other modes a send is over when it was handed to the lower transport.
  const bool zcopy_fails = zcopy.status != UCS_OK || !in_mode_verify();
  require(zcopy.calls == 1 && zcopy_fails, "am_zcopy did not end once, with an error");
  require(flush.calls == (waits ? 1 : 0) && (flush.status != UCS_OK || !waits),
          "a flush did not end once, with an error");
  try {
    (void)out.try_send(Kind::kBcopy);
  } catch (const Failure&) { return; }
  throw Failure("an endpoint that has failed takes another message");
}

void invalidated(Side& side) {
  if (side.channel.alone()) throw Skip("needs two processes");
  if (side.options.transport.front() != 'v') throw Skip("only the wrapper");
  Iface iface(side.options);
  Inbound in(iface, kId, long_ones);
  Endpoints eps(iface, side.channel, 1);
  Outbound out(iface, eps[0], kId, long_ones);
  connect_idle(side, iface, eps[0], in, out);
  if (side.role == 0) end_by_invalidation(iface, eps[0], out);
  side.channel.barrier({});
}

// Flushes that wait for a peer which makes no progress, in the lower transport or in front of it.
// The lower endpoint may live on, and would end them when the peer answers.
void flushes_of_invalidated(Side& side) {
  constexpr double kSoon = 5;  // s
  if (side.channel.alone()) throw Skip("needs two processes");
  if (side.options.transport.front() != 'v') throw Skip("only the wrapper");
  Iface iface(side.options);
  Inbound in(iface, kId, long_ones);
  Ended flushes[2] = {{{has_ended, 1, UCS_OK}, 0, UCS_OK}, {{has_ended, 1, UCS_OK}, 0, UCS_OK}};
  {
    Endpoints eps(iface, side.channel, 1);
    Outbound out(iface, eps[0], kId, long_ones);
    connect_idle(side, iface, eps[0], in, out);
    if (side.role == 0) {
      for (int i = 0; i < 3; ++i) out.send(Kind::kBcopy);
      for (Ended& flush : flushes) {
        if (uct_ep_flush(eps[0], UCT_FLUSH_FLAG_LOCAL, &flush.completion) != UCS_INPROGRESS)
          throw Skip("a flush does not wait for the peer");
      }
      const ucs_status_t status = uct_ep_invalidate(eps[0], 0);
      require(status == UCS_OK, std::string("uct_ep_invalidate: ") + ucs_status_string(status));
      require(flushes[0].calls == 0, "a flush ended inside of uct_ep_invalidate");
      iface.progress_until([&] { return flushes[0].calls != 0 && flushes[1].calls != 0; },
                           "flushes", kSoon);
    }
    side.channel.barrier({});
  }
  side.channel.barrier([&] { iface.progress(); });
  // In the other modes it is the lower transport's, which may have been about to end it well.
  for (const Ended& flush : flushes)
    require(side.role == 1 || (flush.calls == 1 && (flush.status != UCS_OK || !in_mode_verify())),
            "a flush did not end once, with an error");
}

// Tokens say which operations have arrived, so that UCP need not post those again. They are not
// offered: UCP up to 1.23 asks for none. The lower transport's would count frames, not operations.
void no_tokens([[maybe_unused]] Side& side) {
#if VERITY_UCX_AT_LEAST(1, 23)
  if (side.options.transport.front() != 'v') throw Skip("only the wrapper");
  Iface iface(side.options);
  const Endpoints eps(iface, side.channel, 1);
  uint64_t attributes[64] = {UCT_EP_ATTR_FIELD_TX_TOKEN};
  require(uct_ep_query(eps[0], reinterpret_cast<uct_ep_attr_t*>(attributes)) == UCS_ERR_UNSUPPORTED,
          "an endpoint has a token");
  constexpr uint64_t kAllTokens = 0x78;
  uint64_t of_iface[64] = {kAllTokens};
  require(uct_iface_query_v2(iface.handle(), of_iface) == UCS_ERR_UNSUPPORTED,
          "an interface has tokens");
  const uint64_t parameters[8] = {};
  require(uct_ep_outstanding_purge(eps[0], parameters) == UCS_ERR_UNSUPPORTED,
          "what is outstanding can be purged without a token");
  side.channel.barrier([&] { iface.progress(); });
#else
  throw Skip("from UCX 1.23 on");
#endif
}

// UCP probes a lane that it wants back with a check (from 1.22 on), which may be answered later: in
// progress, or with the endpoint that goes, be there another one to that peer or not.
void checked([[maybe_unused]] Side& side) {
#if VERITY_UCX_AT_LEAST(1, 22)
  Iface iface(side.options);
  skip_if_pairs(iface);
  if (!iface.has(UCT_IFACE_FLAG_EP_CHECK)) throw Skip("no ep_check");
  const Iface::Address peer = iface.exchange_addresses(side.channel);
  uct_ep_h eps[2];
  Ended checks[2];
  ucs_status_t statuses[2];
  for (size_t i = 0; i < 2; ++i) {
    eps[i] = iface.connect_to_iface(peer);
    checks[i] = {{has_ended, 1, UCS_OK}, 0, UCS_OK};
    statuses[i] = uct_ep_check(eps[i], 0, &checks[i].completion);
    check(statuses[i], "uct_ep_check");
    require(checks[i].calls == 0, "a check ended before it was answered");
  }
  uct_ep_destroy(eps[0]);
  require(checks[0].calls == (statuses[0] == UCS_INPROGRESS ? 1 : 0),
          "a check outlives its endpoint");
  const unsigned wanted = statuses[1] == UCS_INPROGRESS ? 1 : 0;
  iface.progress_until([&] { return checks[1].calls >= wanted; }, "the answer of a check");
  require(checks[1].calls == wanted && checks[1].status == UCS_OK, "the peer is not there");
  side.channel.barrier([&] { iface.progress(); });
  require(checks[0].calls <= 1 && checks[1].calls == wanted, "a check ended twice");
  uct_ep_destroy(eps[1]);
  side.channel.barrier([&] { iface.progress(); });
#else
  throw Skip("from UCX 1.22 on");
#endif
}

constexpr Case kCases[] = {
    {"an endpoint that is invalidated ends everything with an error, once", invalidated},
    {"flushes end when their endpoint is invalidated", flushes_of_invalidated},
    {"no tokens", no_tokens},
    {"a check ends in progress, or with its endpoint", checked},
};

}  // namespace

std::span<const Case> failover_cases() { return kCases; }

}  // namespace verity::test
