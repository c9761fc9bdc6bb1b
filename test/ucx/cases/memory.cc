// SPDX-License-Identifier: BSD-3-Clause
//
// Registered memory: keys that are no longer good, and memory that is taken away.
#include <algorithm>

#include "../window.h"

namespace verity::test {

namespace {

// A get of 64 bytes that the owner refuses.
void get_ends_with(ucs_status_t expected, Iface& iface, uct_ep_h ep, const Window& window,
                   size_t offset) {
  Get get;
  get.content.resize(64);
  unsigned open = 0;
  uct_completion_t* completion = get.start(&open);
  post(iface, "get_bcopy", [&] {
    return uct_ep_get_bcopy(ep, Get::unpack, &get, 64, window.remote(offset), window.key(),
                            completion);
  });
  iface.progress_until([&] { return open == 0; }, "a get that is refused");
  require(get.status == expected,
          std::string("a get that is refused ended with: ") + ucs_status_string(get.status));
}

ucs_status_t flush_status(Iface& iface, uct_ep_h ep) {
  ucs_status_t status = UCS_INPROGRESS;
  iface.progress_until(
      [&] {
        status = uct_ep_flush(ep, UCT_FLUSH_FLAG_LOCAL, nullptr);
        return status != UCS_INPROGRESS && status != UCS_ERR_NO_RESOURCE;
      },
      "a flush");
  return status;
}

// What was deregistered is neither read nor written, and the owner lives. So does the link: the
// next flush says that a write is lost, and the one after it that all that came since is there.
void dead_keys_are_refused(Side& side) {
  Iface iface(side.options);
  need(iface, UCT_IFACE_FLAG_PUT_SHORT | UCT_IFACE_FLAG_GET_BCOPY, side);
  if (side.options.transport.front() != 'v') throw Skip("stock UCX leaves that to the program");
  if (side.channel.alone()) throw Skip("needs a peer");
  Endpoints eps(iface, side.channel, 1);
  Window window(iface, side.channel, 4096);
  window.deregister();
  side.channel.barrier([] {});
  if (side.role == 0) {
    get_ends_with(UCS_ERR_REJECTED, iface, eps[0], window, 0);
    put(iface, eps[0], window, 0, Bytes(64, 0xee), true);
    require(flush_status(iface, eps[0]) == UCS_ERR_REJECTED, "no word that a put was refused");
    require(flush_status(iface, eps[0]) == UCS_OK, "a flush with nothing lost since");
    require(iface.errors() == 0, "the endpoint failed for a put to memory that its owner gave up");
  }
  side.channel.barrier([&] { iface.progress(); });
  require(first_wrong(window.at(0), 4096, kPattern, 0) == 4096, "deregistered memory was written");
}

// A flush says what became of a put whose owner's interface closes, and which another interface's
// memory is for: it is there, or the flush fails. `unread`: the put came before the interface
// closed, and was not read until then; else it comes behind that.
void put_to_one_that_closes(Side& side, bool unread) {
  need_wrapper_and_two(side);
  if (!in_mode_verify()) throw Skip("only in mode verify are there puts");
  constexpr size_t kLength = 64;
  constexpr uint8_t kId = 8;
  const auto length_of = [](uint64_t) { return size_t{8}; };
  const Bytes content(kLength, 0xee);
  Iface keeper(side.options);
  Iface iface(side.options);
  need(iface, UCT_IFACE_FLAG_PUT_SHORT, side);
  skip_if_pairs(iface);
  Window window(keeper, side.channel, 4096);
  Inbound in(iface, kId, length_of);
  uct_ep_h ep = iface.connect_to_iface(iface.exchange_addresses(side.channel));
  Outbound out(iface, ep, kId, length_of);
  connect_idle(side, iface, ep, in, out);
  bool is_refused = false;  // a put that waits for room may learn of the close before it goes
  const auto put_now = [&] {
    ucs_status_t status = UCS_ERR_NO_RESOURCE;
    const auto is_sent = [&] {
      status = uct_ep_put_short(ep, content.data(), kLength, window.remote(0), window.key());
      return status != UCS_ERR_NO_RESOURCE;
    };
    if (side.role == 0) {
      iface.progress_until(is_sent, "a put");
      is_refused = !unread && (status == UCS_ERR_CONNECTION_RESET ||  // by a BYE, or by tcp
                               status == UCS_ERR_ENDPOINT_TIMEOUT);
      if (!is_refused) check(status, "put_short");
    }
    side.channel.barrier({});
  };
  if (unread) put_now();
  if (side.role == 1) {
    uct_ep_destroy(ep);
    iface.close();
  }
  side.channel.barrier({});
  if (!unread) put_now();
  uint8_t is_ok = 0;
  if (side.role == 0 && !is_refused) is_ok = flush_status(iface, ep) == UCS_OK ? 1 : 0;
  const Bytes of_peer = side.channel.exchange({is_ok});
  if (side.role == 1) {
    const bool is_there = std::equal(content.begin(), content.end(), window.at(0));
    require(of_peer[0] == 0 || is_there, "a flush ended with UCS_OK, and the put is lost");
  } else {
    uct_ep_destroy(ep);
  }
  side.channel.barrier([&] { keeper.progress(); });
}

// A peer in mode observe keeps nothing that is sent to it: whatever writes to its memory is
// refused, as what reads from it is, and not lost.
void writes_to_mode_observe(Side& side) {
  need_wrapper_and_two(side);
  if (!in_mode_verify()) throw Skip("the other process is in another mode");
  if (side.role == 1) setenv("UCX_VERITY_MODE", "observe", 1);
  Iface iface(side.options);
  Endpoints eps(iface, side.channel, 1);
  Window window(iface, side.channel, 4096);
  if (side.role == 0) {
    const Bytes content(64, 0xee);
    const auto refused = [](ssize_t status, const char* what) {
      require(status == UCS_ERR_UNSUPPORTED,
              std::string(what) + ": " + ucs_status_string(static_cast<ucs_status_t>(status)));
    };
    refused(
        uct_ep_get_bcopy(eps[0], Get::unpack, nullptr, 64, window.remote(0), window.key(), nullptr),
        "get_bcopy");
    refused(uct_ep_put_short(eps[0], content.data(), 64, window.remote(0), window.key()),
            "put_short");
    refused(uct_ep_put_bcopy(
                eps[0], [](void*, void*) { return size_t{0}; }, nullptr, window.remote(0),
                window.key()),
            "put_bcopy");
    refused(uct_ep_atomic64_post(eps[0], UCT_ATOMIC_OP_ADD, 1, window.remote(0), window.key()),
            "atomic64_post");
  }
  side.channel.barrier([&] { iface.progress(); });
}

// Two endpoints have one link: each of them says that a write is lost, once.
void two_flushes_of_a_lost_put(Side& side) {
  need_wrapper_and_two(side);
  if (!in_mode_verify()) throw Skip("only in mode verify are there puts");
  Iface iface(side.options);
  need(iface, UCT_IFACE_FLAG_PUT_SHORT, side);
  skip_if_pairs(iface);
  Endpoints eps(iface, side.channel, 2);
  Window window(iface, side.channel, 4096);
  window.deregister();
  side.channel.barrier([] {});
  if (side.role == 0) {
    put(iface, eps[0], window, 0, Bytes(64, 0xee), true);
    (void)flush_status(iface, eps[1]);
    require(flush_status(iface, eps[0]) == UCS_ERR_REJECTED,
            "the other endpoint's flush took the refusal of a put");
    require(flush_status(iface, eps[0]) == UCS_OK && flush_status(iface, eps[1]) == UCS_OK,
            "a flush with nothing lost since");
  }
  side.channel.barrier([&] { iface.progress(); });
}

// The owner has filled its window, and so no room for the refusal of a put: the acknowledgement of
// that put, which needs none, must not come before it. Nor where it has no endpoint of its own, and
// has never sent anything.
void refusal_without_room(Side& side, bool has_endpoint) {
  if (side.options.transport.front() != 'v' || side.channel.alone())
    throw Skip("needs a peer, and the plugin");
  if (!in_mode_verify()) throw Skip("only in mode verify is there a window");
  setenv("UCX_VERITY_WINDOW", "8", 1);
  Iface iface(side.options);
  need(iface, UCT_IFACE_FLAG_PUT_SHORT, side);
  const auto length_of = [](uint64_t) { return size_t{8}; };
  constexpr uint8_t kId = 8;
  Inbound in(iface, kId, length_of);
  const Iface::Address peer = iface.exchange_addresses(side.channel);
  skip_if_pairs(iface);
  uct_ep_h ep = side.role == 0 || has_endpoint ? iface.connect_to_iface(peer) : nullptr;
  {
    Window window(iface, side.channel, 4096);
    Outbound out(iface, ep, kId, length_of);
    if (has_endpoint) connect_idle(side, iface, ep, in, out);
    window.deregister();
    side.channel.barrier([] {});
    if (side.role == 0) {
      put(iface, ep, window, 0, Bytes(64, 0xee), true);
    } else if (has_endpoint) {
      while (out.try_send(Kind::kShort) == UCS_OK) {}
    }
    side.channel.barrier([&] {
      if (!has_endpoint && side.role == 1) iface.progress();  // tcp connects
    });
    // The put is taken and acknowledged while its sender looks at nothing.
    if (side.role == 1) {
      for (const double until = seconds_now() + 0.1; seconds_now() < until;) iface.progress();
    }
    side.channel.barrier([] {});
    if (side.role == 0)
      require(flush_status(iface, ep) == UCS_ERR_REJECTED, "no word that a put was refused");
    side.channel.barrier([&] { iface.progress(); });
  }
  if (ep != nullptr) uct_ep_destroy(ep);
  finish(side, iface);
}

// The owner's memory goes away under its registration: an error for the reader, no signal for the
// owner.
void memory_taken_away(Side& side) {
  Iface iface(side.options);
  need(iface, UCT_IFACE_FLAG_GET_BCOPY, side);
  if (side.options.transport.front() != 'v' || side.channel.alone())
    throw Skip("needs a peer, and the plugin");
  Endpoints eps(iface, side.channel, 1);
  Window window(iface, side.channel, 1 << 20);
  if (side.role == 1) window.take_away(4096 * 8);
  side.channel.barrier([] {});
  if (side.role == 0) { get_ends_with(UCS_ERR_IO_ERROR, iface, eps[0], window, 4096 * 9); }
  side.channel.barrier([&] { iface.progress(); });
}

// The same with writes: a lost endpoint for who writes.
void memory_taken_from_writes(Side& side) {
  if (side.options.transport.front() != 'v' || side.channel.alone())
    throw Skip("needs a peer, and the plugin");
  for (int kind = 0; kind < 4; ++kind) {
    Iface iface(side.options);
    need(iface, UCT_IFACE_FLAG_PUT_SHORT | UCT_IFACE_FLAG_PUT_BCOPY | UCT_IFACE_FLAG_ATOMIC_CPU,
         side);
    Endpoints eps(iface, side.channel, 1);
    Window window(iface, side.channel, 1 << 16);
    if (side.role == 1) window.take_away(4096);
    side.channel.barrier([] {});
    if (side.role == 0) {
      Get get;
      unsigned open = 0;
      uint64_t result = 0;
      if (kind < 2) {  // over the edge
        put(iface, eps[0], window, 4050, Bytes(100, 0xee), kind == 0);
      } else if (kind == 2) {
        post(iface, "atomic64_post", [&] {
          return uct_ep_atomic64_post(eps[0], UCT_ATOMIC_OP_ADD, 1, window.remote(8192),
                                      window.key());
        });
      } else {
        uct_completion_t* done = get.start(&open);
        post(iface, "atomic64_fetch", [&] {
          return uct_ep_atomic64_fetch(eps[0], UCT_ATOMIC_OP_ADD, 1, &result, window.remote(8192),
                                       window.key(), done);
        });
      }
      iface.progress_until([&] { return kind == 3 ? open == 0 : iface.errors() != 0; },
                           "the failure of a write");
      if (kind == 3)
        require(get.status == UCS_ERR_IO_ERROR,
                std::string("an atomic operation ended with: ") + ucs_status_string(get.status));
    }
    side.channel.barrier([&] { iface.progress(); });
  }
}

constexpr Case kCases[] = {
    {"rma: deregistered memory is refused", dead_keys_are_refused},
    {"rma: writes to a peer in mode observe", writes_to_mode_observe},
    {"rma: a put of one endpoint is refused, and two are flushed", two_flushes_of_a_lost_put},
    {"rma: a put that an interface has not read when it closes",
     [](Side& side) { put_to_one_that_closes(side, true); }},
    {"rma: a put to an interface that has closed",
     [](Side& side) { put_to_one_that_closes(side, false); }},
    {"rma: a put is refused by an owner whose window is full",
     [](Side& side) { refusal_without_room(side, true); }},
    {"rma: a put is refused by an owner without an endpoint",
     [](Side& side) { refusal_without_room(side, false); }},
    {"rma: memory that the program took away", memory_taken_away},
    {"rma: memory that the program took away from writes", memory_taken_from_writes},
};

}  // namespace

std::span<const Case> memory_cases() { return kCases; }

}  // namespace verity::test
