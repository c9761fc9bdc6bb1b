// SPDX-License-Identifier: BSD-3-Clause
//
// Remote memory access: what a fence keeps in order.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "../window.h"

namespace verity::test {

namespace {

constexpr uint8_t kId = 6;

// A get behind a fence sees the put before it.
void fence_orders_gets(Side& side) {
  Iface iface(side.options);
  need(iface, UCT_IFACE_FLAG_PUT_SHORT | UCT_IFACE_FLAG_GET_BCOPY, side);
  Endpoints eps(iface, side.channel, 1);
  Window window(iface, side.channel, 4096);
  const size_t longest =
      std::min({iface.attr().cap.put.max_short, iface.attr().cap.get.max_bcopy, size_t{1000}});
  for (uint64_t i = 1; i <= 5 * static_cast<uint64_t>(side.rounds); ++i) {
    const size_t length = 1 + dice(4, i) % longest;
    Bytes content(length);
    fill(content.data(), length, kPattern, i);
    put(iface, eps[0], window, 100, content, true);
    check(i % 2 == 0 ? uct_iface_fence(iface.handle(), 0) : uct_ep_fence(eps[0], 0), "fence");
    Get get;
    get.content.resize(length);
    unsigned open = 0;
    uct_completion_t* completion = get.start(&open);
    const ucs_status_t status = post(iface, "get_bcopy", [&] {
      return uct_ep_get_bcopy(eps[0], Get::unpack, &get, length, window.remote(100), window.key(),
                              completion);
    });
    if (status == UCS_OK) Get::done(completion);
    iface.progress_until([&] { return open == 0; }, "a get behind a fence");
    require(get.content == content, "a get behind a fence brought what was there before the put");
  }
  iface.flush(eps[0]);
  finish(side, iface);
}

// Polling: data, a fence, a flag behind it. Who sees the flag takes the data out of the mailbox,
// and spoils it at once, long before any check of a write made after the fact could come.
void mailboxes(Side& side) {
  Iface iface(side.options);
  need(iface, UCT_IFACE_FLAG_PUT_SHORT | UCT_IFACE_FLAG_PUT_BCOPY, side);
  if (side.channel.alone()) throw Skip("needs a peer");
  constexpr size_t kFlag = 8192;
  const size_t longest = std::min<size_t>(iface.attr().cap.put.max_bcopy, kFlag);
  Endpoints eps(iface, side.channel, 1);
  Window window(iface, side.channel, kFlag + 8);
  std::memset(window.at(kFlag), 0, 8);
  side.channel.barrier([&] { iface.progress(); });
  const auto length_of = [&](uint64_t i) { return dice(31, i) % (longest + 1); };
  const auto flag = [&] {
    uint64_t value;
    std::memcpy(&value, const_cast<const uint8_t*>(window.at(kFlag)), sizeof(value));
    return value;
  };
  const auto send = [&](uint64_t i) {
    Bytes content(length_of(i));
    fill(content.data(), content.size(), kPattern, i);
    const bool is_short = i % 3 == 0 && content.size() <= iface.attr().cap.put.max_short;
    put(iface, eps[0], window, 0, content, is_short);
    check(i % 2 == 0 ? uct_iface_fence(iface.handle(), 0) : uct_ep_fence(eps[0], 0), "fence");
    Bytes number(8);
    std::memcpy(number.data(), &i, sizeof(i));
    put(iface, eps[0], window, kFlag, number, true);
  };
  const uint64_t count = 20 * static_cast<uint64_t>(side.rounds);
  for (uint64_t i = 1; i <= count; ++i) {
    if (side.role == 0) send(i);
    iface.progress_until([&] { return flag() == i; }, "a flag");
    require(first_wrong(window.at(0), length_of(i), kPattern, i) == length_of(i),
            "the flag came before the data");
    std::memset(window.at(0), 0xee, kFlag);
    if (side.role == 1) send(i);
  }
  iface.flush(eps[0]);
  finish(side, iface);
}

// A get, or an atomic operation, that found the window full, a fence, and a message behind it: the
// message is sent in the handler of the very message that brings room, and may not overtake. Who
// gets it spoils the memory at once.
void fence_orders_messages(Side& side) {
  if (side.options.transport.front() != 'v' || side.channel.alone())
    throw Skip("needs a wrapper and two processes");
  if (!in_mode_verify()) throw Skip("only in mode verify is there a window");
  setenv("UCX_VERITY_WINDOW", "8", 1);
  Iface iface(side.options);
  need(iface, UCT_IFACE_FLAG_GET_BCOPY | UCT_IFACE_FLAG_PENDING, side);
  const auto length_of = [](uint64_t) { return size_t{8}; };
  constexpr size_t kLength = 64;
  Inbound in(iface, kId, length_of);
  Inbound room(iface, kId + 1, length_of);
  Inbound behind(iface, kId + 2, length_of);
  Endpoints eps(iface, side.channel, 1);
  Window window(iface, side.channel, 4096);
  Outbound out(iface, eps[0], kId, length_of);
  Outbound answer(iface, eps[0], kId + 1, length_of);
  Outbound last(iface, eps[0], kId + 2, length_of);
  connect_idle(side, iface, eps[0], in, out);
  behind.on_message = [&](uint8_t*, size_t, unsigned, uint64_t) {
    std::memset(window.at(0), 0xee, 4096);
    return UCS_OK;
  };
  room.on_message = [&](uint8_t*, size_t, unsigned, uint64_t) {
    (void)last.try_send(Kind::kShort);
    return UCS_OK;
  };
  for (const bool by_interface : {false, true}) {
    Get get;
    unsigned open = 0;
    const uint64_t round = by_interface ? 2 : 1;
    if (side.role == 0) {
      while (out.try_send(Kind::kShort) == UCS_OK) {}
      get.content.resize(kLength);
      const ucs_status_t status = uct_ep_get_bcopy(
          eps[0], Get::unpack, &get, kLength, window.remote(0), window.key(), get.start(&open));
      require(status == UCS_INPROGRESS, "a get without room in the window is refused");
      check(by_interface ? uct_iface_fence(iface.handle(), 0) : uct_ep_fence(eps[0], 0), "fence");
    }
    side.channel.barrier({});
    if (side.role == 1) {
      for (const double until = seconds_now() + 0.05; seconds_now() < until;) iface.progress();
      answer.send(Kind::kShort);
    }
    side.channel.barrier({});
    if (side.role == 0) {
      iface.progress_until([&] { return room.count() == round && open == 0; }, "a get");
      verify(get, window_content(4096));
      if (last.count() != round) last.send(Kind::kShort);
    } else {
      behind.expect(round);
      fill(window.at(0), 4096, kPattern, 0);
    }
    side.channel.barrier([&] { iface.progress(); });
  }
  finish(side, iface);
}

// More is started all the time: a flush waits for what was started before it, and no longer.
void flush_while_starting(Side& side) {
  Iface iface(side.options);
  need(iface, UCT_IFACE_FLAG_PUT_BCOPY | UCT_IFACE_FLAG_GET_BCOPY, side);
  const auto& cap = iface.attr().cap;
  const size_t length = std::min({cap.put.max_bcopy, cap.get.max_bcopy, size_t{1000}});
  Endpoints eps(iface, side.channel, 1);
  Window window(iface, side.channel, 2 * length);
  const Bytes content = window_content(2 * length);
  std::vector<Get> gets(16);  // some are open at any time
  unsigned open = 0;
  const auto get_some = [&] {
    for (Get& get : gets) {
      if (get.open != nullptr && get.status == UCS_INPROGRESS) continue;
      get.content.resize(length);
      get.offset = length;
      get.status = UCS_INPROGRESS;
      uct_completion_t* completion = get.start(&open);
      const ucs_status_t status = uct_ep_get_bcopy(
          eps[0], Get::unpack, &get, length, window.remote(get.offset), window.key(), completion);
      if (status == UCS_INPROGRESS) continue;
      completion->status = status;
      Get::done(completion);
      if (status == UCS_ERR_NO_RESOURCE) return;
      check(status, "get_bcopy");
    }
  };
  const auto put_some = [&] {
    for (int i = 0; i < 20; ++i) put(iface, eps[0], window, 0, Bytes(length), false);
  };
  for (const bool puts : {true, false}) {
    const auto start_some = [&] { puts ? put_some() : get_some(); };
    if (side.role == 0) {
      start_some();
      Flushed& flushed = *new Flushed;  // left behind when the check fails
      const ucs_status_t status = uct_ep_flush(eps[0], UCT_FLUSH_FLAG_LOCAL, &flushed.completion);
      const double until = seconds_now() + 20;
      while (status == UCS_INPROGRESS && !flushed.done) {
        require(seconds_now() < until,
                std::string("a flush waits for later ") + (puts ? "puts" : "gets"));
        start_some();
        iface.progress();
      }
      delete &flushed;
      iface.progress_until([&] { return open == 0; }, "gets");
    }
    side.channel.barrier([&] { iface.progress(); });
  }
  for (Get& get : gets) {
    if (get.open != nullptr && get.status == UCS_OK) verify(get, content);
  }
  finish(side, iface);
}

// A put that waits in the queue of an endpoint, and goes on over another one when it is tried
// again, as UCP's do that are cut for several lanes.
struct WaitingPut : uct_pending_req_t {
  uct_ep_h ep = nullptr;
  uct_rkey_t key = 0;
  uct_ep_h next_ep = nullptr;  // where it goes on; nullptr: nowhere
  uct_rkey_t next_key = 0;
  uint64_t address = 0;
  uint8_t value = 0;
  bool done = false;

  ucs_status_t start() {
    const ucs_status_t status = uct_ep_put_short(ep, &value, 1, address, key);
    done = status == UCS_OK;
    return status;
  }
  static ucs_status_t again(uct_pending_req_t* self) {
    auto& put = static_cast<WaitingPut&>(*self);
    if (put.next_ep == nullptr) return put.start();
    put.ep = std::exchange(put.next_ep, nullptr);
    put.key = put.next_key;
    while (put.start() == UCS_ERR_NO_RESOURCE && uct_ep_pending_add(put.ep, self, 0) != UCS_OK) {}
    return UCS_OK;
  }
};

// A put without room, a fence, and a put to the same byte over another interface of the worker,
// which waits for the first one. That goes on over the other interface, too, and is still before
// the fence.
void changes_lanes_before_fence(Side& side) {
  need_wrapper_and_two(side);
  if (!side.options.transport.ends_with("posix")) throw Skip("done with posix and tcp");
  if (!in_mode_verify()) throw Skip("only in mode verify is there a window");
  setenv("UCX_VERITY_WINDOW", "8", 1);
  constexpr size_t kLength = 4096;
  Options options = side.options;
  options.transport.replace(options.transport.find("posix"), 5, "tcp");
  options.device.clear();
  Iface iface(side.options);
  Iface other(options, iface);
  need(iface, UCT_IFACE_FLAG_PUT_SHORT | UCT_IFACE_FLAG_PENDING, side);
  const auto length_of = [](uint64_t) { return size_t{8}; };
  Inbound in(iface, kId, length_of);
  Inbound in_other(other, kId, length_of);
  Endpoints eps(iface, side.channel, 1);
  Endpoints other_eps(other, side.channel, 1);
  Window window(iface, side.channel, kLength);
  SharedWindow shared(other, side.channel, window, kLength);
  Outbound out(iface, eps[0], kId, length_of);
  Outbound out_other(other, other_eps[0], kId, length_of);
  connect_idle(side, iface, eps[0], in, out);
  connect_idle(side, other, other_eps[0], in_other, out_other);
  WaitingPut puts[2];
  if (side.role == 0) {
    while (out.try_send(Kind::kShort) == UCS_OK) {}
    for (WaitingPut& put : puts) {
      put.func = WaitingPut::again;
      put.ep = other_eps[0];
      put.key = shared.key();
      put.address = window.remote(0);
    }
    puts[0].next_ep = std::exchange(puts[0].ep, eps[0]);
    puts[0].next_key = std::exchange(puts[0].key, window.key());
    puts[0].value = 1;
    puts[1].value = 2;
    for (WaitingPut& put : puts) {
      require(put.start() == UCS_ERR_NO_RESOURCE, "a put did not wait");
      check(uct_ep_pending_add(put.ep, &put, 0), "uct_ep_pending_add");
      check(uct_iface_fence(iface.handle(), 0), "uct_iface_fence");
      check(uct_iface_fence(other.handle(), 0), "uct_iface_fence");
    }
  }
  side.channel.barrier({});
  if (side.role == 0) {
    iface.progress_until([&] { return puts[0].done && puts[1].done; }, "the puts");
    other.flush(other_eps[0]);
  }
  side.channel.barrier([&] { iface.progress(); });
  require(side.role == 0 || *window.at(0) == 2, "a put behind a fence came before the other one");
  finish(side, iface);
}

// A get that the completion of a put, or of a flush, starts, behind a fence. It waits where there
// is no room.
struct CompletedPut : WaitingPut {
  struct WaitingGet : uct_pending_req_t {
    Get get;
    CompletedPut* put = nullptr;
  } next;
  uint64_t next_address = 0;
  unsigned open = 1;  // gets that are not over
  bool flushes = false;

  ucs_status_t begin() {
    if (!flushes) return start();
    return uct_ep_flush(ep, 0, nullptr) == UCS_OK ? UCS_OK : UCS_ERR_NO_RESOURCE;
  }
  static ucs_status_t get(uct_pending_req_t* self) {
    CompletedPut& put = *static_cast<WaitingGet*>(self)->put;
    Get& get = put.next.get;
    return uct_ep_get_bcopy(put.ep, Get::unpack, &get, 1, put.next_address, put.key,
                            &get.completion);
  }
  static ucs_status_t get_waits(uct_pending_req_t* self) {
    const ucs_status_t status = get(self);
    return status == UCS_INPROGRESS ? UCS_OK : status;
  }
  static ucs_status_t again(uct_pending_req_t* self) {
    auto& put = static_cast<CompletedPut&>(*self);
    const ucs_status_t status = put.begin();
    if (status != UCS_OK) return status;
    put.next.put = &put;
    put.next.func = get_waits;
    put.next.get.content.resize(1);
    put.open = 0;
    (void)put.next.get.start(&put.open);
    while (get(&put.next) == UCS_ERR_NO_RESOURCE &&
           uct_ep_pending_add(put.ep, &put.next, 0) != UCS_OK) {}
    return UCS_OK;
  }
};

// Two puts without room, or a flush and a put, and a fence. The first one's completion, when its
// turn has come at last, starts a get of what the second one writes, which still waits.
void completion_is_behind_fence(Side& side, bool flushes) {
  need_wrapper_and_two(side);
  if (!in_mode_verify()) throw Skip("only in mode verify is there a window");
  setenv("UCX_VERITY_WINDOW", "8", 1);
  Iface iface(side.options);
  need(iface, UCT_IFACE_FLAG_PUT_SHORT | UCT_IFACE_FLAG_PENDING, side);
  const auto length_of = [](uint64_t) { return size_t{8}; };
  Inbound in(iface, kId, length_of);
  Endpoints eps(iface, side.channel, 1);
  Window window(iface, side.channel, 4096);
  Outbound out(iface, eps[0], kId, length_of);
  connect_idle(side, iface, eps[0], in, out);
  CompletedPut first;
  first.flushes = flushes;
  WaitingPut second;
  if (side.role == 0) {
    while (out.try_send(Kind::kShort) == UCS_OK) {}
    for (WaitingPut* put : {static_cast<WaitingPut*>(&first), &second}) {
      put->func = put == &first ? CompletedPut::again : WaitingPut::again;
      put->ep = eps[0];
      put->key = window.key();
      put->address = window.remote(put == &first ? 0 : 1);
      put->value = 1;
      const bool waits = (put == &first ? first.begin() : put->start()) == UCS_ERR_NO_RESOURCE;
      require(waits, "a put, or a flush, did not wait");
      check(uct_ep_pending_add(put->ep, put, 0), "uct_ep_pending_add");
    }
    first.next_address = second.address;
    check(uct_iface_fence(iface.handle(), 0), "uct_iface_fence");
  }
  side.channel.barrier({});
  if (side.role == 0) {
    iface.progress_until([&] { return second.done && first.open == 0; }, "the puts and the get");
    require(first.next.get.content[0] == 1, "a get behind a fence overtook a put that waited");
    iface.flush(eps[0]);
  }
  side.channel.barrier([&] { iface.progress(); });
  finish(side, iface);
}

constexpr Case kCases[] = {
    {"rma: what a completion starts stays behind a fence",
     [](Side& side) { completion_is_behind_fence(side, false); }},
    {"rma: what the end of a flush starts stays behind what waits",
     [](Side& side) { completion_is_behind_fence(side, true); }},
    {"rma: a put that changes lanes stays before a fence", changes_lanes_before_fence},
    {"rma: mailboxes that are polled", mailboxes},
    {"rma: a fence orders gets behind puts", fence_orders_gets},
    {"rma: a fence orders messages behind gets that wait", fence_orders_messages},
    {"rma: a flush ends while more is started", flush_while_starting},
};

}  // namespace

std::span<const Case> rma_order_cases() { return kCases; }

}  // namespace verity::test
