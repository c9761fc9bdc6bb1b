// SPDX-License-Identifier: BSD-3-Clause
//
// Reads from registered memory without a copy.
#include <algorithm>
#include <cstdlib>
#include <deque>

#include "../window.h"

namespace verity::test {

namespace {

// Zero-copy reads, in pieces, of all lengths, many at a time; through a transport that has nothing
// else (cma), with the transport under test to carry the digests.
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
  check(uct_ep_get_zcopy(readers[0], &none, 1, window.remote(0), window.key(), nullptr),
        "a read of nothing");
  for (uint64_t i = 0; i < 3 * static_cast<uint64_t>(side.rounds); ++i) {
    Get& get = gets.emplace_back();
    get.content.resize(
        i == 0 ? length
               : 1 + (dice(21, i) % 3 == 0 ? dice(22, i) % (length - 1) : dice(22, i) % 20000));
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
      return uct_ep_get_zcopy(readers[0], iov, count, window.remote(get.offset), window.key(),
                              completion);
    });
    if (completion == nullptr) get.status = UCS_OK;
  }
  reader.flush(readers[0]);
  reader.progress_until([&] { return open == 0; }, "reads");
  for (Get& get : gets) verify(get, content);
  side.channel.barrier([&] { carrier.progress(); });
}

// A read over a worker with no transport for messages to the peer, which can be sent no request for
// digests, now or later: it goes at once, and counts as unverified.
void read_at_once(Side& side, Iface& reader) {
  need(reader, UCT_IFACE_FLAG_GET_ZCOPY, side);
  Endpoints readers(reader, side.channel, 1);
  Window window(reader, side.channel, 4096);
  Get get;
  get.content.resize(1000);
  unsigned open = 0;
  uct_completion_t* completion = get.start(&open);
  const uct_iov_t iov{get.content.data(), get.content.size(), UCT_MEM_HANDLE_NULL, 0, 1};
  const ucs_status_t status =
      uct_ep_get_zcopy(readers[0], &iov, 1, window.remote(0), window.key(), completion);
  check(status, "the first uct_ep_get_zcopy");
  if (status == UCS_OK) Get::done(completion);
  reader.progress_until([&] { return open == 0; }, "a read");
  get.status = UCS_OK;
  verify(get, window_content(4096));
  side.channel.barrier([] {});
}

void reads_alone(Side& side) {
  Iface reader(reading_beside(side));
  read_at_once(side, reader);
}

// As with raw transports for messages: a program that sleeps would not wake, were a link waited
// for.
void reads_beside_self(Side& side) {
  Options own = side.options;
  own.transport = "vself";
  own.device.clear();
  const Options reads = reading_beside(side);
  Iface alone(own);
  Iface reader(reads, alone);
  read_at_once(side, reader);
}

// A read waits for a link to the peer, as where a raw transport carries the messages: nothing wakes
// a program that sleeps when none comes.
void no_sleep_without_link(Side& side) {
  constexpr unsigned kEvents = UCT_EVENT_SEND_COMP | UCT_EVENT_RECV;
  if (!in_mode_verify()) throw Skip("only in mode verify does a read wait for a link");
  Iface carrier(side.options);
  Iface reader(reading_beside(side), carrier);
  need(reader, UCT_IFACE_FLAG_GET_ZCOPY, side);
  Endpoints readers(reader, side.channel, 1);
  Window window(reader, side.channel, 4096);
  Bytes content(1000);
  const uct_iov_t iov{content.data(), content.size(), UCT_MEM_HANDLE_NULL, 0, 1};
  check(uct_iface_event_arm(reader.handle(), kEvents), "uct_iface_event_arm with nothing to do");
  require(uct_ep_get_zcopy(readers[0], &iov, 1, window.remote(0), window.key(), nullptr) ==
              UCS_ERR_NO_RESOURCE,
          "a read waits for no link");
  uct_pending_req_t request{[](uct_pending_req_t*) { return UCS_ERR_NO_RESOURCE; }, {}};
  check(uct_ep_pending_add(readers[0], &request, 0), "uct_ep_pending_add");
  require(uct_iface_event_arm(reader.handle(), kEvents) == UCS_ERR_BUSY,
          "the program may sleep while a read waits for a link");
  uct_ep_pending_purge(
      readers[0], [](uct_pending_req_t*, void*) {}, nullptr);
  check(uct_iface_event_arm(reader.handle(), kEvents), "uct_iface_event_arm after the purge");
  side.channel.barrier([&] { carrier.progress(); });
}

// One read of VERITY_READ_BYTES bytes, for test/integration/onesided/large_read.sh.
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
    require(get.status == UCS_OK,
            std::string("the read ended with: ") + ucs_status_string(get.status));
    require(first_wrong(get.content.data(), length, kPattern, 0) == length,
            "the read brought wrong bytes");
  }
  side.channel.barrier([&] { carrier.progress(); });
}

// A request that waits for the link that digests come over, and destroys its endpoint when it is
// run: with others behind it, and with an endpoint made in its place, be it at the same address.
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
    uct_ep_pending_purge(
        *self->ep, [](uct_pending_req_t*, void*) {}, nullptr);
    uct_ep_destroy(*self->ep);
    *self->ep = self->iface->connect_to_iface(*self->peer);
    return self->result;
  }
};
static_assert(offsetof(Suicide, request) == 0);

void requests_that_destroy(Side& side) {
  if (!in_mode_verify()) throw Skip("only in mode verify does a read wait for a link");
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
      check(uct_ep_pending_add(ep, &request->request, 0),
            "uct_ep_pending_add without a link to the peer");
    }
    reader.progress_until([&] { return first.runs != 0; }, "the first request");
    for (int i = 0; i < 100; ++i) reader.progress();
    require(first.runs == 1 && second.runs == 0,
            "a request was run again, or after its endpoint went");
    uct_ep_destroy(ep);
  }
  side.channel.barrier([&] { carrier.progress(); });
}

constexpr Case kCases[] = {
    {"rma: reads without a transport for messages", reads_alone},
    {"rma: reads with the self transport alone for messages", reads_beside_self},
    {"rma: no sleep while a read waits for a link", no_sleep_without_link},
    {"rma: zero-copy reads", zcopy_reads},
    {"rma: a large read", large_read},
    {"rma: requests that destroy their endpoint", requests_that_destroy},
};

}  // namespace

std::span<const Case> read_cases() { return kCases; }

}  // namespace verity::test
