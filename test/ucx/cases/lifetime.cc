// SPDX-License-Identifier: BSD-3-Clause
//
// Beginnings and ends: endpoints closed right after a send, sleeping on the event descriptor, and
// what a wrapper says of itself.
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "cases.h"

namespace verity::test {
namespace {

constexpr uint8_t kId = 9;

size_t small(uint64_t i) { return static_cast<size_t>(dice(10, i) % 1000); }

// Endpoints destroyed as soon as their flush is done: what they sent arrives.
void endpoint_destroyed(Side& side) {
  constexpr size_t kCount = 24;
  constexpr uint64_t kEach = 20;
  Iface iface(side.options);
  skip_if_pairs(iface);
  std::vector<std::unique_ptr<Inbound>> in;
  for (size_t i = 0; i < kCount; ++i) {
    in.push_back(std::make_unique<Inbound>(iface, static_cast<uint8_t>(i), small));
  }
  Endpoints eps(iface, side.channel, kCount);
  for (size_t i = 0; i < kCount; ++i) {
    Outbound out(iface, eps[i], static_cast<uint8_t>(i), small);
    for (uint64_t j = 0; j < kEach; ++j) { out.send(Kind::kBcopy); }
    iface.flush(eps[i]);
    eps.destroy(i);
  }
  for (auto& flow : in) { flow->expect(kEach); }
  finish(side, iface);
}

// Destroyed without a flush, or after a cancelling one: what arrives is right, nothing more is
// promised.
void endpoint_dropped(Side& side) {
  constexpr size_t kCount = 12;
  Iface iface(side.options);
  skip_if_pairs(iface);
  std::vector<std::unique_ptr<Inbound>> in;
  for (size_t i = 0; i < kCount; ++i) {
    in.push_back(std::make_unique<Inbound>(iface, static_cast<uint8_t>(i), small));
  }
  Endpoints eps(iface, side.channel, kCount);
  for (size_t i = 0; i < kCount; ++i) {
    Outbound out(iface, eps[i], static_cast<uint8_t>(i), small);
    out.send(Kind::kBcopy);
    out.send(Kind::kBcopy);
    if (i % 2 == 1) {
      iface.progress_until(
          [&] {
            ucs_status_t status = uct_ep_flush(eps[i], UCT_FLUSH_FLAG_CANCEL, nullptr);
            return status != UCS_INPROGRESS && status != UCS_ERR_NO_RESOURCE;
          },
          "a cancelling flush");
    }
    eps.destroy(i);
  }
  side.channel.barrier([&] { iface.progress(); });
  for (auto& flow : in) { flow->verify(); }
}

// Interfaces opened and closed again and again, messages each time.
void reopen(Side& side) {
  for (int round = 0; round < 8; ++round) {
    Iface iface(side.options);
    Inbound in(iface, kId, small);
    Endpoints eps(iface, side.channel, 2);
    Outbound out(iface, eps[round % 2], kId, small);
    for (int i = 0; i < 50; ++i) { out.send(Kind::kBcopy); }
    in.expect(50);
    finish(side, iface);
  }
}

// Sleeps until the interface has events. Counts the times it really slept.
void sleep_for_event(Iface& iface, int fd, const Inbound& in, uint64_t wanted, unsigned& slept) {
  double limit = seconds_now() + 20;
  while (in.count() < wanted) {
    require(seconds_now() < limit, "asleep although a message is due");
    if (iface.progress() != 0) { continue; }
    ucs_status_t status = uct_iface_event_arm(iface.handle(), UCT_EVENT_RECV);
    if (status == UCS_ERR_BUSY) { continue; }
    check(status, "uct_iface_event_arm");
    pollfd waiting = {fd, POLLIN, 0};
    slept += ::poll(&waiting, 1, 2000) == 1;
  }
}

// us; long enough for the other side to fall asleep, on a busy machine too.
constexpr useconds_t kNap = 20000;

// Ping-pong of two processes that both sleep.
void asleep(Side& side) {
  Iface iface(side.options);
  constexpr uint64_t kNeeded = UCT_IFACE_FLAG_EVENT_FD | UCT_IFACE_FLAG_EVENT_RECV;
  if (side.channel.alone() || (iface.attr().cap.event_flags & kNeeded) != kNeeded) {
    throw Skip("needs two processes and an event descriptor");
  }
  int fd;
  check(uct_iface_event_fd_get(iface.handle(), &fd), "uct_iface_event_fd_get");
  Inbound in(iface, kId, small);
  Endpoints eps(iface, side.channel, 1);
  Outbound out(iface, eps[0], kId, small);
  out.send(Kind::kBcopy);
  in.expect(1);
  finish(side, iface);
  unsigned slept = 0;
  auto turns = 5 * static_cast<uint64_t>(side.rounds);
  for (uint64_t i = 1; i <= turns; ++i) {
    bool pause = i % 20 == 0;
    if (side.role == 0) {
      ::usleep(pause ? kNap : 0);
      out.send(Kind::kBcopy);
    }
    sleep_for_event(iface, fd, in, i + 1, slept);
    if (side.role == 1) {
      ::usleep(pause ? kNap : 0);
      out.send(Kind::kBcopy);
    }
  }
  in.verify();
  require(slept > 0, "never slept");
  finish(side, iface);
}

// A sender whose messages were not answered can still sleep: arming is not refused for ever.
void arm_unanswered(Side& side) {
  Iface iface(side.options);
  if ((iface.attr().cap.event_flags & UCT_IFACE_FLAG_EVENT_FD) == 0 || side.channel.alone()) {
    throw Skip("needs two processes and an event descriptor");
  }
  Inbound in(iface, kId, small);
  Endpoints eps(iface, side.channel, 1);
  Outbound out(iface, eps[0], kId, small);
  int fd;
  check(uct_iface_event_fd_get(iface.handle(), &fd), "uct_iface_event_fd_get");
  connect(side, iface, in, out);
  if (side.role == 0) {
    out.send(Kind::kBcopy);
    out.send(Kind::kBcopy);
    iface.progress_until(
        [&] {
          return iface.progress() == 0 &&
                 uct_iface_event_arm(iface.handle(), UCT_EVENT_RECV) == UCS_OK;
        },
        "arming with unanswered messages", 5);
  }
  side.channel.barrier({});
  in.expect(side.role == 1 ? 3 : 1);
  finish(side, iface);
}

// UCP leaves as much room for an address as the attributes say.
bool address_fits(const Iface& iface) {
  constexpr uint8_t kCanary = 0xc5;
  const size_t length = iface.attr().iface_addr_len;
  Bytes address(length + 128, kCanary);
  check(uct_iface_get_address(iface.handle(), reinterpret_cast<uct_iface_addr_t*>(address.data())),
        "uct_iface_get_address");
  return std::all_of(address.begin() + static_cast<ptrdiff_t>(length), address.end(),
                     [](uint8_t byte) { return byte == kCanary; });
}

// A wrapper does not offer what would pass unverified, and adds little to addresses.
void attributes(Side& side) {
  if (side.options.transport.front() != 'v') { throw Skip("not a wrapper"); }
  Iface wrapper(side.options);
  constexpr uint64_t kForbidden = UCT_IFACE_FLAG_PUT_ZCOPY | UCT_IFACE_FLAG_TAG_EAGER_SHORT |
                                  UCT_IFACE_FLAG_TAG_EAGER_BCOPY | UCT_IFACE_FLAG_TAG_EAGER_ZCOPY |
                                  UCT_IFACE_FLAG_TAG_RNDV_ZCOPY | UCT_IFACE_FLAG_GET_SHORT |
                                  UCT_IFACE_FLAG_ATOMIC_DEVICE;
  require(!wrapper.has(kForbidden), "offers what cannot be verified");
  require((wrapper.md_attr().cap.flags & UCT_MD_FLAG_RKEY_PTR) == 0, "offers rkey_ptr");
  require((wrapper.md_attr().cap.access_mem_types & ~UCS_BIT(UCS_MEMORY_TYPE_HOST)) == 0,
          "offers memory of devices");
  require(wrapper.has(UCT_IFACE_FLAG_AM_BCOPY), "no am_bcopy");
  require(wrapper.has(UCT_IFACE_FLAG_PENDING), "no pending queue");
  Options lower = side.options;
  lower.transport.erase(0, 1);
  Iface raw(lower);
  require(address_fits(wrapper) && address_fits(raw),
          "an address is longer than the attributes say");
  const bool to_iface = wrapper.has(UCT_IFACE_FLAG_CONNECT_TO_IFACE);
  const size_t tail = wrapper.attr().iface_addr_len - raw.attr().iface_addr_len;
  require(tail == (to_iface ? 20 : 0), "the interface address grew by " + std::to_string(tail));
  require(wrapper.attr().ep_addr_len == (to_iface ? 0 : raw.attr().ep_addr_len + 44),
          "an endpoint address of " + std::to_string(wrapper.attr().ep_addr_len) + " bytes");
  require(wrapper.attr().device_addr_len == raw.attr().device_addr_len, "another device address");
  require(wrapper.attr().cap.am.max_bcopy >= 1024, "max_bcopy too small for UCP");
}

// What a program sets in the configuration that it opens the interface with holds, as what it sets
// in the environment does.
void settings(Side& side) {
  Iface usual(side.options);
  Options larger = side.options;
  larger.settings = {
      {"TX_SEG_SIZE", "32k"}, {"RX_SEG_SIZE", "32k"}, {"SEG_SIZE", "32k"}, {"MM_SEG_SIZE", "32k"}};
  Iface iface(larger);
  const auto& before = usual.attr().cap.am;
  const auto& after = iface.attr().cap.am;
  // Where zero-copy messages are copied below, they are those that grow.
  require(after.max_bcopy > before.max_bcopy + 15000 || after.max_zcopy > before.max_zcopy + 15000,
          "max_bcopy " + std::to_string(before.max_bcopy) + ", with segments of 32k " +
              std::to_string(after.max_bcopy));
}

uint64_t uid_of(const Iface& iface) {
  std::vector<uint8_t> address(iface.attr().iface_addr_len);
  check(uct_iface_get_address(iface.handle(), reinterpret_cast<uct_iface_addr_t*>(address.data())),
        "uct_iface_get_address");
  uint64_t uid;
  constexpr size_t kBehind = 4;  // the release
  std::memcpy(&uid, address.data() + address.size() - kBehind - sizeof(uid), sizeof(uid));
  return uid;
}

// By their uids peers tell interfaces, and those of one worker from another's: its number is all
// but the low byte. One that has opened more interfaces than that can number is another one from
// then on, and still no two are the same.
void uids(Side& side) {
  if (side.options.transport.front() != 'v') { throw Skip("not a wrapper"); }
  constexpr unsigned kNumbered = 255;
  Iface first(side.options);
  skip_if_pairs(first);
  std::set<uint64_t> all{uid_of(first)};
  for (unsigned opened = 2; opened <= kNumbered + 2; ++opened) {
    Iface next(side.options, first);
    const uint64_t uid = uid_of(next);
    require(all.insert(uid).second, "a uid was used again");
    require((uid >> 8 == uid_of(first) >> 8) == (opened <= kNumbered),
            "interface " + std::to_string(opened) +
                " of the worker has another worker's number, or the same after all are used");
  }
  Iface other(side.options);
  require(std::none_of(all.begin(), all.end(),
                       [&](uint64_t uid) { return uid >> 8 == uid_of(other) >> 8; }),
          "two workers have one number");
}

constexpr Case kCases[] = {
    {"uids of interfaces and workers", uids},
    {"endpoints destroyed after a flush", endpoint_destroyed},
    {"endpoints destroyed with messages on their way", endpoint_dropped},
    {"interfaces opened again and again", reopen},
    {"both sides asleep", asleep},
    {"asleep with unanswered messages", arm_unanswered},
    {"what the wrapper offers", attributes},
    {"a program's own settings", settings},
};

}  // namespace

std::span<const Case> lifetime_cases() { return kCases; }

}  // namespace verity::test
