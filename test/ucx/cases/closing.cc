// SPDX-License-Identifier: BSD-3-Clause
//
// Interfaces that close: before their peer, behind it, and towards one that makes no progress.
#include <ucs/debug/log_def.h>
#include <unistd.h>

#include <algorithm>
#include <cstdarg>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "cases.h"

namespace verity::test {
namespace {

constexpr uint8_t kId = 9;

size_t small(uint64_t i) { return static_cast<size_t>(dice(10, i) % 1000); }

// One process sends, flushes and closes everything before the other looks.
void close_early(Side& side, int leaver) {
  if (side.channel.alone()) { throw Skip("needs two processes"); }
  constexpr uint64_t kMessages = 30;
  Iface iface(side.options);
  {
    Inbound in(iface, kId, small);
    Endpoints eps(iface, side.channel, 1);
    Outbound out(iface, eps[0], kId, small);
    connect(side, iface, in, out);
    if (side.role != leaver) {
      ::usleep(200'000);
      in.expect(kMessages + 1);
      side.channel.barrier({});
      return;
    }
    for (uint64_t i = 0; i < kMessages; ++i) { out.send(Kind::kBcopy); }
    iface.flush(eps[0]);
  }
  iface.close();
  side.channel.barrier({});
}

void close_first(Side& side) { close_early(side, 0); }
void close_second(Side& side) { close_early(side, 1); }

unsigned complaints = 0;

ucs_log_func_rc_t count_complaint(const char*, unsigned, const char*, ucs_log_level_t level,
                                  const ucs_log_component_config_t*, const char*, va_list) {
  complaints += level <= UCS_LOG_LEVEL_WARN;
  return UCS_LOG_FUNC_RC_CONTINUE;
}

// The peer closes while endpoints still connect to it. Who closes behind it has nothing to complain
// of, and does not wait for it.
void close_towards_nobody(Side& side) {
  if (side.channel.alone()) throw Skip("needs two processes");
  Iface iface(side.options);
  skip_if_pairs(iface);
  const Iface::Address peer = iface.exchange_addresses(side.channel);
  std::vector<uct_ep_h> eps;
  for (int i = 0; i < 5 && side.role == 0; ++i) eps.push_back(iface.connect_to_iface(peer));
  side.channel.barrier({});
  if (side.role == 1) iface.close();
  side.channel.barrier({});
  for (uct_ep_h ep : eps) uct_ep_destroy(ep);
  ucs_log_push_handler(count_complaint);
  const double began = seconds_now();
  iface.close();
  ucs_log_pop_handler();
  require(complaints == 0, std::to_string(complaints) + " complaints while closing");
  require(seconds_now() - began < 5, "closing takes long");
}

// The peer ends without a word, with a message for it on the way. Looking for it is nothing to
// complain of, though over shared memory a probe needs a buffer of the peer's that cannot be mapped
// any more: with few to a segment (UCX_POSIX_RX_BUFS_GROW) it is not one that was mapped before.
void probe_nobody(Side& side) {
  if (side.channel.alone()) throw Skip("needs two processes");
  if (!side.options.transport.ends_with("posix") && !side.options.transport.ends_with("sysv"))
    throw Skip("not over shared memory");
  constexpr uint64_t kMessages = 40;
  constexpr double kProbed = 2;  // s, long behind the first probe
  const auto length = [](uint64_t) { return size_t{16}; };
  Iface iface(side.options);
  Inbound in(iface, kId, length);
  Endpoints eps(iface, side.channel, 1);
  Outbound out(iface, eps[0], kId, length);
  connect(side, iface, in, out);
  for (uint64_t i = 0; i < kMessages; ++i) out.send(Kind::kShort);
  in.expect(kMessages + 1);
  side.channel.barrier([&] { iface.progress(); });
  if (side.role == 1) ::_exit(0);
  ::usleep(300'000);
  ucs_log_push_handler(count_complaint);
  (void)out.try_send(Kind::kShort);
  for (const double until = seconds_now() + kProbed; seconds_now() < until;) iface.progress();
  ucs_log_pop_handler();
  require(complaints == 0, std::to_string(complaints) + " complaints about a peer that ended");
}

// The peer has destroyed its endpoint when its process ends without a BYE, and all is received
// on both sides: a flush has nothing to report, whether the end was noticed before it or not.
void end_without_bye(Side& side) {
  constexpr uint64_t kMessages = 40;
  constexpr double kNoticed = 1;  // s; tcp reports the end
  if (side.channel.alone()) throw Skip("needs two processes");
  if (side.options.transport.front() != 'v') throw Skip("only the wrapper");
  if (!in_mode_verify()) throw Skip("only in mode verify is the endpoint's end announced");
  Iface iface(side.options);
  skip_if_pairs(iface);
  Inbound in(iface, kId, small);
  Endpoints eps(iface, side.channel, 1);
  Outbound out(iface, eps[0], kId, small);
  connect(side, iface, in, out);
  for (uint64_t i = 0; i < kMessages; ++i) out.send(Kind::kBcopy);
  in.expect(kMessages + 1);
  iface.flush(eps[0]);
  side.channel.barrier([&] { iface.progress(); });
  if (side.role == 1) eps.destroy(0);
  side.channel.barrier([&] { iface.progress(); });
  if (side.role == 1) ::_exit(0);
  ucs_log_push_handler(count_complaint);
  const double until = seconds_now() + kNoticed;
  while (iface.errors() == 0 && seconds_now() < until) iface.progress();
  ucs_status_t status = UCS_INPROGRESS;
  iface.progress_until(
      [&] { return (status = uct_ep_flush(eps[0], 0, nullptr)) != UCS_INPROGRESS; }, "a flush");
  ucs_log_pop_handler();
  require(status == UCS_OK, std::string("uct_ep_flush: ") + ucs_status_string(status));
  require(complaints == 0, std::to_string(complaints) + " complaints about a peer that ended");
}

// Time that passes, but for that in which this thread could run and other processes had the
// processor: by Linux's account, where there is one.
double own_seconds_now() {
  uint64_t ran = 0, waited = 0;  // ns
  std::ifstream("/proc/thread-self/schedstat") >> ran >> waited;
  return seconds_now() - static_cast<double>(waited) * 1e-9;
}

// A sender that closes while its receiver is another worker of the same thread: the receiver cannot
// acknowledge by its own progress, and the sender does not wait in vain for that.
void close_towards_sibling(Side& side) {
  constexpr int kTimes = 6;
  constexpr uint64_t kEach = 20;  // fit the receiver's queue, of which half may not be free again
  constexpr double kInVain = 0.125;  // s, an eighth of UCX_VERITY_LINGER
  if (side.role == 1) return;
  Iface receiver(side.options);
  skip_if_pairs(receiver);
  Channel alone(-1);
  const Iface::Address address = receiver.exchange_addresses(alone);
  receiver.progress();
  std::vector<double> took;
  ucs_log_push_handler(count_complaint);
  for (int i = 0; i < kTimes; ++i) {
    Inbound in(receiver, kId, small);
    Iface sender(side.options);
    if (!sender.is_reachable(address)) throw Skip("workers do not reach each other");
    uct_ep_h ep = sender.connect_to_iface(address);
    Outbound out(sender, ep, kId, small);
    sender.progress_until(
        [&] {
          receiver.progress();  // tcp connects with its help
          return out.try_send(Kind::kBcopy) == UCS_OK;
        },
        "a first message");
    while (out.count() < kEach) out.send(Kind::kBcopy);
    uct_ep_destroy(ep);
    const double began = own_seconds_now();
    sender.close();
    took.push_back(own_seconds_now() - began);
    in.expect(kEach);
    for (int reads = 0; reads < 20; ++reads) receiver.progress();  // probes, and the BYE
  }
  ucs_log_pop_handler();
  const double quickest = *std::min_element(took.begin(), took.end());
  require(quickest < kInVain / 2, "closing takes " + std::to_string(quickest) + " s at least");
  require(complaints == 0, std::to_string(complaints) + " complaints");
}

// A process that has made no progress receives messages of an interface that has closed since, and
// another one may have its address. Nobody complains: neither for answers that have nowhere to go,
// nor for those that reach the other interface.
void late_answers(Side& side) {
  constexpr uint64_t kEach = 30;
  if (side.channel.alone()) throw Skip("needs two processes");
  Iface iface(side.options);
  skip_if_pairs(iface);
  const Iface::Address peer = iface.exchange_addresses(side.channel);
  if (side.role == 0) {
    uct_ep_h ep = iface.connect_to_iface(peer);
    const double until = seconds_now() + 0.1;
    iface.progress_until([&] { return seconds_now() > until; }, "a connection");
    side.channel.barrier([&] { iface.progress(); });
    Outbound out(iface, ep, kId, small);
    while (out.count() < kEach) out.send(Kind::kBcopy);
    uct_ep_destroy(ep);
    iface.close();
    Iface next(side.options);
    side.channel.barrier({});
    return side.channel.barrier([&] { next.progress(); });
  }
  Inbound in(iface, kId, small);
  side.channel.barrier([&] { iface.progress(); });
  side.channel.barrier({});
  ucs_log_push_handler(count_complaint);
  in.expect(kEach);
  const double until = seconds_now() + 0.1;
  iface.progress_until([&] { return seconds_now() > until; }, "answers");
  ucs_log_pop_handler();
  require(complaints == 0, std::to_string(complaints) + " complaints");
  side.channel.barrier([&] { iface.progress(); });
}

// Progresses the worker in the handler of its first message, and uses what is freed meanwhile.
struct Nested {
  Iface& iface;
  unsigned calls = 0;
  std::vector<std::vector<uint64_t>> reused;
  static ucs_status_t handle(void* arg, void*, size_t, unsigned) {
    constexpr uint64_t kNoPointer = 0xa5;
    auto& self = *static_cast<Nested*>(arg);
    if (++self.calls != 1) return UCS_OK;
    for (const double until = seconds_now() + 0.5; seconds_now() < until;) self.iface.progress();
    for (size_t words = 32; words < 256; ++words) self.reused.emplace_back(words, kNoPointer);
    return UCS_OK;
  }
};

// The peer closes while the handler of its message makes progress: the link, which no endpoint
// uses, is there when the handler returns. UCX's tcp itself does not survive a connection that ends
// in a handler.
void close_in_handler(Side& side) {
  if (side.channel.alone()) throw Skip("needs two processes");
  if (side.options.transport.front() != 'v') throw Skip("only the wrapper");
  if (!side.options.transport.ends_with("posix") && !side.options.transport.ends_with("sysv"))
    throw Skip("only over shared memory");
  if (in_mode_off()) throw Skip("progress in a handler brings its message again, as in stock UCX");
  Iface iface(side.options);
  const Iface::Address peer = iface.exchange_addresses(side.channel);
  Nested nested{iface, 0, {}};
  check(uct_iface_set_am_handler(iface.handle(), kId, Nested::handle, &nested, 0),
        "uct_iface_set_am_handler");
  side.channel.barrier([&] { iface.progress(); });
  if (side.role == 0) {
    uct_ep_h ep = iface.connect_to_iface(peer);
    check(uct_ep_am_short(ep, kId, 0, nullptr, 0), "uct_ep_am_short");
    uct_ep_destroy(ep);
    iface.close();
  } else {
    iface.progress_until([&] { return nested.calls != 0; }, "a message");
    require(nested.calls == 1, "a message came twice");
  }
  side.channel.barrier({});
}

// The same again and again, with answers that come while the next interface is being made: a peer
// that naps is not waited for, and finds no BYE where its queue was full. What it sends then to an
// interface that closed would end it, or block the next one's queue.
void answers_while_made(Side& side) {
  constexpr int kTimes = 300;
  constexpr uint64_t kFew = 5;
  constexpr uint64_t kMany = 300;
  constexpr useconds_t kNap = 3000;
  if (side.channel.alone()) throw Skip("needs two processes");
  if (side.options.transport.front() != 'v') throw Skip("only the wrapper");
  setenv("UCX_VERITY_LINGER", "8ms", 0);
  if (side.role == 0) {
    Iface::Address peer;
    {
      Iface iface(side.options);
      skip_if_pairs(iface);
      peer = iface.exchange_addresses(side.channel);
    }
    for (int i = 0; i < kTimes; ++i) {
      Iface iface(side.options);
      uct_ep_h ep = iface.connect_to_iface(peer);
      Outbound out(iface, ep, kId, small);
      const bool waits = i % 2 == 1;
      const uint64_t most = i % 4 == 2 ? kMany : kFew;
      while (waits && out.count() < most) out.send(Kind::kBcopy);
      while (out.count() < most && out.try_send(Kind::kBcopy) == UCS_OK) {}
      if (waits) iface.flush(ep, 10);
      uct_ep_destroy(ep);
    }
    return side.channel.barrier({});
  }
  Iface iface(side.options);
  skip_if_pairs(iface);
  (void)iface.exchange_addresses(side.channel);
  const auto handler = [](void*, void*, size_t, unsigned) { return UCS_OK; };
  check(uct_iface_set_am_handler(iface.handle(), kId, handler, nullptr, 0),
        "uct_iface_set_am_handler");
  uint64_t naps = 0;
  side.channel.barrier([&] {
    ::usleep(static_cast<useconds_t>(dice(77, ++naps)) % kNap);
    for (int i = 0; i < 50; ++i) iface.progress();
  });
}

// Open descriptors of /dev/null.
size_t null_descriptors() {
  size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;  // that of the listing itself
    count += std::filesystem::read_symlink(entry.path(), gone) == "/dev/null";
  }
  return count;
}

// An interface that has nothing under way closes, and its BYE finds the peer's queue full of
// another interface's messages: a peer that computes does not know of it, and may look later for
// buffers by their descriptors, which another file must not have then.
void bye_finds_no_room(Side& side) {
  need_wrapper_and_two(side);
  if (side.options.transport != "vposix")
    throw Skip("only posix names descriptors, and a peer that is served by a thread has room");
  if (!in_mode_verify()) throw Skip("only in mode verify is there a BYE to each peer");
  const auto length = [](uint64_t) { return size_t{8}; };
  Iface filler(side.options);
  Iface iface(side.options);
  skip_if_pairs(iface);
  Inbound in(iface, kId, length);
  const Iface::Address peer = iface.exchange_addresses(side.channel);
  uct_ep_h ep = iface.connect_to_iface(peer);
  Outbound out(iface, ep, kId, length);
  connect_idle(side, iface, ep, in, out);
  if (side.role == 0) {
    uct_ep_destroy(ep);
    uct_ep_h other = filler.connect_to_iface(peer);
    Outbound full(filler, other, kId + 1, length);
    while (full.try_send(Kind::kShort) == UCS_OK) {}
    const size_t before = null_descriptors();
    iface.close();
    require(null_descriptors() > before, "a peer without a BYE is forgotten");
    uct_ep_destroy(other);
    side.channel.barrier({});
    return;
  }
  const auto handler = [](void*, void*, size_t, unsigned) { return UCS_OK; };
  check(uct_iface_set_am_handler(iface.handle(), kId + 1, handler, nullptr, 0),
        "uct_iface_set_am_handler");
  side.channel.barrier({});
  for (int i = 0; i < 1000; ++i) iface.progress();
  uct_ep_destroy(ep);
}

constexpr Case kCases[] = {
    {"the first process leaves early", close_first},
    {"the second process leaves early", close_second},
    {"closing when the peer is gone", close_towards_nobody},
    {"looking for a peer that ended", probe_nobody},
    {"flush towards a peer that ended without a BYE", end_without_bye},
    {"closing towards a worker of the same thread", close_towards_sibling},
    {"late answers to an interface that closed", late_answers},
    {"late answers while the next interface is made", answers_while_made},
    {"closing with a BYE that finds no room", bye_finds_no_room},
    {"closing while the peer handles a message", close_in_handler},
};

}  // namespace

std::span<const Case> closing_cases() { return kCases; }

}  // namespace verity::test
