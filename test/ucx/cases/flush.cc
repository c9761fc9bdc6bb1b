// SPDX-License-Identifier: BSD-3-Clause
//
// Flush and fence.
#include <algorithm>
#include <memory>

#include "pending.h"
#include "uct/compat/ucx.h"

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

// One side sends until the lower transport takes no more, being in the middle of a send: the peer
// reads nothing.
struct LongSends {
  static constexpr uint8_t kSendId = 12;  // UCP's for rendezvous data: kept until acknowledged
  static constexpr size_t kMost = 64;

  Iface iface;
  const size_t length;
  std::vector<Bytes> messages;
  std::vector<uct_completion_t> sends;
  Inbound in, first;
  Endpoints eps;
  Outbound out;

  explicit LongSends(Side& side)
      : iface(little(side.options)),
        length(iface.has(UCT_IFACE_FLAG_AM_ZCOPY) ? Outbound::longest(iface, Kind::kZcopy) : 0),
        in(iface, kSendId, [this](uint64_t) { return length; }),
        first(iface, kId, [](uint64_t) { return size_t{40}; }),
        eps(iface, side.channel, 1),
        out(iface, eps[0], kId, [](uint64_t) { return size_t{40}; }) {
    if (length == 0) throw Skip("no am_zcopy");
    connect_idle(side, iface, eps[0], first, out);
    if (side.role == 0) send();
  }

  // Once all have ended.
  void send_again() {
    messages.clear();
    sends.clear();
    send();
  }
  [[nodiscard]] bool have_ended() const {
    require(!sends.empty(), "no send");
    return std::all_of(sends.begin(), sends.end(),
                       [](const auto& comp) { return comp.count == 0; });
  }

 private:
  static Options little(const Options& options) {
    Options changed = options;
    changed.settings = {{"SNDBUF", "16k"}, {"RCVBUF", "16k"}};
    return changed;
  }

  void send() {
    messages.reserve(kMost);
    sends.reserve(kMost);
    for (uint64_t i = 0; i < kMost; ++i) {
      fill(messages.emplace_back(length).data(), length, kSendId, i);
      const uct_iov_t iov{messages[i].data(), length, UCT_MEM_HANDLE_NULL, 0, 1};
      sends.push_back({[](uct_completion_t*) {}, 1, UCS_OK});
      const ucs_status_t status =
          uct_ep_am_zcopy(eps[0], kSendId, nullptr, 0, &iov, 1, 0, &sends.back());
      if (status != UCS_INPROGRESS) sends.pop_back();
      if (status == UCS_ERR_NO_RESOURCE) break;
      require(!UCS_STATUS_IS_ERR(status), "uct_ep_am_zcopy");
    }
  }
};

// Such sends end with a flush that cancels, before it, and soon: UCP waits for it in a forced
// close. So they do with one behind a failure.
void flush_in_a_send(Side& side, bool fails) {
  constexpr double kSoon = 4;  // s, where half of one is waited for the lower transport
  need_wrapper_and_two(side);
  if (in_mode_off()) throw Skip("the flush is UCX's own");
  if (!in_mode_verify() && !side.options.transport.ends_with("tcp"))
    throw Skip("long messages that were not sent cannot be copied in mode observe");
  LongSends sending(side);
  if (side.role == 0) {
    uct_ep_h ep = sending.eps[0];
    if (fails) check(uct_ep_invalidate(ep, 0), "uct_ep_invalidate");
    const unsigned flags = fails ? UCT_FLUSH_FLAG_LOCAL : UCT_FLUSH_FLAG_CANCEL;
    const double began = seconds_now();
    Flushed& flushed = *new Flushed;  // left behind when the check fails
    const ucs_status_t status = uct_ep_flush(ep, flags, &flushed.completion);
    if (status == UCS_INPROGRESS) {
      const auto ended = [&] {
        require(!flushed.done || sending.have_ended(), "a flush is over before the sends");
        return flushed.done;
      };
      sending.iface.progress_until(ended, "completion of a flush", 10);
    } else {
      require(fails == UCS_STATUS_IS_ERR(status), ucs_status_string(status));
    }
    delete &flushed;
    sending.eps.destroy(0);
    require(sending.have_ended(), "a send outlives its endpoint");
    const double took = seconds_now() - began;
    require(took < kSoon, "the flush takes " + std::to_string(took) + " s");
    // The peer then gets the copy, in mode verify.
    for (Bytes& message : sending.messages)
      if (in_mode_verify()) std::fill(message.begin(), message.end(), uint8_t{0});
  }
  side.channel.barrier({});
  const double until = seconds_now() + 0.3;
  sending.iface.progress_until([&] { return seconds_now() > until; }, "what was sent");
  side.channel.barrier([&] { sending.iface.progress(); });
  // In mode observe tcp may read on from what was freed by then.
  if (in_mode_verify()) sending.in.verify();
}

void cancel_in_a_send(Side& side) { flush_in_a_send(side, false); }
void failure_in_a_send(Side& side) { flush_in_a_send(side, true); }

// Such a flush that the caller gives up, and another one behind later sends: that waits for the
// lower transport as long as the first would have.
void cancel_behind_one_given_up(Side& side) {
  constexpr double kWaits = 0.3;  // s, where it waits for half of one
  need_wrapper_and_two(side);
  if (!in_mode_verify()) throw Skip("only in mode verify are the sends copied");
  LongSends sending(side);
  Iface& iface = sending.iface;
  const auto progress = [&] { iface.progress(); };
  if (side.role == 0 &&
      uct_ep_flush(sending.eps[0], UCT_FLUSH_FLAG_CANCEL, nullptr) != UCS_INPROGRESS)
    throw Skip("the lower transport is in the middle of no send");
  side.channel.barrier({});
  if (side.role == 0) iface.progress_until([&] { return sending.have_ended(); }, "the sends");
  side.channel.barrier(progress);
  const double until = seconds_now() + 2 * kWaits;
  iface.progress_until([&] { return seconds_now() > until; }, "some time");
  side.channel.barrier(progress);
  if (side.role == 0) {
    sending.send_again();
    const double began = seconds_now();
    cancel(iface, sending.eps[0]);
    const double took = seconds_now() - began;
    // A peer with a progress thread reads, and they end well.
    const bool ended_well = std::all_of(sending.sends.begin(), sending.sends.end(),
                                        [](const auto& comp) { return comp.status == UCS_OK; });
    require(took > kWaits || ended_well, "sends end after " + std::to_string(took) + " s");
  }
  side.channel.barrier({});
  sending.in.verify();
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

// More is sent all the time: a flush waits for what was sent before it, and no longer.
void flush_while_sending(Side& side) {
  Iface iface(side.options);
  const auto length_of = [&](uint64_t) { return packet_length(iface); };
  Inbound in(iface, kId, length_of);
  Endpoints eps(iface, side.channel, 1);
  Outbound out(iface, eps[0], kId, length_of);
  connect(side, iface, in, out);
  if (side.role == 0) {
    const auto send_some = [&] {
      for (int i = 0; i < 200 && out.try_send(Kind::kBcopy) == UCS_OK; ++i) {}
    };
    send_some();
    Flushed& flushed = *new Flushed;  // left behind when the check fails
    const ucs_status_t status = uct_ep_flush(eps[0], UCT_FLUSH_FLAG_LOCAL, &flushed.completion);
    const double until = seconds_now() + 20;
    while (status == UCS_INPROGRESS && !flushed.done) {
      require(seconds_now() < until, "a flush waits for what was sent after it");
      send_some();
      iface.progress();
    }
    delete &flushed;
  }
  side.channel.barrier([&] { iface.progress(); });
  in.expect(exchange_number(side.channel, out.count()));
  finish(side, iface);
}

constexpr Case kCases[] = {
    {"a flush waits for the pending queue", flush_behind_pending},
    {"flush towards a peer that does nothing", flush_without_peer},
    {"endpoint destroyed during its flush", flush_cancelled},
    {"endpoints that are flushed with cancel, and made again", flush_with_cancel},
    {"flush with cancel in the middle of a send", cancel_in_a_send},
    {"flush with cancel behind one that was given up", cancel_behind_one_given_up},
    {"flush behind a failure in the middle of a send", failure_in_a_send},
    {"flushes and fences under load", flush_and_fence},
    {"a flush ends while more is sent", flush_while_sending},
};

}  // namespace

std::span<const Case> flush_cases() { return kCases; }

}  // namespace verity::test
