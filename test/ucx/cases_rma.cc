// SPDX-License-Identifier: BSD-3-Clause
//
// Remote memory access: puts, gets, zero-copy reads, their order, their end, and keys that are no longer good.
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>

#include "cases.h"

namespace verity::test {

namespace {

constexpr uint8_t kId = 6;
constexpr uint8_t kPattern = 77;  // content of a window: that of message `kPattern` of a flow

// Registered memory, and the other process's.
class Window {
 public:
  Window(Iface& iface, Channel& channel, size_t length) : iface_(iface), length_(length) {
    void* mapped = mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    require(mapped != MAP_FAILED, "no memory");
    memory_ = static_cast<uint8_t*>(mapped);
    fill(memory_, length, kPattern, 0);
    check(uct_md_mem_reg(iface.md(), memory_, length, UCT_MD_MEM_ACCESS_ALL, &memh_), "uct_md_mem_reg");
    Bytes mine(sizeof(uint64_t) + iface.md_attr().rkey_packed_size);
    const auto address = reinterpret_cast<uint64_t>(memory_);
    std::memcpy(mine.data(), &address, sizeof(address));
    check(uct_md_mkey_pack(iface.md(), memh_, mine.data() + sizeof(address)), "uct_md_mkey_pack");
    const Bytes theirs = channel.exchange(mine);
    std::memcpy(&remote_, theirs.data(), sizeof(remote_));
    check(uct_rkey_unpack(component_of(iface), theirs.data() + sizeof(remote_), &key_), "uct_rkey_unpack");
  }
  ~Window() {
    uct_rkey_release(component_of(iface_), &key_);
    deregister();
    munmap(memory_, length_);
  }
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;

  void deregister() {
    if (memh_ != UCT_MEM_HANDLE_NULL) uct_md_mem_dereg(iface_.md(), memh_);
    memh_ = UCT_MEM_HANDLE_NULL;
  }
  // From that offset on, a multiple of the page size.
  void take_away(size_t offset) {
    void* hole = mmap(memory_ + offset, length_ - offset, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    require(hole != MAP_FAILED, "mmap");
  }
  [[nodiscard]] uint8_t* at(size_t offset) { return memory_ + offset; }
  [[nodiscard]] uint64_t remote(size_t offset) const { return remote_ + offset; }
  [[nodiscard]] uct_rkey_t key() const { return key_.rkey; }

 private:
  static uct_component_h component_of(const Iface& iface) { return iface.component(); }
  Iface& iface_;
  size_t length_;
  uint8_t* memory_ = nullptr;
  uct_mem_h memh_ = UCT_MEM_HANDLE_NULL;
  uint64_t remote_ = 0;
  uct_rkey_bundle_t key_ = {};
};

void need(const Iface& iface, uint64_t flags, const Side& side) {
  if (!iface.has(flags)) throw Skip("not offered by " + side.options.transport);
  if ((iface.md_attr().cap.flags & UCT_MD_FLAG_REG) == 0) throw Skip("no registration in " + side.options.transport);
}

// Tries until there is room.
template <typename Operation>
ucs_status_t post(Iface& iface, const std::string& what, Operation&& operation) {
  ucs_status_t status = UCS_ERR_NO_RESOURCE;
  iface.progress_until(
      [&] {
        status = operation();
        return status != UCS_ERR_NO_RESOURCE;
      },
      "room for a " + what);
  check(status, what);
  return status;
}

size_t pack_bytes(void* target, void* argument) {
  const Bytes& content = *static_cast<const Bytes*>(argument);
  std::copy(content.begin(), content.end(), static_cast<uint8_t*>(target));
  return content.size();
}

void put(Iface& iface, uct_ep_h ep, const Window& window, size_t offset, const Bytes& content, bool as_short) {
  if (as_short) {
    post(iface, "put_short", [&] {
      return uct_ep_put_short(ep, content.data(), static_cast<unsigned>(content.size()), window.remote(offset), window.key());
    });
    return;
  }
  post(iface, "put_bcopy", [&] {
    const ssize_t sent = uct_ep_put_bcopy(ep, pack_bytes, const_cast<Bytes*>(&content), window.remote(offset), window.key());
    require(sent < 0 || sent == static_cast<ssize_t>(content.size()), "put_bcopy tells a wrong length");
    return sent < 0 ? static_cast<ucs_status_t>(sent) : UCS_OK;
  });
}

// Puts of every length, each followed by a message: what was put is there when the message comes. The other side
// tells when it has looked, before the place is used again.
void puts_before_messages(Side& side) {
  Iface iface(side.options);
  need(iface, UCT_IFACE_FLAG_PUT_SHORT | UCT_IFACE_FLAG_PUT_BCOPY, side);
  const auto& cap = iface.attr().cap.put;
  const size_t longest = std::min<size_t>(std::min(cap.max_bcopy, cap.max_short), 1 << 20);
  const size_t window_length = longest + 64;
  const auto length_of_put = [&](uint64_t i) -> size_t {
    return i == 0 ? 0 : i == 1 ? longest : dice(1, i) % 3 == 0 ? dice(2, i) % (longest + 1) : dice(2, i) % 200;
  };
  const auto offset_of = [&](uint64_t i) { return dice(3, i) % (window_length - length_of_put(i) + 1); };
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
    iface.progress_until([&] { answer(); return looked.count() >= i; }, "the other side's looking");
    Bytes content(length_of_put(i));
    fill(content.data(), content.size(), kPattern, i + 1);
    put(iface, eps[0], memory, offset_of(i), content, i % 2 == 0);
    check(uct_ep_fence(eps[0], 0), "uct_ep_fence");
    out.send(Kind::kShort);
  }
  iface.progress_until([&] { answer(); return looked.count() >= count && in.count() >= count; }, "the last ones");
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

struct Get {
  uct_completion_t completion = {};
  size_t offset = 0;
  Bytes content;
  unsigned* open = nullptr;
  ucs_status_t status = UCS_INPROGRESS;

  static void unpack(void* argument, const void* data, size_t length) {
    auto* self = static_cast<Get*>(argument);
    if (length == self->content.size()) std::memcpy(self->content.data(), data, length);
  }
  static void done(uct_completion_t* completion) {
    auto* self = reinterpret_cast<Get*>(completion);
    self->status = completion->status;
    --*self->open;
  }
  uct_completion_t* start(unsigned* counter) {
    open = counter;
    ++*open;
    completion = {done, 1, UCS_OK};
    return &completion;
  }
};
static_assert(offsetof(Get, completion) == 0);

// `of`: the window's content, which never changes here.
void verify(Get& get, const Bytes& of) {
  require(get.status == UCS_OK, std::string("a get ended with: ") + ucs_status_string(get.status));
  require(std::equal(get.content.begin(), get.content.end(), of.begin() + static_cast<ptrdiff_t>(get.offset)),
          "a get brought wrong bytes");
}

Bytes window_content(size_t length) {
  Bytes bytes(length);
  fill(bytes.data(), length, kPattern, 0);
  return bytes;
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
    get.content.resize(i == 0 ? longest : dice(8, i) % 4 == 0 ? dice(9, i) % (longest + 1) : dice(9, i) % 100);
    get.offset = dice(10, i) % (length - get.content.size() + 1);
    uct_completion_t* completion = i % 5 == 0 ? nullptr : get.start(&open);
    const ucs_status_t status = post(iface, "get_bcopy", [&] {
      return uct_ep_get_bcopy(eps[0], Get::unpack, &get, get.content.size(), window.remote(get.offset), window.key(), completion);
    });
    if (completion == nullptr) get.status = UCS_OK;
    if (status == UCS_OK && completion != nullptr) Get::done(completion);
  }
  iface.flush(eps[0]);
  iface.progress_until([&] { return open == 0; }, "gets");
  for (Get& get : gets) verify(get, content);
  finish(side, iface);
}

// The first message ever is a get, to a side that has no endpoint: it learns from that where to answer.
void get_from_a_stranger(Side& side) {
  Iface iface(side.options);
  need(iface, UCT_IFACE_FLAG_GET_BCOPY, side);
  if (!iface.has(UCT_IFACE_FLAG_CONNECT_TO_IFACE) || side.channel.alone()) throw Skip("endpoints are connected in pairs, or alone");
  const Iface::Address peer = iface.exchange_addresses(side.channel);
  Window window(iface, side.channel, 4096);
  if (side.role == 0) {
    uct_ep_h ep = iface.connect_to_iface(peer);
    Get get;
    get.content.resize(1000);
    unsigned open = 0;
    uct_completion_t* completion = get.start(&open);
    post(iface, "get_bcopy", [&] {
      return uct_ep_get_bcopy(ep, Get::unpack, &get, 1000, window.remote(0), window.key(), completion);
    });
    iface.progress_until([&] { return open == 0; }, "a get as the first message");
    verify(get, window_content(4096));
    uct_ep_destroy(ep);
  }
  finish(side, iface);
}

// A get behind a fence sees the put before it.
void fence_orders_gets(Side& side) {
  Iface iface(side.options);
  need(iface, UCT_IFACE_FLAG_PUT_SHORT | UCT_IFACE_FLAG_GET_BCOPY, side);
  Endpoints eps(iface, side.channel, 1);
  Window window(iface, side.channel, 4096);
  for (uint64_t i = 1; i <= 5 * static_cast<uint64_t>(side.rounds); ++i) {
    const size_t length = 1 + dice(4, i) % 1000;
    Bytes content(length);
    fill(content.data(), length, kPattern, i);
    put(iface, eps[0], window, 100, content, true);
    check(i % 2 == 0 ? uct_iface_fence(iface.handle(), 0) : uct_ep_fence(eps[0], 0), "fence");
    Get get;
    get.content.resize(length);
    unsigned open = 0;
    uct_completion_t* completion = get.start(&open);
    const ucs_status_t status = post(iface, "get_bcopy", [&] {
      return uct_ep_get_bcopy(eps[0], Get::unpack, &get, length, window.remote(100), window.key(), completion);
    });
    if (status == UCS_OK) Get::done(completion);
    iface.progress_until([&] { return open == 0; }, "a get behind a fence");
    require(get.content == content, "a get behind a fence brought what was there before the put");
  }
  iface.flush(eps[0]);
  finish(side, iface);
}

// Polling: data, a fence, a flag behind it. Who sees the flag takes the data out of the mailbox, and spoils it at once, long
// before any check of a write made after the fact could come.
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
    put(iface, eps[0], window, 0, content, i % 3 == 0);
    check(i % 2 == 0 ? uct_iface_fence(iface.handle(), 0) : uct_ep_fence(eps[0], 0), "fence");
    Bytes number(8);
    std::memcpy(number.data(), &i, sizeof(i));
    put(iface, eps[0], window, kFlag, number, true);
  };
  const uint64_t count = 20 * static_cast<uint64_t>(side.rounds);
  for (uint64_t i = 1; i <= count; ++i) {
    if (side.role == 0) send(i);
    iface.progress_until([&] { return flag() == i; }, "a flag");
    require(first_wrong(window.at(0), length_of(i), kPattern, i) == length_of(i), "the flag came before the data");
    std::memset(window.at(0), 0xee, kFlag);
    if (side.role == 1) send(i);
  }
  iface.flush(eps[0]);
  finish(side, iface);
}

// Counters of both sides' memory, hit from both sides at once: every operation counts once, and each of those that fetch saw a
// value that no other one saw.
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
  for (uint64_t i = 0; i < rounds; ++i) {
    post(iface, "atomic64_post", [&] { return uct_ep_atomic64_post(eps[0], UCT_ATOMIC_OP_ADD, 3, window.remote(0), window.key()); });
    post(iface, "atomic32_post", [&] { return uct_ep_atomic32_post(eps[0], UCT_ATOMIC_OP_XOR, 1u << i % 32, window.remote(8), window.key()); });
    uct_completion_t* done = gets.emplace_back().start(&open);
    seen64.push_back(0);
    post(iface, "atomic64_fetch", [&] {
      return uct_ep_atomic64_fetch(eps[0], UCT_ATOMIC_OP_ADD, 1, &seen64.back(), window.remote(16), window.key(), done);
    });
    done = gets.emplace_back().start(&open);
    seen32.push_back(0);
    post(iface, "atomic_cswap32", [&] {  // from the value that it must have: each succeeds
      return uct_ep_atomic_cswap32(eps[0], static_cast<uint32_t>(i), static_cast<uint32_t>(i + 1), window.remote(24), window.key(),
                                   &seen32.back(), done);
    });
  }
  iface.flush(eps[0]);
  iface.progress_until([&] { return open == 0; }, "atomic operations");
  for (const Get& get : gets) require(get.status == UCS_OK, "an atomic operation failed");
  for (uint64_t i = 0; i < rounds; ++i) require(seen64[i] == i && seen32[i] == i, "a fetched value is wrong");
  side.channel.barrier([&] { iface.progress(); });
  uint64_t sum;
  uint32_t bits;
  uint32_t last;
  std::memcpy(&sum, window.at(0), sizeof(sum));
  std::memcpy(&bits, window.at(8), sizeof(bits));
  std::memcpy(&last, window.at(24), sizeof(last));
  uint32_t wanted = 0;
  for (uint64_t i = 0; i < rounds; ++i) wanted ^= 1u << i % 32;
  require(sum == 3 * rounds && bits == wanted && last == rounds, "an atomic operation is lost, or was done twice");
  finish(side, iface);
}

// What was deregistered is neither read nor written, and the owner lives.
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
    Get get;
    get.content.resize(64);
    unsigned open = 0;
    uct_completion_t* completion = get.start(&open);
    post(iface, "get_bcopy", [&] {
      return uct_ep_get_bcopy(eps[0], Get::unpack, &get, 64, window.remote(0), window.key(), completion);
    });
    iface.progress_until([&] { return open == 0; }, "a refused get");
    require(get.status == UCS_ERR_REJECTED, std::string("a refused get ended with: ") + ucs_status_string(get.status));
    put(iface, eps[0], window, 0, Bytes(64, 0xee), true);
    iface.progress_until([&] { return iface.errors() != 0; }, "the word that a put was refused");
  }
  side.channel.barrier([&] { iface.progress(); });
  require(first_wrong(window.at(0), 4096, kPattern, 0) == 4096, "deregistered memory was written");
}

// The transport under test with cma in posix' place; throws Skip where there is none.
Options reading_beside(const Side& side) {
  Options options = side.options;
  const size_t at = options.transport.find("posix");
  if (at == std::string::npos || side.channel.alone()) throw Skip("done with posix and cma");
  options.transport.replace(at, 5, "cma");
  if (!options.transport.starts_with('v')) throw Skip("stock UCX is not what is tested here");
  return options;
}

// Zero-copy reads, in pieces, of all lengths, many at a time; through a transport that has nothing else (cma), with the transport
// under test to carry the digests.
void zcopy_reads(Side& side) {
  Iface carrier(side.options);
  Iface reader(reading_beside(side), carrier);
  need(reader, UCT_IFACE_FLAG_GET_ZCOPY, side);
  const size_t length = 3 << 20;
  const Bytes content = window_content(length);
  Endpoints carriers(carrier, side.channel, 1);
  Endpoints readers(reader, side.channel, 1);
  Window window(reader, side.channel, length);
  std::deque<Get> gets;
  unsigned open = 0;
  const size_t pieces = std::min<size_t>(reader.attr().cap.get.max_iov, 8);
  uct_iov_t none{};
  check(uct_ep_get_zcopy(readers[0], &none, 1, window.remote(0), window.key(), nullptr), "a read of nothing");
  for (uint64_t i = 0; i < 3 * static_cast<uint64_t>(side.rounds); ++i) {
    Get& get = gets.emplace_back();
    get.content.resize(i == 0 ? length : 1 + (dice(21, i) % 3 == 0 ? dice(22, i) % (length - 1) : dice(22, i) % 20000));
    get.offset = dice(23, i) % (length - get.content.size() + 1);
    uct_iov_t iov[8];
    size_t begin = 0;
    const size_t count = 1 + i % pieces;
    for (size_t p = 0; p < count; ++p) {
      const size_t end = p + 1 == count ? get.content.size() : get.content.size() * (p + 1) / count;
      iov[p] = {get.content.data() + begin, end - begin, UCT_MEM_HANDLE_NULL, 0, 1};
      begin = end;
    }
    uct_completion_t* completion = i % 7 == 0 ? nullptr : get.start(&open);
    post(reader, "get_zcopy", [&] {
      return uct_ep_get_zcopy(readers[0], iov, count, window.remote(get.offset), window.key(), completion);
    });
    if (completion == nullptr) get.status = UCS_OK;
  }
  reader.flush(readers[0]);
  reader.progress_until([&] { return open == 0; }, "reads");
  for (Get& get : gets) verify(get, content);
  side.channel.barrier([&] { carrier.progress(); });
}

// One read of VERITY_READ_BYTES bytes, for test/integration/large_read.sh.
void large_read(Side& side) {
  const char* wanted = std::getenv("VERITY_READ_BYTES");
  if (wanted == nullptr) throw Skip("only with VERITY_READ_BYTES set");
  const size_t length = std::stoull(wanted);
  Iface carrier(side.options);
  Iface reader(reading_beside(side), carrier);
  need(reader, UCT_IFACE_FLAG_GET_ZCOPY, side);
  Endpoints carriers(carrier, side.channel, 1);
  Endpoints readers(reader, side.channel, 1);
  Window window(reader, side.channel, side.role == 1 ? length : 8);
  if (side.role == 0) {
    Get get;
    get.content.resize(length);
    unsigned open = 0;
    const uct_iov_t iov{get.content.data(), length, UCT_MEM_HANDLE_NULL, 0, 1};
    uct_completion_t* completion = get.start(&open);
    post(reader, "get_zcopy", [&] {
      return uct_ep_get_zcopy(readers[0], &iov, 1, window.remote(0), window.key(), completion);
    });
    reader.progress_until([&] { return open == 0; }, "the read", 120);
    require(get.status == UCS_OK, std::string("the read ended with: ") + ucs_status_string(get.status));
    require(first_wrong(get.content.data(), length, kPattern, 0) == length, "the read brought wrong bytes");
  }
  side.channel.barrier([&] { carrier.progress(); });
}

// A request that waits for the link that digests come over, and destroys its endpoint when it is run: with others behind it, and
// with an endpoint made in its place, be it at the same address.
struct Suicide {
  uct_pending_req_t request = {};
  Iface* iface = nullptr;
  const Iface::Address* peer = nullptr;
  uct_ep_h* ep = nullptr;
  ucs_status_t result = UCS_OK;
  unsigned runs = 0;

  static ucs_status_t run(uct_pending_req_t* request) {
    auto* self = reinterpret_cast<Suicide*>(request);
    ++self->runs;
    uct_ep_pending_purge(*self->ep, [](uct_pending_req_t*, void*) {}, nullptr);
    uct_ep_destroy(*self->ep);
    *self->ep = self->iface->connect_to_iface(*self->peer);
    return self->result;
  }
};
static_assert(offsetof(Suicide, request) == 0);

void requests_that_destroy(Side& side) {
  Iface carrier(side.options);
  Iface reader(reading_beside(side), carrier);
  need(reader, UCT_IFACE_FLAG_GET_ZCOPY, side);
  const Iface::Address peer = reader.exchange_addresses(side.channel);
  for (const ucs_status_t result : {UCS_OK, UCS_ERR_NO_RESOURCE, UCS_INPROGRESS}) {
    uct_ep_h ep = reader.connect_to_iface(peer);
    Suicide first;
    Suicide second;
    for (Suicide* request : {&first, &second}) {
      *request = {{}, &reader, &peer, &ep, result, 0};
      request->request.func = Suicide::run;
      check(uct_ep_pending_add(ep, &request->request, 0), "uct_ep_pending_add without a link to the peer");
    }
    reader.progress_until([&] { return first.runs != 0; }, "the first request");
    for (int i = 0; i < 100; ++i) reader.progress();
    require(first.runs == 1 && second.runs == 0, "a request was run again, or after its endpoint went");
    uct_ep_destroy(ep);
  }
  side.channel.barrier([&] { carrier.progress(); });
}

// The owner's memory goes away under its registration: an error for the reader, no signal for the owner.
void memory_taken_away(Side& side) {
  Iface iface(side.options);
  need(iface, UCT_IFACE_FLAG_GET_BCOPY, side);
  if (side.options.transport.front() != 'v' || side.channel.alone()) throw Skip("needs a peer, and the plugin");
  Endpoints eps(iface, side.channel, 1);
  Window window(iface, side.channel, 1 << 20);
  if (side.role == 1) window.take_away(4096 * 8);
  side.channel.barrier([] {});
  if (side.role == 0) {
    Get get;
    get.content.resize(64);
    unsigned open = 0;
    uct_completion_t* completion = get.start(&open);
    post(iface, "get_bcopy", [&] {
      return uct_ep_get_bcopy(eps[0], Get::unpack, &get, 64, window.remote(4096 * 9), window.key(), completion);
    });
    iface.progress_until([&] { return open == 0; }, "a get of what is not there");
    require(get.status == UCS_ERR_IO_ERROR, std::string("a get of unmapped memory ended with: ") + ucs_status_string(get.status));
  }
  side.channel.barrier([&] { iface.progress(); });
}

// The same with writes: a lost endpoint for who writes.
void memory_taken_from_writes(Side& side) {
  if (side.options.transport.front() != 'v' || side.channel.alone()) throw Skip("needs a peer, and the plugin");
  for (int kind = 0; kind < 4; ++kind) {
    Iface iface(side.options);
    need(iface, UCT_IFACE_FLAG_PUT_SHORT | UCT_IFACE_FLAG_PUT_BCOPY | UCT_IFACE_FLAG_ATOMIC_CPU, side);
    Endpoints eps(iface, side.channel, 1);
    Window window(iface, side.channel, 1 << 16);
    if (side.role == 1) window.take_away(4096);
    side.channel.barrier([] {});
    if (side.role == 0) {
      Get get;
      unsigned open = 0;
      uint64_t result = 0;
      if (kind < 2) {  // over the edge
        put(iface, eps[0], window, 4000, Bytes(200, 0xee), kind == 0);
      } else if (kind == 2) {
        post(iface, "atomic64_post", [&] { return uct_ep_atomic64_post(eps[0], UCT_ATOMIC_OP_ADD, 1, window.remote(8192), window.key()); });
      } else {
        uct_completion_t* done = get.start(&open);
        post(iface, "atomic64_fetch", [&] {
          return uct_ep_atomic64_fetch(eps[0], UCT_ATOMIC_OP_ADD, 1, &result, window.remote(8192), window.key(), done);
        });
      }
      iface.progress_until([&] { return kind == 3 ? open == 0 : iface.errors() != 0; }, "the word that a write failed");
      if (kind == 3) require(get.status == UCS_ERR_IO_ERROR, std::string("an atomic operation ended with: ") + ucs_status_string(get.status));
    }
    side.channel.barrier([&] { iface.progress(); });
  }
}

constexpr Case kCases[] = {
    {"rma: puts are there before the messages behind them", puts_before_messages},
    {"rma: a flush waits until puts are applied", flush_means_applied},
    {"rma: mailboxes that are polled", mailboxes},
    {"rma: gets in frames", gets_in_frames},
    {"rma: a get as the first message", get_from_a_stranger},
    {"rma: a fence orders gets behind puts", fence_orders_gets},
    {"rma: atomic operations", atomics},
    {"rma: deregistered memory is refused", dead_keys_are_refused},
    {"rma: memory that the program took away", memory_taken_away},
    {"rma: memory that the program took away from writes", memory_taken_from_writes},
    {"rma: zero-copy reads", zcopy_reads},
    {"rma: a large read", large_read},
    {"rma: requests that destroy their endpoint", requests_that_destroy},
};

}  // namespace

std::span<const Case> rma_cases() { return kCases; }

}  // namespace verity::test
