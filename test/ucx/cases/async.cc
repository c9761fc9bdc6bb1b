// SPDX-License-Identifier: BSD-3-Clause
//
// Handlers that may run in UCX's asynchronous thread, on transports that receive there (as
// InfiniBand's ud, or the test transport with UCX_FAULT_ASYNC).
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <thread>

#include "../window.h"
#include "cases.h"

namespace verity::test {
namespace {

constexpr uint8_t kId = 11;

size_t middling(uint64_t i) { return static_cast<size_t>(dice(30, i) % 3000); }

void need_async_and_two(const Side& side, const Iface& iface) {
  if (side.channel.alone() || !iface.has(UCT_IFACE_FLAG_CB_ASYNC)) {
    throw Skip("needs two processes and asynchronous callbacks");
  }
}

// Role 1 makes no progress at all: what is for asynchronous handlers arrives.
void without_progress(Side& side) {
  constexpr uint64_t kMessages = 100;
  Iface iface(side.options);
  need_async_and_two(side, iface);
  Inbound in(iface, kId, middling, UCT_CB_FLAG_ASYNC);
  Endpoints eps(iface, side.channel, 1);
  Outbound out(iface, eps[0], kId, middling);
  connect(side, iface, in, out);
  if (side.role == 0) {
    for (uint64_t i = 0; i < kMessages; ++i) { out.send(Kind::kBcopy); }
  } else {
    // Damaged ones wait for the next call of progress.
    bool damaged = getenv("UCX_FAULT_RATE") != nullptr;
    for (int i = 0; i < 5000 && in.count() <= kMessages; ++i) {
      ::usleep(1000);
      if (damaged) { iface.progress(); }
    }
    require(in.count() == kMessages + 1, "only " + std::to_string(in.count()) + " messages came");
  }
  side.channel.barrier([&] { iface.progress(); });
  in.verify();
  finish(side, iface);
}

// Both classes at once in both directions: each keeps its order.
void two_classes(Side& side) {
  Iface iface(side.options);
  need_async_and_two(side, iface);
  Inbound in(iface, kId, middling);
  Inbound in_async(iface, kId + 1, middling, UCT_CB_FLAG_ASYNC);
  Endpoints eps(iface, side.channel, 1);
  Outbound out(iface, eps[0], kId, middling);
  Outbound out_async(iface, eps[0], kId + 1, middling);
  uint64_t messages = 50 * static_cast<uint64_t>(side.rounds);
  for (uint64_t i = 0; i < messages; ++i) {
    out.send(Outbound::has(iface, Kind::kZcopy) && i % 3 == 0 ? Kind::kZcopy : Kind::kBcopy);
    out_async.send(Kind::kBcopy);
  }
  out.wait();
  in.expect(messages);
  in_async.expect(messages);
  finish(side, iface);
}

// The sender's handler of that id is asynchronous, the receiver's is not: its messages come in
// calls of progress only, in order.
void handlers_differ(Side& side) {
  Iface iface(side.options);
  need_async_and_two(side, iface);
  Inbound in(iface, kId, middling, side.role == 0 ? UCT_CB_FLAG_ASYNC : 0);
  std::thread::id elsewhere;
  if (side.role == 1) {
    in.on_message = [&, own = std::this_thread::get_id()](uint8_t*, size_t, unsigned, uint64_t) {
      if (std::this_thread::get_id() != own) { elsewhere = std::this_thread::get_id(); }
      return UCS_OK;
    };
  }
  Endpoints eps(iface, side.channel, 1);
  Outbound out(iface, eps[0], kId, middling);
  uint64_t messages = 50 * static_cast<uint64_t>(side.rounds);
  if (side.role == 0) {
    for (uint64_t i = 0; i < messages; ++i) { out.send(Kind::kBcopy); }
  } else {
    ::usleep(20'000);  // some come in the asynchronous thread
    in.expect(messages);
    require(elsewhere == std::thread::id(), "a synchronous handler ran in another thread");
  }
  finish(side, iface);
}

// The interface of role 0 closes while asynchronous messages come in: that thread goes on until the
// lower transport is closed.
void close_under_fire(Side& side) {
  const int rounds = std::max(side.rounds / 4, 3);
  for (int round = 0; round < rounds; ++round) {
    Iface iface(side.options);
    need_async_and_two(side, iface);
    {
      Inbound in(iface, kId, middling, UCT_CB_FLAG_ASYNC);
      Endpoints eps(iface, side.channel, 1);
      Outbound out(iface, eps[0], kId, middling);
      connect(side, iface, in, out);
      const double until = seconds_now() + 0.02;
      if (side.role == 0)
        ::usleep(static_cast<useconds_t>(dice(31, static_cast<uint64_t>(round)) % 5000));
      try {
        while (side.role == 1 && seconds_now() < until) {
          (void)out.try_send(Kind::kBcopy);
          iface.progress();
        }
      } catch (const Failure&) {  // the peer is gone
      }
    }
    iface.close();
    side.channel.barrier({});
  }
}

// UCX's asynchronous mode "signal": what comes may interrupt the program only where this lets it,
// as the test transport allocates memory then. UCX unblocks the signal where it adds a handler
// beside another one, as when an interface opens: it is blocked again behind that.
class Interrupted {
 public:
  Interrupted() { block(); }
  ~Interrupted() { change(SIG_UNBLOCK); }
  Interrupted(const Interrupted&) = delete;
  Interrupted& operator=(const Interrupted&) = delete;
  static void block() { change(SIG_BLOCK); }
  static void wait(double seconds) {
    change(SIG_UNBLOCK);
    for (const double until = seconds_now() + seconds; seconds_now() < until;) {}
    block();
  }

 private:
  static void change(int how) {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGALRM);  // UCX_ASYNC_SIGNO
    pthread_sigmask(how, &signals, nullptr);
  }
};

// There the wrapper, which allocates memory for what it receives, and so its handlers wait for
// progress.
void not_interrupted(Side& side) {
  if (side.options.transport.front() != 'v') throw Skip("UCX's own handlers may interrupt");
  constexpr uint64_t kMessages = 30;
  const Interrupted interrupted;
  side.options.async_mode = UCS_ASYNC_MODE_SIGNAL;
  Iface iface(side.options);
  Interrupted::block();
  need_async_and_two(side, iface);
  Inbound in(iface, kId, middling, UCT_CB_FLAG_ASYNC);
  Endpoints eps(iface, side.channel, 1);
  Outbound out(iface, eps[0], kId, middling);
  connect(side, iface, in, out);
  Interrupted::block();
  if (side.role == 0) {
    for (uint64_t i = 0; i < kMessages; ++i) out.send(Kind::kBcopy);
  }
  side.channel.barrier({});
  if (side.role == 1) {
    const uint64_t before = in.count();
    Interrupted::wait(0.1);
    require(in.count() == before, "a handler interrupted the program");
    in.expect(kMessages + 1);
  }
  finish(side, iface);
}

// UCP makes endpoints in such handlers. The program progresses another worker meanwhile, which
// serves this one's interface.
void connect_in_handler(Side& side) {
  Iface iface(side.options);
  need_async_and_two(side, iface);
  skip_if_pairs(iface);
  Iface other(side.options);
  const Iface::Address peer = iface.exchange_addresses(side.channel);
  Inbound in(iface, kId, middling, UCT_CB_FLAG_ASYNC);
  std::atomic<uct_ep_h> made = nullptr;
  in.on_message = [&](uint8_t*, size_t, unsigned, uint64_t sequence) {
    if (sequence == 0) return UCS_OK;
    ::usleep(20'000);
    made = iface.connect_to_iface(peer);
    return UCS_OK;
  };
  Endpoints eps(iface, side.channel, 1);  // messages may come from here on
  Outbound out(iface, eps[0], kId, middling);
  connect(side, iface, in, out);
  if (side.role == 0) {
    out.send(Kind::kBcopy);
  } else {
    ::usleep(10'000);  // the handler has begun
    other.progress_until([&] { return made != nullptr; }, "no endpoint was made");
  }
  side.channel.barrier([&] { iface.progress(); });
  if (made != nullptr) uct_ep_destroy(made);
  finish(side, iface);
}

// Beside an interface that only the program's thread may use, as UCP's handlers would use it too.
void beside_unguarded(Side& side) {
  if (side.options.transport.front() != 'v' || getenv("UCX_VERITY_PROGRESS_THREAD") != nullptr)
    throw Skip("needs a wrapper whose interfaces have no threads");
  constexpr uint64_t kMessages = 30;
  Iface iface(side.options);
  need_async_and_two(side, iface);
  Options unguarded;
  unguarded.transport = "vself";
  Iface other(unguarded, iface);
  Inbound in(iface, kId, middling, UCT_CB_FLAG_ASYNC);
  std::atomic<bool> elsewhere = false;
  in.on_message = [&, own = std::this_thread::get_id()](uint8_t*, size_t, unsigned, uint64_t) {
    if (std::this_thread::get_id() != own) elsewhere = true;
    return UCS_OK;
  };
  Endpoints eps(iface, side.channel, 1);
  Outbound out(iface, eps[0], kId, middling);
  connect(side, iface, in, out);
  if (side.role == 0) {
    for (uint64_t i = 0; i < kMessages; ++i) out.send(Kind::kBcopy);
  } else {
    ::usleep(20'000);
    in.expect(kMessages + 1);
    require(!elsewhere, "a handler ran in UCX's thread");
  }
  finish(side, iface);
}

// The interface of role 0 closes while it is armed and has a message under way. UCP's callback is
// not to be called any more then: not for what comes while the interface closes, nor for what that
// answers. The lower transport may have done so once.
void close_armed(Side& side, bool answers) {
  constexpr unsigned kMost = 2;
  constexpr int kMessages = 20;
  Iface other(side.options);  // its worker and UCX's thread go on
  std::atomic<unsigned> events = 0;
  Options options = side.options;
  options.event_arg = &events;
  options.event_cb = [](void* arg, unsigned) { ++*static_cast<std::atomic<unsigned>*>(arg); };
  Iface iface(options, other);
  need_async_and_two(side, iface);
  if ((iface.attr().cap.event_flags & UCT_IFACE_FLAG_EVENT_ASYNC_CB) == 0)
    throw Skip("no callback wakes a process");
  if (answers) need(iface, UCT_IFACE_FLAG_GET_BCOPY, side);
  Inbound in(iface, kId, middling);
  Inbound in_async(iface, kId + 1, middling, UCT_CB_FLAG_ASYNC);
  {
    Window window(iface, side.channel, 4096);
    Endpoints eps(iface, side.channel, 1);
    Outbound out(iface, eps[0], kId, middling);
    Outbound out_async(iface, eps[0], kId + 1, middling);
    connect(side, iface, in, out);
    side.channel.barrier({});
    if (side.role == 0) {
      (void)out.try_send(Kind::kBcopy);
    } else {
      for (int i = 0; i < kMessages; ++i, ::usleep(5000)) {
        if (answers) {
          const auto unpack = [](void*, const void*, size_t) {};
          (void)uct_ep_get_bcopy(eps[0], unpack, nullptr, 64, window.remote(0), window.key(),
                                 nullptr);
        } else {
          (void)out_async.try_send(Kind::kBcopy);
        }
      }
    }
  }
  if (side.role == 0) {
    iface.progress_until(
        [&] { return uct_iface_event_arm(iface.handle(), UCT_EVENT_RECV) == UCS_OK; }, "arming");
    events = 0;
    iface.close();
    ::usleep(200'000);
    require(events <= kMost, std::to_string(events) + " events of an interface that was closed");
  }
  side.channel.barrier({});
}

constexpr Case kCases[] = {
    {"asynchronous handlers without progress", without_progress},
    {"asynchronous and synchronous handlers, both ways", two_classes},
    {"asynchronous here, synchronous there", handlers_differ},
    {"closing while asynchronous messages come", close_under_fire},
    {"handlers in mode signal interrupt nothing", not_interrupted},
    {"an asynchronous handler connects beside another worker", connect_in_handler},
    {"asynchronous handlers beside an interface without a guard", beside_unguarded},
    {"asynchronous messages while an armed interface closes",
     [](Side& side) { close_armed(side, false); }},
    {"answers while an armed interface closes", [](Side& side) { close_armed(side, true); }},
};

}  // namespace

std::span<const Case> async_cases() { return kCases; }

}  // namespace verity::test
