// SPDX-License-Identifier: BSD-3-Clause
//
// Links of a wrapper: made by the peer's HELLO, refused to other interfaces' addresses, kept alive
// by an interface without progress calls, given up.
#include <ucs/debug/log_def.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "../window.h"
#include "cases.h"

namespace verity::test {
namespace {

constexpr uint8_t kId = 5;

Kind largest_kind(const Iface& iface) {
  return Outbound::has(iface, Kind::kZcopy) ? Kind::kZcopy : Kind::kBcopy;
}

// Only role 0 makes an endpoint. Its messages are acknowledged all the same, or the window would
// close and the zero-copy sends, which are not copied here, would never end.
void one_way(Side& side) {
  need_wrapper_and_two(side);
  setenv("UCX_VERITY_COPY_AFTER", "60s", 1);
  Iface iface(side.options);
  Inbound in(iface, kId, longish);
  Iface::Address peer = iface.exchange_addresses(side.channel);
  if (!iface.has(UCT_IFACE_FLAG_CONNECT_TO_IFACE)) {
    throw Skip("endpoints are connected in pairs");
  }
  constexpr uint64_t kMessages = 1000;  // several windows
  if (side.role == 0) {
    uct_ep_h ep = iface.connect_to_iface(peer);
    {
      Outbound out(iface, ep, kId, longish);
      for (uint64_t i = 0; i < kMessages; ++i) {
        out.send(i % 2 == 0 ? largest_kind(iface) : Kind::kBcopy);
      }
      out.wait();
    }
    uct_ep_destroy(ep);
  } else {
    in.expect(kMessages);
  }
  finish(side, iface);
}

// The same to one that makes progress so seldom that each time it finds a message: it does not wait
// for long until there is none, or the sender waits for it when its window is full.
void seldom_progress(Side& side) {
  constexpr int kTimes = 150;
  constexpr useconds_t kNap = 10'000;
  need_wrapper_and_two(side);
  if (!in_mode_verify()) throw Skip("only in mode verify is there a window");
  setenv("UCX_VERITY_WINDOW", "100", 1);
  const auto length_of = [](uint64_t) { return size_t{8}; };
  Iface iface(side.options);
  Inbound in(iface, kId, length_of);
  Iface::Address peer = iface.exchange_addresses(side.channel);
  skip_if_pairs(iface);
  uct_ep_h ep = side.role == 0 ? iface.connect_to_iface(peer) : nullptr;
  {
    Outbound out(iface, ep, kId, length_of);
    int refused = 0;
    for (int i = 0; i < kTimes; ++i) {
      const bool taken = side.role == 1 || out.try_send(Kind::kBcopy) == UCS_OK;
      if (!taken) refused += out.count() > 50;  // tcp takes none before it is connected
      side.channel.barrier({});
      if (side.role == 1) ::usleep(kNap);
      iface.progress();
      side.channel.barrier({});
    }
    require(refused == 0, std::to_string(refused) + " messages found the window full");
  }
  side.channel.barrier([&] { iface.progress(); });
  if (ep != nullptr) uct_ep_destroy(ep);
  finish(side, iface);
}

// A log handler that refuses a peer for another reason than what is just being logged.
Iface* refusing = nullptr;
Iface::Address refused_by_handler;

ucs_log_func_rc_t refuse_another(const char*, unsigned, const char*, ucs_log_level_t level,
                                 const ucs_log_component_config_t*, const char*, va_list) {
  if (level > UCS_LOG_LEVEL_WARN || refusing == nullptr) return UCS_LOG_FUNC_RC_CONTINUE;
  (void)std::exchange(refusing, nullptr)->is_reachable(refused_by_handler);
  return UCS_LOG_FUNC_RC_CONTINUE;
}

// The address of something else, and that of another protocol version; that of another release of
// this one is as good as ours.
void foreign_addresses(Side& side) {
  need_wrapper_and_two(side);
  Iface iface(side.options);
  if (!iface.has(UCT_IFACE_FLAG_CONNECT_TO_IFACE)) {
    throw Skip("the interface address is not used");
  }
  Iface::Address peer = iface.exchange_addresses(side.channel);
  require(iface.is_reachable(peer), "the peer is not reachable");
  // What the wrapper appends: magic (2), version (1), mode (1), ..., release (3), reserved (1).
  constexpr size_t kTail = 20;
  const uint8_t changes[kTail] = {0x40, 0, 0x40, 0x0c};
  const auto changed = [&](size_t at) {
    Iface::Address foreign = peer;
    foreign.iface[foreign.iface.size() - 1 - kTail + at] ^= changes[at];
    return foreign;
  };
  refusing = &iface;
  refused_by_handler = changed(2);
  ucs_log_push_handler(refuse_another);
  require(!iface.is_reachable(changed(0)), "a foreign address is reachable");
  ucs_log_pop_handler();
  require(refusing == nullptr, "no refusal was logged");
  for (size_t at : {0, 2, 3}) {
    const Iface::Address foreign = changed(at);
    require(!iface.is_reachable(foreign), "a foreign address is reachable");
    uct_ep_h ep = nullptr;
    ucs_status_t status = iface.try_connect_to_iface(foreign, &ep);
    require(status == UCS_ERR_UNREACHABLE,
            std::string("an endpoint to a foreign address: ") + ucs_status_string(status));
  }
  Iface::Address other_release = peer;
  for (size_t at = 16; at < kTail; ++at)
    other_release.iface[other_release.iface.size() - 1 - kTail + at] ^= 0x05;
  require(iface.is_reachable(other_release), "another release of this protocol is not reachable");
  finish(side, iface);
}

// The highest numbers of active messages are the wrapper's own: they are refused, and a handler
// under them changes nothing.
void own_numbers(Side& side) {
  need_wrapper_and_two(side);
  Iface iface(side.options);
  const auto handler = [](void*, void*, size_t, unsigned) { return UCS_OK; };
  for (uint8_t id = 29; id < UCT_AM_ID_MAX; ++id) {
    check(uct_iface_set_am_handler(iface.handle(), id, handler, nullptr, 0),
          "uct_iface_set_am_handler");
  }
  Endpoints eps(iface, side.channel, 1);
  const uint64_t bytes = 1;
  const uct_iov_t iov{const_cast<uint64_t*>(&bytes), sizeof(bytes), UCT_MEM_HANDLE_NULL, 0, 1};
  const auto pack = [](void*, void*) -> size_t { return 0; };
  for (uint8_t id = 29; id < UCT_AM_ID_MAX; ++id) {
    require(uct_ep_am_short(eps[0], id, 0, &bytes, sizeof(bytes)) == UCS_ERR_UNSUPPORTED,
            "am_short under a number of the wrapper");
    require(uct_ep_am_short_iov(eps[0], id, &iov, 1) == UCS_ERR_UNSUPPORTED,
            "am_short_iov under a number of the wrapper");
    require(uct_ep_am_bcopy(eps[0], id, pack, nullptr, 0) == UCS_ERR_UNSUPPORTED,
            "am_bcopy under a number of the wrapper");
  }
  Inbound in(iface, 28, longish);
  Outbound out(iface, eps[0], 28, longish);
  for (int i = 0; i < 10; ++i) out.send(Kind::kBcopy);
  in.expect(10);
  side.channel.barrier([&] { iface.progress(); });  // what is damaged is repaired
  if (iface.has(UCT_IFACE_FLAG_GET_BCOPY)) {
    Window window(iface, side.channel, 4096);
    Get get;
    get.content.resize(64);
    unsigned open = 0;
    uct_completion_t* completion = get.start(&open);
    post(iface, "get_bcopy", [&] {
      return uct_ep_get_bcopy(eps[0], Get::unpack, &get, 64, window.remote(0), window.key(),
                              completion);
    });
    iface.progress_until([&] { return open == 0; }, "a get");
    verify(get, window_content(4096));
    side.channel.barrier([&] { iface.progress(); });
  }
  iface.flush(eps[0]);
  finish(side, iface);
}

// A peer whose user has disabled its interface's progress still acknowledges: its sender goes on.
void progress_disabled(Side& side) {
  need_wrapper_and_two(side);
  Iface iface(side.options);
  Inbound in(iface, kId, longish);
  Endpoints eps(iface, side.channel, 1);
  Outbound out(iface, eps[0], kId, longish);
  connect(side, iface, in, out);
  constexpr uint64_t kMessages = 1000;  // several windows
  if (side.role == 0) {
    for (uint64_t i = 0; i < kMessages; ++i) { out.send(Kind::kBcopy); }
  } else {
    uct_iface_progress_disable(iface.handle(), UCT_PROGRESS_SEND | UCT_PROGRESS_RECV);
  }
  side.channel.barrier([&] { iface.progress(); });
  if (side.role == 1) {
    uct_iface_progress_enable(iface.handle(), UCT_PROGRESS_SEND | UCT_PROGRESS_RECV);
    in.expect(1 + kMessages);
  }
  finish(side, iface);
}

struct Ended {
  uct_completion_t completion = {};
  bool done = false;
  static void on_complete(uct_completion_t* completion) {
    reinterpret_cast<Ended*>(completion)->done = true;
  }
};

// Every message of role 0 comes damaged, however often it is sent: after MAX_REPAIRS the error
// handler hears of it, and all that was under way ends.
void given_up(Side& side) {
  need_wrapper_and_two(side);
  if (side.options.transport[1] != 'f') { throw Skip("needs a transport that damages"); }
  setenv("UCX_FAULT_RATE", side.role == 0 ? "1" : "0", 1);
  setenv("UCX_FAULT_KINDS", "flip", 1);
  setenv("UCX_FAULT_PLACE", "payload", 1);
  setenv("UCX_FAULT_MIN_LEN", "2000", 1);
  setenv("UCX_VERITY_MAX_REPAIRS", "3", 1);
  setenv("UCX_VERITY_COPY_AFTER", "60s", 1);
  Iface iface(side.options);
  auto length_of = [](uint64_t i) { return i == 0 ? size_t{100} : longish(i); };
  Inbound in(iface, kId, length_of);
  Endpoints eps(iface, side.channel, 1);
  Outbound out(iface, eps[0], kId, length_of);
  connect(side, iface, in, out);
  if (side.role == 0) {
    out.send(largest_kind(iface));
    out.send(Kind::kBcopy);
    iface.progress_until([&] { return iface.errors() > 0; }, "the error handler");
    require(iface.errors() == 1, "the error handler was called more than once");
    out.wait();
    Ended flush;
    flush.completion = {.func = Ended::on_complete, .count = 1, .status = UCS_OK};
    ucs_status_t status = uct_ep_flush(eps[0], UCT_FLUSH_FLAG_LOCAL, &flush.completion);
    if (status == UCS_INPROGRESS) {
      iface.progress_until([&] { return flush.done; }, "a flush of the failed endpoint");
      status = flush.completion.status;
    }
    require(UCS_STATUS_IS_ERR(status), "a flush of the failed endpoint says that all arrived");
    uint64_t word = 0;
    status = uct_ep_am_short(eps[0], kId, word, nullptr, 0);
    require(UCS_STATUS_IS_ERR(status) && status != UCS_ERR_NO_RESOURCE,
            std::string("a send on the failed endpoint: ") + ucs_status_string(status));
  }
  side.channel.barrier([&] { iface.progress(); });
  in.verify();
  require(in.count() == 1, "a damaged message was delivered");
}

// The same; the error handler destroys the endpoint, and progresses the worker.
void destroyed_by_handler(Side& side) {
  need_wrapper_and_two(side);
  if (side.options.transport[1] != 'f') { throw Skip("needs a transport that damages"); }
  setenv("UCX_FAULT_RATE", side.role == 0 ? "1" : "0", 1);
  setenv("UCX_FAULT_KINDS", "flip", 1);
  setenv("UCX_FAULT_PLACE", "payload", 1);
  setenv("UCX_FAULT_MIN_LEN", "2000", 1);
  setenv("UCX_VERITY_MAX_REPAIRS", "3", 1);
  Iface iface(side.options);
  Inbound in(iface, kId, longish);
  const std::vector<uct_ep_h> eps = iface.connect(side.channel, 1);
  bool destroyed = false;
  iface.on_error([&] {
    uct_ep_destroy(eps[0]);
    destroyed = true;
    for (int i = 0; i < 3; ++i) { (void)iface.progress(); }
  });
  if (side.role == 0) {
    const auto pack = [](void* out, void*) -> size_t {
      std::memset(out, 1, 4000);
      return 4000;
    };
    ssize_t sent = UCS_ERR_NO_RESOURCE;
    iface.progress_until(
        [&] {
          sent = uct_ep_am_bcopy(eps[0], kId, pack, nullptr, 0);
          return sent != UCS_ERR_NO_RESOURCE;
        },
        "room for the message");
    require(sent == 4000, "the message is not taken");
    iface.progress_until([&] { return destroyed; }, "the error handler");
    for (int i = 0; i < 100; ++i) { (void)iface.progress(); }
  }
  side.channel.barrier([&] { iface.progress(); });
  require(in.count() == 0, "a damaged message was delivered");
  if (!destroyed) { uct_ep_destroy(eps[0]); }
}

// The peer closed in good order, said so, and its connection ended then. What is flushed, or
// closed, after that has not failed.
void peer_closed(Side& side) {
  need_wrapper_and_two(side);
  if (std::getenv("UCX_FAULT_RATE") != nullptr) { throw Skip("what it says last may be lost"); }
  if (in_mode_off()) { throw Skip("a peer in mode off sends no BYE"); }
  Iface iface(side.options);
  if (!iface.has(UCT_IFACE_FLAG_CONNECT_TO_IFACE)) {
    throw Skip("endpoints are connected in pairs");
  }
  Inbound in(iface, kId, longish);
  {
    Endpoints eps(iface, side.channel, 1);
    Outbound out(iface, eps[0], kId, longish);
    out.send(Kind::kBcopy);
    in.expect(1);
    iface.flush(eps[0]);
    side.channel.barrier([&] { iface.progress(); });
    if (side.role == 0) {
      const double until = seconds_now() + 0.5;
      while (seconds_now() < until) { iface.progress(); }
      iface.flush(eps[0]);
    }
  }
  if (side.role == 1) { iface.close(); }
  side.channel.barrier([&] {
    if (side.role == 0) { iface.progress(); }
  });
}

constexpr Case kCases[] = {
    {"one side only makes an endpoint", one_way},
    {"a peer without an endpoint that seldom makes progress", seldom_progress},
    {"foreign addresses are refused", foreign_addresses},
    {"numbers of messages that are the wrapper's own", own_numbers},
    {"acknowledgements while progress is disabled", progress_disabled},
    {"a link that fails", given_up},
    {"the error handler destroys the endpoint", destroyed_by_handler},
    {"the peer closed", peer_closed},
};

}  // namespace

std::span<const Case> link_cases() { return kCases; }

}  // namespace verity::test
