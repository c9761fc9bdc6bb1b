// SPDX-License-Identifier: BSD-3-Clause
//
// Every kind of send, every length, every way to cut.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "pending.h"

namespace verity::test {

uint64_t dice(uint64_t seed, uint64_t index) {
  uint64_t x = seed * 0x9e3779b97f4a7c15u + index * 0xd1342543de82ef95u + 0x2545f4914f6cdd1d;
  x ^= x >> 32;
  x *= 0xd6e8feb86659fd93u;
  x ^= x >> 32;
  return x;
}

namespace {

constexpr uint8_t kId = 3;

// All lengths when there are few; else the small ones, those around powers of two, the longest
// ones, and some in between.
std::vector<size_t> lengths_up_to(size_t from, size_t longest) {
  std::vector<size_t> lengths;
  for (size_t length = from; length <= longest; ++length) {
    bool near_power = (length & (length - 1)) == 0 || ((length + 1) & length) == 0 ||
                      ((length - 1) & (length - 2)) == 0;
    if (length < 600 || length + 40 > longest || near_power || length % 997 == 0) {
      lengths.push_back(length);
    }
  }
  return lengths;
}

// Sends one message of each length in both directions, the kind chosen, the cut by number.
void exchange_lengths(Side& side, Kind kind, size_t shortest,
                      Cut (*cut_of)(const Iface&, uint64_t)) {
  Iface iface(side.options);
  if (!Outbound::has(iface, kind)) { throw Skip("not offered by " + side.options.transport); }
  std::vector<size_t> lengths = lengths_up_to(shortest, Outbound::longest(iface, kind));
  auto length_of = [&](uint64_t i) {
    return i < lengths.size() ? std::max(lengths[i], cut_of(iface, i).header) : 0;
  };
  Inbound in(iface, kId, length_of);
  Endpoints eps(iface, side.channel, 1);
  Outbound out(iface, eps[0], kId, length_of);
  for (uint64_t i = 0; i < lengths.size(); ++i) { out.send(kind, cut_of(iface, i)); }
  out.wait();
  in.expect(lengths.size());
  iface.flush(eps[0]);
  finish(side, iface);
}

Cut plain(const Iface&, uint64_t) { return {}; }

Cut short_pieces(const Iface& iface, uint64_t i) {
  size_t most = std::max<size_t>(iface.attr().cap.am.max_iov, 1);
  return {.pieces = 1 + i % std::min<size_t>(most, 8)};
}

Cut zcopy_pieces(const Iface& iface, uint64_t i) {
  const auto& am = iface.attr().cap.am;
  size_t most = std::max<size_t>(am.max_iov, 1);
  return {.header = dice(5, i) % (std::min<size_t>(am.max_hdr, 64) + 1),
          .pieces = 1 + i % std::min<size_t>(most, 16),
          .completion = i % 5 != 0};
}

void all_short(Side& side) { exchange_lengths(side, Kind::kShort, 8, plain); }
void all_short_iov(Side& side) { exchange_lengths(side, Kind::kShortIov, 0, short_pieces); }
void all_bcopy(Side& side) { exchange_lengths(side, Kind::kBcopy, 0, plain); }
void all_zcopy(Side& side) { exchange_lengths(side, Kind::kZcopy, 0, zcopy_pieces); }

// A peer in mode off gets what the lower transport sends, which may have a shorter limit than the
// wrapper, whose frames are kept in any case.
void to_mode_off(Side& side, Kind kind, size_t shortest, Cut (*cut_of)(const Iface&, uint64_t)) {
  if (side.channel.alone()) throw Skip("needs two processes");
  if (side.options.transport.front() != 'v') throw Skip("only the wrapper has modes");
  if (std::getenv("UCX_FAULT_RATE") != nullptr) throw Skip("damage is not repaired in mode off");
  if (side.role == 1) setenv("UCX_VERITY_MODE", "off", 1);
  Iface iface(side.options);
  const bool has = Outbound::has(iface, kind) || side.role == 1;
  const size_t own = has ? Outbound::longest(iface, kind) : 0;
  const uint64_t other = exchange_number(side.channel, own);
  const std::vector<size_t> lengths = lengths_up_to(shortest, side.role == 0 ? own : other);
  const auto length_of = [&](uint64_t i) { return i < lengths.size() ? lengths[i] : 0; };
  Inbound in(iface, kId, length_of);
  Endpoints eps(iface, side.channel, 1);
  Outbound out(iface, eps[0], kId, length_of);
  for (uint64_t i = 0; side.role == 0 && i < lengths.size(); ++i) out.send(kind, cut_of(iface, i));
  out.wait();
  in.expect(side.role == 1 ? lengths.size() : 0);
  iface.flush(eps[0]);
  finish(side, iface);
}

void short_to_mode_off(Side& side) { to_mode_off(side, Kind::kShort, 8, plain); }
void short_iov_to_mode_off(Side& side) { to_mode_off(side, Kind::kShortIov, 0, short_pieces); }
void bcopy_to_mode_off(Side& side) { to_mode_off(side, Kind::kBcopy, 0, plain); }

// The longest header, the longest message (headers count), the longest list of pieces.
void zcopy_limits(Side& side) {
  Iface iface(side.options);
  if (!Outbound::has(iface, Kind::kZcopy)) {
    throw Skip("am_zcopy is not offered by " + side.options.transport);
  }
  const auto& am = iface.attr().cap.am;
  size_t header = am.max_hdr;
  size_t payload = std::min<size_t>(am.max_zcopy, 1 << 20);
  const size_t lengths[] = {header, payload, header, payload};
  auto length_of = [&](uint64_t i) { return i < 4 ? lengths[i] : 0; };
  Inbound in(iface, kId, length_of);
  Endpoints eps(iface, side.channel, 1);
  Outbound out(iface, eps[0], kId, length_of);
  out.send(Kind::kZcopy, {.header = header, .pieces = 1});
  out.send(Kind::kZcopy, {.header = header, .pieces = std::max<size_t>(am.max_iov, 1)});
  out.send(Kind::kZcopy, {.header = header, .pieces = 1, .completion = false});
  out.send(Kind::kZcopy, {.header = 0, .pieces = std::max<size_t>(am.max_iov, 1)});
  out.wait();
  in.expect(4);
  finish(side, iface);
}

Kind dice_kind(const Iface& iface, uint64_t seed, uint64_t i) {
  auto kind = static_cast<Kind>(dice(seed, i) % 4);
  return Outbound::has(iface, kind) ? kind : Kind::kBcopy;
}

// All kinds mixed, both directions at once: one order per endpoint.
void mixed_order(Side& side) {
  Iface iface(side.options);
  auto length_of = [&](uint64_t i) -> size_t {
    Kind kind = dice_kind(iface, 1, i);
    size_t longest = Outbound::longest(iface, kind);
    size_t limit =
        dice(2, i) % 8 == 0 ? std::min<size_t>(longest, 65536) : std::min<size_t>(longest, 300);
    size_t shortest = kind == Kind::kShort ? 8 : 0;
    return shortest + dice(3, i) % (limit - shortest + 1);
  };
  Inbound in(iface, kId, length_of);
  Endpoints eps(iface, side.channel, 1);
  Outbound out(iface, eps[0], kId, length_of);
  uint64_t messages = 200 * static_cast<uint64_t>(side.rounds);
  for (uint64_t i = 0; i < messages; ++i) {
    out.send(dice_kind(iface, 1, i));
    if (i % 64 == 0) { iface.progress(); }
  }
  out.wait();
  in.expect(messages, 60);
  finish(side, iface);
}

// What the attributes do not allow is refused at once and changes nothing: more bytes than fit
// would wait for room for ever.
void refused_arguments(Side& side) {
  Iface iface(side.options);
  if (side.options.transport.front() != 'v' || in_mode_off())
    throw Skip("stock UCX checks only where it was built to");
  const auto length_of = [](uint64_t) -> size_t { return 16; };
  Inbound in(iface, kId, length_of);
  Endpoints eps(iface, side.channel, 1);
  const auto& cap = iface.attr().cap.am;
  Bytes bytes(std::max(cap.max_short, cap.max_zcopy) + 64);
  const auto refused = [](ssize_t status, const char* what) {
    require(status == UCS_ERR_INVALID_PARAM, std::string(what) + " was not refused");
  };
  const auto pack = [](void*, void*) -> size_t {
    throw Failure("asked for a message that is refused");
  };
  const auto length = static_cast<unsigned>(cap.max_short + 1);
  const uct_iov_t iov{bytes.data(), length, UCT_MEM_HANDLE_NULL, 0, 1};
  const uct_iov_t one{bytes.data(), 8, UCT_MEM_HANDLE_NULL, 0, 1};
  refused(uct_ep_am_short(eps[0], kId, 0, bytes.data(), length - 8), "a long am_short");
  refused(uct_ep_am_short(eps[0], UCT_AM_ID_MAX, 0, bytes.data(), 8),
          "am_short with an id that is none");
  refused(uct_ep_am_short_iov(eps[0], kId, &iov, 1), "a long am_short_iov");
  refused(uct_ep_am_short_iov(eps[0], UCT_AM_ID_MAX, &one, 1),
          "am_short_iov with an id that is none");
  refused(uct_ep_am_bcopy(eps[0], UCT_AM_ID_MAX, pack, nullptr, 0),
          "am_bcopy with an id that is none");
  if (iface.has(UCT_IFACE_FLAG_AM_ZCOPY)) {
    const auto header = static_cast<unsigned>(cap.max_hdr);
    const uct_iov_t most{bytes.data(), cap.max_zcopy - 7, UCT_MEM_HANDLE_NULL, 0, 1};
    const std::vector<uct_iov_t> pieces(cap.max_iov + 1, one);
    refused(uct_ep_am_zcopy(eps[0], kId, bytes.data(), header + 1, &one, 1, 0, nullptr),
            "am_zcopy with a long header");
    refused(uct_ep_am_zcopy(eps[0], kId, bytes.data(), 8, &most, 1, 0, nullptr), "a long am_zcopy");
    refused(uct_ep_am_zcopy(eps[0], kId, bytes.data(), 8, pieces.data(), pieces.size(), 0, nullptr),
            "am_zcopy with many pieces");
    refused(uct_ep_am_zcopy(eps[0], UCT_AM_ID_MAX, bytes.data(), 8, &one, 1, 0, nullptr),
            "am_zcopy with an id that is none");
  }
  if (iface.has(UCT_IFACE_FLAG_PUT_SHORT)) {
    const auto put = static_cast<unsigned>(iface.attr().cap.put.max_short + 1);
    refused(uct_ep_put_short(eps[0], bytes.data(), put, 0, UCT_INVALID_RKEY), "a long put_short");
  }
  Outbound out(iface, eps[0], kId, length_of);
  out.send(Kind::kShort);
  in.expect(1);
  iface.flush(eps[0]);
  finish(side, iface);
}

// A zero-copy send that the lower transport completes at once, as tcp does when the socket took it,
// needs no progress of the sender over the wrapper either. The source is overwritten as soon as the
// send is complete.
void zcopy_at_once(Side& side) {
  if (!side.options.transport.ends_with("tcp") || side.channel.alone()) {
    throw Skip("its zero-copy sends complete in progress, or there are none");
  }
  Iface iface(side.options);
  if (!iface.has(UCT_IFACE_FLAG_AM_ZCOPY)) throw Skip("no am_zcopy");
  const size_t length = std::min<size_t>(Outbound::longest(iface, Kind::kZcopy), 16384);
  constexpr uint64_t kMessages = 10;
  auto length_of = [&](uint64_t i) -> size_t { return i == 0 ? 8 : length; };
  Inbound in(iface, kId, length_of);
  Endpoints eps(iface, side.channel, 1);
  Outbound out(iface, eps[0], kId, length_of);
  out.send(Kind::kBcopy);
  in.expect(1);
  finish(side, iface);  // both are connected, and know each other
  if (side.role == 0) {
    for (uint64_t i = 0; i < kMessages; ++i) {
      require(out.try_send(Kind::kZcopy, {.header = i % 2 * 16}) == UCS_OK, "no resources");
    }
    require(out.under_way() == 0,
            "incomplete without progress: " + std::to_string(out.under_way()));
  }
  side.channel.barrier({});
  out.wait();
  in.expect(side.role == 0 ? 1 : kMessages + 1);
  finish(side, iface);
}

// A thread that counts in memory which others send, as programs do that a torn value does not
// harm. Atomic operations, as far as they go: it is the copy that races.
class Counting {
 public:
  explicit Counting(uint64_t* word) : thread_([this, word] { count(*word); }) {}
  ~Counting() {
    ends_ = true;
    thread_.join();
  }
  Counting(const Counting&) = delete;
  Counting& operator=(const Counting&) = delete;

 private:
  void count(uint64_t& word) const {
    while (!ends_) std::atomic_ref<uint64_t>(word).fetch_add(1, std::memory_order_relaxed);
  }
  std::atomic<bool> ends_ = false;
  std::thread thread_;
};

// Whatever of it arrives, each message does, and in its order. No memory is blamed.
void short_while_written(Side& side) {
  Iface iface(side.options);
  if (!Outbound::has(iface, Kind::kShort)) throw Skip("no am_short");
  const size_t length = std::min<size_t>(Outbound::longest(iface, Kind::kShort), 8192);
  static uint64_t next;
  static bool is_ordered;
  next = 0;
  is_ordered = true;
  const auto handler = [](void*, void* data, size_t, unsigned) -> ucs_status_t {
    uint64_t number;
    std::memcpy(&number, data, sizeof(number));
    is_ordered = is_ordered && number == next++;
    return UCS_OK;
  };
  check(uct_iface_set_am_handler(iface.handle(), kId, handler, nullptr, 0), "set_am_handler");
  Endpoints eps(iface, side.channel, 1);
  std::vector<uint64_t> words(length / sizeof(uint64_t));
  const uint64_t messages = 200 * static_cast<uint64_t>(side.rounds);
  {
    const Counting counting(&words[words.size() / 2]);
    for (uint64_t i = 0; i < messages; ++i) {
      const auto send = [&] {
        return uct_ep_am_short(eps[0], kId, i, words.data(),
                               static_cast<unsigned>(length - sizeof(i)));
      };
      ucs_status_t status = UCS_ERR_NO_RESOURCE;
      iface.progress_until([&] { return (status = send()) != UCS_ERR_NO_RESOURCE; }, "room");
      check(status, "am_short");
    }
    iface.progress_until([&] { return next == messages; }, "messages");
  }
  require(is_ordered, "out of order");
  iface.flush(eps[0]);
  finish(side, iface);
}

// A program that writes to what it sends, behind the copy that is kept of it, while the socket is
// full: whatever arrives, no memory is blamed.
void zcopy_written(Side& side) {
  if (!side.options.transport.ends_with("tcp") || side.channel.alone())
    throw Skip("its zero-copy sends complete in progress, or there are none");
  Iface iface(side.options);
  if (!iface.has(UCT_IFACE_FLAG_AM_ZCOPY)) throw Skip("no am_zcopy");
  static uint64_t arrived;
  arrived = 0;
  const auto handler = [](void*, void*, size_t, unsigned) -> ucs_status_t {
    ++arrived;
    return UCS_OK;
  };
  check(uct_iface_set_am_handler(iface.handle(), kId, handler, nullptr, 0), "set_am_handler");
  Endpoints eps(iface, side.channel, 1);
  iface.progress_until([&] { return uct_ep_am_short(eps[0], kId, 0, nullptr, 0) == UCS_OK; },
                       "a connection");
  iface.progress_until([] { return arrived == 1; }, "a first message");
  finish(side, iface);  // both are connected, and know each other
  constexpr size_t kMost = 64;
  std::vector<Bytes> buffers(side.role == 0 ? kMost : 0,
                             Bytes(Outbound::longest(iface, Kind::kZcopy)));
  uct_completion_t comp = {[](uct_completion_t*) {}, 1, UCS_OK};
  uint64_t sent = 0;
  for (Bytes& bytes : buffers) {
    const uct_iov_t iov{bytes.data(), bytes.size(), UCT_MEM_HANDLE_NULL, 0, 1};
    const ucs_status_t status = uct_ep_am_zcopy(eps[0], kId, nullptr, 0, &iov, 1, 0, &comp);
    if (status == UCS_ERR_NO_RESOURCE) break;
    ++sent;
    if (status == UCS_INPROGRESS) ++comp.count;
  }
  const double until = seconds_now() + 0.02;
  if (side.role == 0) iface.progress_until([&] { return seconds_now() > until; }, "copies");
  for (Bytes& bytes : buffers) std::fill(bytes.begin(), bytes.end(), uint8_t{1});
  const uint64_t expected = exchange_number(side.channel, sent);
  iface.progress_until([&] { return comp.count == 1 && arrived == expected + 1; }, "messages");
  iface.flush(eps[0]);
  finish(side, iface);
}

constexpr Case kCases[] = {
    {"am_short, all lengths", all_short},
    {"am_short_iov, all lengths and cuts", all_short_iov},
    {"am_bcopy, all lengths", all_bcopy},
    {"am_zcopy, all lengths and cuts", all_zcopy},
    {"a peer in mode off: am_short, all lengths", short_to_mode_off},
    {"a peer in mode off: am_short_iov, all lengths and cuts", short_iov_to_mode_off},
    {"a peer in mode off: am_bcopy, all lengths", bcopy_to_mode_off},
    {"am_zcopy, the largest header, payload and list", zcopy_limits},
    {"am_zcopy completes at once where the lower transport's does", zcopy_at_once},
    {"am_short of memory that a thread writes to", short_while_written},
    {"am_zcopy of memory that the program writes to", zcopy_written},
    {"all kinds mixed keep their order", mixed_order},
    {"arguments that the attributes do not allow", refused_arguments},
};

}  // namespace

std::span<const Case> send_cases() { return kCases; }

}  // namespace verity::test
