// SPDX-License-Identifier: BSD-3-Clause
//
// One-sided operations of one process on the memory of another, over several interfaces of one
// worker. Stock UCX keeps their order where they concern the same bytes, since shared memory does
// at once what it is asked for, and UCP's fences count on it.
//
//   lanes [ROUNDS]
//
// Prints TAP; exit status 0, or 1.
#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <deque>

#include "flow.h"
#include "ucp_peer.h"
#include "window.h"

namespace verity::test {
namespace {

Options transport(const char* name) {
  Options options;
  options.transport = name;
  return options;
}

// A message each way: then there is a link over which digests can be asked for.
void greet(Iface& iface, Channel& channel, uct_ep_h ep) {
  const auto eight = [](uint64_t) -> size_t { return 8; };
  Inbound in(iface, 5, eight);
  Outbound out(iface, ep, 5, eight);
  out.send(Kind::kShort);
  iface.progress_until([&] { return in.count() != 0; }, "a greeting");
  iface.flush(ep);
  channel.barrier([&] { iface.progress(); });
}

// Two processes, tcp and cma.
struct Mixed {
  static constexpr size_t kLength = 300'000;
  explicit Mixed(Channel& c)
      : channel(c),
        frames(transport("vtcp")),
        reads(transport("vcma"), frames),
        eps(frames.connect(c, 1)),
        readers(reads.connect(c, 1)),
        window(frames, c, kLength),
        shared(reads, c, window, kLength) {
    greet(frames, channel, eps[0]);
  }
  ~Mixed() {
    channel.barrier([&] { frames.progress(); });
    uct_ep_destroy(readers[0]);
    uct_ep_destroy(eps[0]);
  }
  // All of the window, to `get`.
  ucs_status_t try_read(Get& get, uct_completion_t* done) {
    get.content.assign(kLength, 0xee);
    const uct_iov_t iov{get.content.data(), kLength, UCT_MEM_HANDLE_NULL, 0, 1};
    return uct_ep_get_zcopy(readers[0], &iov, 1, window.remote(0), shared.key(), done);
  }
  // The same, once there is room; it is open, as its owner has not answered. `open` counts it.
  void start_read(Get& get, unsigned& open) {
    uct_completion_t* done = get.start(&open);
    ucs_status_t status = UCS_ERR_NO_RESOURCE;
    frames.progress_until([&] { return (status = try_read(get, done)) != UCS_ERR_NO_RESOURCE; },
                          "room for a read");
    require(status == UCS_INPROGRESS, "the read ended before the owner's digest");
  }
  // UCS_ERR_NO_RESOURCE, or the put is under way.
  ucs_status_t try_put(size_t offset, const Bytes& content) {
    return uct_ep_put_short(eps[0], content.data(), static_cast<unsigned>(content.size()),
                            window.remote(offset), window.key());
  }
  // That side 1 has done nothing, and now does.
  void wake() { channel.barrier({}); }

  Channel& channel;
  Iface frames, reads;
  std::vector<uct_ep_h> eps, readers;
  Window window;
  SharedWindow shared;
};

// The put must not change what is being read before it is verified.
int put_behind_a_read(Channel& channel, int role) {
  Mixed m(channel);
  const Bytes old = window_content(Mixed::kLength), fresh(500, 0x11);
  if (role == 1) {
    m.wake();
    channel.barrier([&] { m.frames.progress(); });
    require(*m.window.at(1000) == 0x11, "the put was lost");
    return 0;
  }
  Get get;
  unsigned open = 0;
  m.start_read(get, open);
  require(m.try_put(1000, fresh) == UCS_ERR_NO_RESOURCE, "a put to what is being read was taken");
  m.wake();
  ucs_status_t status = UCS_ERR_NO_RESOURCE;
  m.frames.progress_until([&] { return (status = m.try_put(1000, fresh)) != UCS_ERR_NO_RESOURCE; },
                          "room for the put");
  check(status, "put");
  require(open == 0 || get.content == old, "the put went while the read was open");
  m.frames.progress_until([&] { return open == 0; }, "the read");
  require(get.content == old, "a read brought what a later put wrote");
  m.frames.flush(m.eps[0]);
  channel.barrier([&] { m.frames.progress(); });
  return 0;
}

// And the put before the read is there.
int read_behind_a_put(Channel& channel, int role) {
  Mixed m(channel);
  Bytes wanted = window_content(Mixed::kLength);
  const Bytes fresh(500, 0x11);
  std::copy(fresh.begin(), fresh.end(), wanted.begin() + 1000);
  if (role == 1) {
    m.wake();
    channel.barrier([&] { m.frames.progress(); });
    return 0;
  }
  check(m.try_put(1000, fresh), "put");
  Get get;
  unsigned open = 0;
  uct_completion_t* done = get.start(&open);
  ucs_status_t status = m.try_read(get, done);
  require(status == UCS_INPROGRESS || status == UCS_ERR_NO_RESOURCE,
          "the read did not wait for the put");
  m.wake();
  m.frames.progress_until(
      [&] {
        return status != UCS_ERR_NO_RESOURCE ||
               (status = m.try_read(get, done)) != UCS_ERR_NO_RESOURCE;
      },
      "room");
  m.frames.progress_until([&] { return open == 0; }, "the read");
  require(get.content == wanted, "a read behind a put brought what was there before");
  channel.barrier([&] { m.frames.progress(); });
  return 0;
}

// And neither does a message overtake it past a fence, of the endpoint or of the interface: who
// gets it may write there at once. The owner hashes so much in several turns.
int message_behind_a_read(Channel& channel, int role, bool by_interface) {
  Mixed m(channel);
  const auto eight = [](uint64_t) -> size_t { return 8; };
  constexpr uint8_t kId = 6;
  Inbound in(m.frames, kId, eight);
  in.on_message = [&](uint8_t*, size_t, unsigned, uint64_t) {
    std::fill_n(m.window.at(0), Mixed::kLength, uint8_t{0xdd});
    return UCS_OK;
  };
  if (role == 1) {
    m.wake();
    m.frames.progress_until([&] { return in.count() != 0; }, "the message");
    channel.barrier([&] { m.frames.progress(); });
    return 0;
  }
  Outbound out(m.frames, m.eps[0], kId, eight);
  Get get;
  unsigned open = 0;
  m.start_read(get, open);
  check(by_interface ? uct_iface_fence(m.frames.handle(), 0) : uct_ep_fence(m.eps[0], 0), "fence");
  require(out.try_send(Kind::kShort) == UCS_ERR_NO_RESOURCE, "a message went past a fence");
  m.wake();
  m.frames.progress_until([&] { return out.try_send(Kind::kShort) == UCS_OK; },
                          "room for the message");
  require(open == 0, "the message went while the read was open");
  require(get.content == window_content(Mixed::kLength), "a read brought what came behind a fence");
  m.frames.flush(m.eps[0]);
  channel.barrier([&] { m.frames.progress(); });
  return 0;
}

// A process alone, tcp and self: gets over one, then a fence, and an atomic operation over the
// other.
int fence_over_lanes(Channel& channel, bool fences) {
  Iface far(transport("vtcp"));
  Iface near(transport("vself"), far);
  std::vector<uct_ep_h> eps = far.connect(channel, 1), near_eps = near.connect(channel, 1);
  constexpr size_t kGets = 20, kEach = 4000;
  {
    Window window(far, channel, kGets * kEach);
    Window counter(near, channel, 4096);
    std::deque<Get> gets(kGets);
    unsigned open = 0, done = 0;
    for (size_t i = 0; i < kGets; ++i) {
      Get& get = gets[i];
      get.content.resize(kEach);
      get.offset = i * kEach;
      uct_completion_t* completion = get.start(&open);
      post(far, "get_bcopy", [&] {
        return uct_ep_get_bcopy(eps[0], Get::unpack, &get, kEach, window.remote(get.offset),
                                window.key(), completion);
      });
    }
    if (fences) {
      check(uct_iface_fence(near.handle(), 0), "fence");
      check(uct_iface_fence(far.handle(), 0), "fence");
      require(open == 0 || uct_ep_am_short(near_eps[0], 7, 0, nullptr, 0) == UCS_ERR_NO_RESOURCE,
              "a message went past a fence");
    }
    Get atomic;
    uint64_t old = 0;
    uct_completion_t* completion = atomic.start(&done);
    const ucs_status_t status = post(near, "atomic", [&] {
      return uct_ep_atomic64_fetch(near_eps[0], UCT_ATOMIC_OP_ADD, 1, &old, counter.remote(0),
                                   counter.key(), completion);
    });
    if (status == UCS_OK) Get::done(completion);
    far.progress_until([&] { return done == 0; }, "the atomic operation");
    require(open == 0,
            "an atomic operation was done before the gets that came before it over another lane");
    for (Get& get : gets) verify(get, window_content(kGets * kEach));
  }
  uct_ep_destroy(near_eps[0]);
  uct_ep_destroy(eps[0]);
  return 0;
}

// An atomic operation that waits in the pending queue of its endpoint.
struct Waiting : uct_pending_req_t {
  Get result;
  uint64_t old = 0;
  uct_ep_h ep = nullptr;
  uint64_t address = 0;
  uct_rkey_t key = 0;
  uct_completion_t* completion = nullptr;

  ucs_status_t start() {
    return uct_ep_atomic64_fetch(ep, UCT_ATOMIC_OP_ADD, 1, &old, address, key, completion);
  }
  static ucs_status_t again(uct_pending_req_t* self) {
    auto& waiting = static_cast<Waiting&>(*self);
    const ucs_status_t status = waiting.start();
    if (status == UCS_OK) Get::done(waiting.completion);
    return status == UCS_INPROGRESS ? UCS_OK : status;
  }
};

// The same for one that finds others waiting already: it is also behind what came after those.
int atomic_behind_a_waiting_one(Channel& channel) {
  Iface far(transport("vtcp"));
  Iface near(transport("vself"), far);
  std::vector<uct_ep_h> eps = far.connect(channel, 1), near_eps = near.connect(channel, 1);
  constexpr size_t kGets = 60, kEach = 8000;
  {
    Window window(far, channel, kGets * kEach);
    Window counter(near, channel, 4096);
    std::deque<Get> gets(kGets);
    unsigned open = 0, waiting = 0;
    const auto get = [&](size_t i) {
      gets[i].content.resize(kEach);
      gets[i].offset = i * kEach;
      uct_completion_t* completion = gets[i].start(&open);
      post(far, "get_bcopy", [&] {
        return uct_ep_get_bcopy(eps[0], Get::unpack, &gets[i], kEach, window.remote(gets[i].offset),
                                window.key(), completion);
      });
    };
    std::deque<Waiting> atomics(2);
    for (size_t i = 0; i < 2; ++i) {
      for (size_t n = i == 0 ? 0 : 1; n < (i == 0 ? 1 : kGets); ++n) get(n);
      Waiting& atomic = atomics[i];
      atomic.func = Waiting::again;
      atomic.ep = near_eps[0];
      atomic.address = counter.remote(0);
      atomic.key = counter.key();
      atomic.completion = atomic.result.start(&waiting);
      require(atomic.start() == UCS_ERR_NO_RESOURCE,
              "an atomic operation did not wait for a get over another lane");
      check(uct_ep_pending_add(near_eps[0], &atomic, 0), "pending_add");
    }
    far.progress_until([&] { return waiting == 0; }, "the atomic operations");
    require(open == 0,
            std::to_string(open) +
                " gets over another lane were open when a later atomic operation was done");
  }
  uct_ep_destroy(near_eps[0]);
  uct_ep_destroy(eps[0]);
  return 0;
}

// Each interface asks for the acknowledgements of its own link.
int puts_over_two(Channel& channel, int role) {
  Iface tcp(transport("vtcp"));
  Iface posix(transport("vposix"), tcp);
  std::vector<uct_ep_h> tcp_eps = tcp.connect(channel, 1);
  std::vector<uct_ep_h> posix_eps = posix.connect(channel, 1);
  const auto both = [&] { tcp.progress(); };  // of one worker
  {
    Window window(tcp, channel, 8192);
    SharedWindow shared(posix, channel, window, 8192);
    greet(tcp, channel, tcp_eps[0]);
    greet(posix, channel, posix_eps[0]);
    const Bytes first(500, 0x11), second(500, 0x22);
    const auto put = [&] {
      return uct_ep_put_short(posix_eps[0], second.data(), 500, window.remote(100), shared.key());
    };
    if (role == 0) {
      post(tcp, "the first put", [&] {
        return uct_ep_put_short(tcp_eps[0], first.data(), 500, window.remote(100), window.key());
      });
      require(put() == UCS_ERR_NO_RESOURCE, "the second put did not wait");
    }
    channel.barrier({});
    if (role == 0) {
      post(posix, "the second put", put);
      posix.flush(posix_eps[0]);
      tcp.flush(tcp_eps[0]);
    }
    channel.barrier(both);
    require(role == 0 || (*window.at(100) == 0x22 && *window.at(599) == 0x22), "wrong bytes");
    channel.barrier(both);
  }
  uct_ep_destroy(posix_eps[0]);
  uct_ep_destroy(tcp_eps[0]);
  return 0;
}

int alone(bool fences) {
  Channel channel(-1);
  return fence_over_lanes(channel, fences);
}

struct Test {
  const char* name;
  int (*run)(Channel& channel, int role);
};
constexpr Test kTests[] = {
    {"a put over tcp waits for a read over cma of the same bytes", put_behind_a_read},
    {"a read over cma waits for a put over tcp to the same bytes", read_behind_a_put},
    {"a put over posix waits for a put over tcp to the same bytes", puts_over_two},
    {"a message over tcp behind a fence waits for a read over cma, whose digests come over tcp",
     [](Channel& channel, int role) { return message_behind_a_read(channel, role, false); }},
    {"a message over tcp behind an interface's fence waits for a read over cma",
     [](Channel& channel, int role) { return message_behind_a_read(channel, role, true); }},
    {"a fence is one over all interfaces",
     [](Channel&, int role) { return role == 0 ? alone(true) : 0; }},
    {"an atomic operation is behind what came before",
     [](Channel&, int role) { return role == 0 ? alone(false) : 0; }},
    {"an atomic operation that finds another one waiting is behind what came between",
     [](Channel&, int role) {
       Channel self(-1);
       return role == 0 ? atomic_behind_a_waiting_one(self) : 0;
     }},
};

int run(int rounds) {
  unsigned number = 0;
  bool all_good = true;
  for (const Test& test : kTests) {
    int worst = 0;
    for (int round = 0; round < rounds && worst == 0; ++round) {
      pid_t pids[2];
      start_pair(test.run, pids);
      for (pid_t pid : pids) {
        int status;
        waitpid(pid, &status, 0);
        worst = std::max(worst, WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
      }
    }
    const bool skipped = worst == 77;
    all_good = all_good && (worst == 0 || skipped);
    std::printf("%s %u - %s%s\n", worst == 0 || skipped ? "ok" : "not ok", ++number, test.name,
                skipped ? " # SKIP" : "");
  }
  std::printf("1..%u\n", number);
  return all_good ? 0 : 1;
}

}  // namespace
}  // namespace verity::test

int main(int argc, char** argv) { return verity::test::run(argc > 1 ? std::atoi(argv[1]) : 5); }
