// SPDX-License-Identifier: BSD-3-Clause
//
// Remote memory access: puts, gets, atomic operations. What fences order: rma_order.cc.
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <functional>

#include "../window.h"

namespace verity::test {

namespace {

constexpr uint8_t kId = 6;

// Puts of every length, each followed by a message: what was put is there when the message comes.
// The other side signals that it has looked, before the place is used again.
void puts_before_messages(Side& side) {
  Iface iface(side.options);
  need(iface, UCT_IFACE_FLAG_PUT_SHORT | UCT_IFACE_FLAG_PUT_BCOPY, side);
  const auto& cap = iface.attr().cap.put;
  const size_t longest = std::min<size_t>(std::min(cap.max_bcopy, cap.max_short), 1 << 20);
  const size_t window_length = longest + 64;
  const auto length_of_put = [&](uint64_t i) -> size_t {
    return i == 0                ? 0
           : i == 1              ? longest
           : dice(1, i) % 3 == 0 ? dice(2, i) % (longest + 1)
                                 : dice(2, i) % 200;
  };
  const auto offset_of = [&](uint64_t i) {
    return dice(3, i) % (window_length - length_of_put(i) + 1);
  };
  const auto length_of_message = [](uint64_t i) -> size_t { return 8 + i % 32; };
  Window* window = nullptr;
  std::string wrong;
  Inbound in(iface, kId, length_of_message);
  in.on_message = [&](uint8_t*, size_t, unsigned, uint64_t i) {
    const size_t length = length_of_put(i);
    if (first_wrong(window->at(offset_of(i)), length, kPattern, i + 1) != length && wrong.empty()) {
      wrong = "the put before message " + std::to_string(i) + " is not there";
    }
    return UCS_OK;
  };
  Endpoints eps(iface, side.channel, 1);
  Window memory(iface, side.channel, window_length);
  window = &memory;
  side.channel.barrier([] {});
  Outbound out(iface, eps[0], kId, length_of_message);
  const auto length_of_answer = [](uint64_t) -> size_t { return 8; };
  Inbound looked(iface, kId + 1, length_of_answer);
  Outbound answers(iface, eps[0], kId + 1, length_of_answer);
  const auto answer = [&] {
    while (answers.count() < in.count()) answers.send(Kind::kShort);
  };
  const uint64_t count = 40 * static_cast<uint64_t>(side.rounds);
  for (uint64_t i = 0; i < count; ++i) {
    iface.progress_until(
        [&] {
          answer();
          return looked.count() >= i;
        },
        "the other side's looking");
    Bytes content(length_of_put(i));
    fill(content.data(), content.size(), kPattern, i + 1);
    put(iface, eps[0], memory, offset_of(i), content, i % 2 == 0);
    check(uct_ep_fence(eps[0], 0), "uct_ep_fence");
    out.send(Kind::kShort);
  }
  iface.progress_until(
      [&] {
        answer();
        return looked.count() >= count && in.count() >= count;
      },
      "the last ones");
  in.verify();
  require(wrong.empty(), wrong);
  iface.flush(eps[0]);
  finish(side, iface);
}

// After a flush the bytes are in the other process's memory, whether it makes progress or not.
void flush_means_applied(Side& side) {
  Iface iface(side.options);
  need(iface, UCT_IFACE_FLAG_PUT_BCOPY, side);
  const size_t length = std::min<size_t>(iface.attr().cap.put.max_bcopy, 4000);
  Endpoints eps(iface, side.channel, 1);
  constexpr size_t kPuts = 50;
  Window window(iface, side.channel, kPuts * length);
  for (int round = 0; round < 5; ++round) {
    const auto sequence = static_cast<uint64_t>(round) + 1;
    for (size_t i = 0; i < kPuts; ++i) {
      Bytes content(length);
      fill(content.data(), length, kPattern, sequence * 1000 + i);
      put(iface, eps[0], window, i * length, content, false);
    }
    iface.flush(eps[0]);
    side.channel.barrier([&] { iface.progress(); });
    for (size_t i = 0; i < kPuts; ++i) {
      require(first_wrong(window.at(i * length), length, kPattern, sequence * 1000 + i) == length,
              "a put is missing after the flush");
    }
    side.channel.barrier([&] { iface.progress(); });
  }
  finish(side, iface);
}

// Many gets in flight, some without a completion.
void gets_in_frames(Side& side) {
  Iface iface(side.options);
  need(iface, UCT_IFACE_FLAG_GET_BCOPY, side);
  const size_t longest = std::min<size_t>(iface.attr().cap.get.max_bcopy, 1 << 20);
  const size_t length = longest + 5000;
  const Bytes content = window_content(length);
  Endpoints eps(iface, side.channel, 1);
  Window window(iface, side.channel, length);
  std::deque<Get> gets;
  unsigned open = 0;
  const uint64_t count = 20 * static_cast<uint64_t>(side.rounds);
  for (uint64_t i = 0; i < count; ++i) {
    Get& get = gets.emplace_back();
    get.content.resize(i == 0                ? longest
                       : dice(8, i) % 4 == 0 ? dice(9, i) % (longest + 1)
                                             : dice(9, i) % 100);
    get.offset = dice(10, i) % (length - get.content.size() + 1);
    uct_completion_t* completion = i % 5 == 0 ? nullptr : get.start(&open);
    const ucs_status_t status = post(iface, "get_bcopy", [&] {
      return uct_ep_get_bcopy(eps[0], Get::unpack, &get, get.content.size(),
                              window.remote(get.offset), window.key(), completion);
    });
    if (completion == nullptr) get.status = UCS_OK;
    if (status == UCS_OK && completion != nullptr) Get::done(completion);
  }
  iface.flush(eps[0]);
  iface.progress_until([&] { return open == 0; }, "gets");
  for (Get& get : gets) verify(get, content);
  finish(side, iface);
}

// The first message ever is a get, to a side that has no endpoint: it learns from that where to
// answer.
void get_from_a_stranger(Side& side) {
  Iface iface(side.options);
  need(iface, UCT_IFACE_FLAG_GET_BCOPY, side);
  if (!iface.has(UCT_IFACE_FLAG_CONNECT_TO_IFACE) || side.channel.alone())
    throw Skip("endpoints are connected in pairs, or alone");
  const Iface::Address peer = iface.exchange_addresses(side.channel);
  Window window(iface, side.channel, 4096);
  if (side.role == 0) {
    uct_ep_h ep = iface.connect_to_iface(peer);
    Get get;
    const size_t length = std::min<size_t>(1000, iface.attr().cap.get.max_bcopy);
    get.content.resize(length);
    unsigned open = 0;
    uct_completion_t* completion = get.start(&open);
    post(iface, "get_bcopy", [&] {
      return uct_ep_get_bcopy(ep, Get::unpack, &get, length, window.remote(0), window.key(),
                              completion);
    });
    iface.progress_until([&] { return open == 0; }, "a get as the first message");
    verify(get, window_content(4096));
    uct_ep_destroy(ep);
  }
  finish(side, iface);
}

struct EndedGet {
  uct_completion_t completion = {done, 1, UCS_OK};
  Bytes content = Bytes(100);
  bool over = false;
  bool within = false;  // it ended while an endpoint was destroyed
  bool* destroying = nullptr;
  std::function<void()> then = [] {};

  static void unpack(void*, const void*, size_t) {}
  static void done(uct_completion_t* completion) {
    auto* self = reinterpret_cast<EndedGet*>(completion);
    self->over = true;
    self->within = *self->destroying;
    self->then();
  }
};

// Gets of three endpoints are answered at once, and the completion of the first one's destroys the
// last endpoint. Its own get ends there; that of the second one, as for whoever waits for it, in
// progress.
void endpoint_ends_its_own(Side& side) {
  Iface iface(side.options);
  need(iface, UCT_IFACE_FLAG_GET_BCOPY, side);
  skip_if_pairs(iface);  // a BYE that is lost is an error there
  if (side.options.transport.front() != 'v' || side.channel.alone())
    throw Skip("needs a wrapper and two processes");
  const auto length_of = [](uint64_t) { return size_t{8}; };
  Inbound in(iface, kId, length_of);
  Endpoints eps(iface, side.channel, 3);
  Window window(iface, side.channel, 4096);
  Outbound out(iface, eps[0], kId, length_of);
  connect(side, iface, in, out);
  bool destroying = false;
  EndedGet gets[3];
  for (size_t i = 0; i < 3 && side.role == 0; ++i) {
    gets[i].destroying = &destroying;
    const ucs_status_t status =
        uct_ep_get_bcopy(eps[i], EndedGet::unpack, &gets[i], gets[i].content.size(),
                         window.remote(0), window.key(), &gets[i].completion);
    require(status == UCS_INPROGRESS, "a get in frames ended at once");
  }
  gets[0].then = [&] {
    destroying = true;
    eps.destroy(2);
    destroying = false;
  };
  side.channel.barrier({});
  for (const double until = seconds_now() + 0.05; side.role == 1 && seconds_now() < until;)
    iface.progress();
  side.channel.barrier({});
  iface.progress_until([&] { return side.role == 1 || (gets[1].over && gets[2].over); }, "gets");
  require(!gets[1].within, "an endpoint that was destroyed ended another one's get");
  finish(side, iface);
}

// Counters of both sides' memory, hit from both sides at once: every operation counts once, and
// each of those that fetch saw a value that no other one saw.
void atomics(Side& side) {
  Iface iface(side.options);
  need(iface, UCT_IFACE_FLAG_ATOMIC_CPU, side);
  if (side.options.transport.front() != 'v') throw Skip("stock UCX leaves that to the CPU");
  Endpoints eps(iface, side.channel, 1);
  Window window(iface, side.channel, 4096);
  std::memset(window.at(0), 0, 4096);
  side.channel.barrier([&] { iface.progress(); });
  const auto rounds = 20 * static_cast<uint64_t>(side.rounds);
  std::deque<uint64_t> seen64;
  std::deque<uint32_t> seen32;
  std::deque<Get> gets;
  unsigned open = 0;
  // Its refusal by the peer would end the link.
  require(uct_ep_atomic64_post(eps[0], UCT_ATOMIC_OP_ADD, 3, window.remote(4), window.key()) ==
                  UCS_ERR_INVALID_PARAM &&
              uct_ep_atomic_cswap32(eps[0], 0, 1, window.remote(2), window.key(), nullptr,
                                    nullptr) == UCS_ERR_INVALID_PARAM,
          "an atomic operation whose address is not aligned");
  for (uint64_t i = 0; i < rounds; ++i) {
    post(iface, "atomic64_post", [&] {
      return uct_ep_atomic64_post(eps[0], UCT_ATOMIC_OP_ADD, 3, window.remote(0), window.key());
    });
    post(iface, "atomic32_post", [&] {
      return uct_ep_atomic32_post(eps[0], UCT_ATOMIC_OP_XOR, 1u << i % 32, window.remote(8),
                                  window.key());
    });
    uct_completion_t* done = gets.emplace_back().start(&open);
    seen64.push_back(0);
    post(iface, "atomic64_fetch", [&] {
      return uct_ep_atomic64_fetch(eps[0], UCT_ATOMIC_OP_ADD, 1, &seen64.back(), window.remote(16),
                                   window.key(), done);
    });
    done = gets.emplace_back().start(&open);
    seen32.push_back(0);
    post(iface, "atomic_cswap32", [&] {  // from the value that it must have: each succeeds
      return uct_ep_atomic_cswap32(eps[0], static_cast<uint32_t>(i), static_cast<uint32_t>(i + 1),
                                   window.remote(24), window.key(), &seen32.back(), done);
    });
  }
  iface.flush(eps[0]);
  iface.progress_until([&] { return open == 0; }, "atomic operations");
  for (const Get& get : gets) require(get.status == UCS_OK, "an atomic operation failed");
  for (uint64_t i = 0; i < rounds; ++i)
    require(seen64[i] == i && seen32[i] == i, "a fetched value is wrong");
  side.channel.barrier([&] { iface.progress(); });
  uint64_t sum;
  uint32_t bits;
  uint32_t last;
  std::memcpy(&sum, window.at(0), sizeof(sum));
  std::memcpy(&bits, window.at(8), sizeof(bits));
  std::memcpy(&last, window.at(24), sizeof(last));
  uint32_t wanted = 0;
  for (uint64_t i = 0; i < rounds; ++i) wanted ^= 1u << i % 32;
  require(sum == 3 * rounds && bits == wanted && last == rounds,
          "an atomic operation is lost, or was done twice");
  finish(side, iface);
}

// Nothing may be put and read without a key, as on UCX's own transports. What needs one and has
// none is refused.
void nothing_needs_no_key(Side& side) {
  Iface iface(side.options);
  need(iface, UCT_IFACE_FLAG_PUT_SHORT | UCT_IFACE_FLAG_PUT_BCOPY | UCT_IFACE_FLAG_GET_BCOPY, side);
  Endpoints eps(iface, side.channel, 1);
  uint64_t word = 0;
  const auto pack = [](void*, void* length) { return *static_cast<size_t*>(length); };
  const auto unpack = [](void*, const void*, size_t) {};
  size_t length = 0;
  check(uct_ep_put_short(eps[0], nullptr, 0, 0, UCT_INVALID_RKEY), "a put of nothing");
  require(uct_ep_put_bcopy(eps[0], pack, &length, 0, UCT_INVALID_RKEY) == 0,
          "a put of nothing by its callback");
  check(uct_ep_get_bcopy(eps[0], unpack, nullptr, 0, 0, UCT_INVALID_RKEY, nullptr),
        "a get of nothing");
  if (side.options.transport.front() == 'v') {
    length = sizeof(word);
    const auto address = reinterpret_cast<uint64_t>(&word);
    for (const uct_rkey_t key : {uct_rkey_t{UCT_INVALID_RKEY}, uct_rkey_t{0}}) {
      require(uct_ep_put_short(eps[0], &word, sizeof(word), address, key) == UCS_ERR_INVALID_PARAM,
              "put_short without a key");
      require(uct_ep_put_bcopy(eps[0], pack, &length, address, key) == UCS_ERR_INVALID_PARAM,
              "put_bcopy without a key");
      require(uct_ep_get_bcopy(eps[0], unpack, nullptr, 8, address, key, nullptr) ==
                  UCS_ERR_INVALID_PARAM,
              "get_bcopy without a key");
      require(
          uct_ep_atomic64_post(eps[0], UCT_ATOMIC_OP_ADD, 1, address, key) == UCS_ERR_INVALID_PARAM,
          "an atomic operation without a key");
    }
  }
  finish(side, iface);
}

// A flush waits for a peer that has destroyed its own endpoint, and computes: its memory is written
// to all the same.
void flush_waits_for_peer_without_endpoint(Side& side) {
  constexpr useconds_t kComputes = 1'500'000;
  constexpr double kDetached = 0.1;  // s
  constexpr uint8_t kByte = 0x11;
  if (side.channel.alone()) throw Skip("needs two processes");
  Iface iface(side.options);
  need(iface, UCT_IFACE_FLAG_PUT_SHORT, side);
  skip_if_pairs(iface);
  const auto length_of = [](uint64_t) { return size_t{8}; };
  Inbound in(iface, kId, length_of);
  Endpoints eps(iface, side.channel, 1);
  Window window(iface, side.channel, 4096);
  Outbound out(iface, eps[0], kId, length_of);
  connect_idle(side, iface, eps[0], in, out);
  if (side.role == 1) eps.destroy(0);
  side.channel.barrier([&] { iface.progress(); });
  for (const double until = seconds_now() + kDetached; seconds_now() < until;) iface.progress();
  side.channel.barrier([&] { iface.progress(); });
  if (side.role == 0) {
    put(iface, eps[0], window, 0, Bytes(8, kByte), true);
    iface.flush(eps[0]);
    side.channel.barrier({});
  } else {
    ::usleep(kComputes);
    side.channel.barrier([&] { iface.progress(); });
    require(window.at(0)[0] == kByte && window.at(0)[7] == kByte,
            "a put is missing after the flush");
  }
  side.channel.barrier([&] { iface.progress(); });
}

// The interface that carries the digests of a read closes while the transport that only reads is at
// it, and the peer does nothing: the read ends.
void carrier_closes(Side& side) {
  Iface reader(reading_beside(side));
  need(reader, UCT_IFACE_FLAG_GET_ZCOPY, side);
  Iface carrier(side.options, reader);
  std::vector<uct_ep_h> carriers = carrier.connect(side.channel, 1);
  Endpoints readers(reader, side.channel, 1);
  Window window(reader, side.channel, 4096);
  side.channel.barrier([&] { carrier.progress(); });
  if (side.role == 0) {
    Get get;
    get.content.resize(1000);
    unsigned open = 0;
    uct_completion_t* completion = get.start(&open);
    const uct_iov_t iov{get.content.data(), get.content.size(), UCT_MEM_HANDLE_NULL, 0, 1};
    const ucs_status_t status = post(carrier, "get_zcopy", [&] {
      return uct_ep_get_zcopy(readers[0], &iov, 1, window.remote(0), window.key(), completion);
    });
    if (status == UCS_OK) Get::done(completion);
    uct_ep_destroy(carriers[0]);
    carrier.close();
    reader.progress_until([&] { return open == 0; }, "the read's end", 5);
    require(!in_mode_verify() || get.status == UCS_ERR_CANCELED,
            std::string("the read ended with: ") + ucs_status_string(get.status));
  }
  side.channel.barrier({});
  if (side.role == 1) uct_ep_destroy(carriers[0]);
}

constexpr Case kCases[] = {
    {"rma: puts are there before the messages behind them", puts_before_messages},
    {"rma: a flush waits until puts are applied", flush_means_applied},
    {"rma: a flush waits for a peer without an endpoint", flush_waits_for_peer_without_endpoint},
    {"rma: reads over an interface that closes", carrier_closes},
    {"rma: gets in frames", gets_in_frames},
    {"rma: a get as the first message", get_from_a_stranger},
    {"rma: an endpoint that goes ends its own gets alone", endpoint_ends_its_own},
    {"rma: atomic operations", atomics},
    {"rma: nothing needs no key", nothing_needs_no_key},
};

}  // namespace

std::span<const Case> rma_cases() { return kCases; }

}  // namespace verity::test
