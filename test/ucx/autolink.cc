// SPDX-License-Identifier: BSD-3-Clause
//
// Linked structures over UCX between two processes, with the transports that UCX_TLS names.
//
//   autolink_ucp [NODES]
//
// Prints TAP; each side compares what it receives with what was sent.
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "autolink/ucp_channel.h"
#include "mpi/libraries/autolink_list.h"
#include "ucp_peer.h"
#include "ucx-verity/autolink_ucp.h"

namespace verity::test {
namespace {

using autolink::UcpHeader;
using autolink::UcpKind;

constexpr unsigned kAm = 5;
constexpr uint64_t kTag = 42;
constexpr verity_autolink_type kType = {&node_schema, node_number_node, nullptr};

struct Side {
  Channel& channel;
  UcpPeer& peer;
  int role;
  long nodes;
  [[nodiscard]] bool is_sender() const { return role == 0; }
  void meet() const {
    channel.barrier([&] { ucp_worker_progress(peer.worker()); });
  }
};

// A channel of the worker, as long as it lives.
class Link {
 public:
  explicit Link(const UcpPeer& peer) {
    require(verity_autolink_ucp_open(peer.worker(), kAm, &handle_) == 0, "open");
  }
  ~Link() { verity_autolink_ucp_close(handle_); }
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;
  operator verity_autolink_ucp*() const { return handle_; }
  void expect(int code, int expected, const char* what) const {
    require(code == expected, std::string(what) + ": " + std::strerror(code) + " (" +
                                  verity_autolink_ucp_error(handle_) + ")");
  }

 private:
  verity_autolink_ucp* handle_ = nullptr;
};

void compare(verity_autolink_structure* structure, long count, long seed) {
  const long wrong = wrong_nodes(verity_autolink_root(structure), count, seed);
  verity_autolink_free(structure);
  require(wrong == 0, "the structure arrives equal");
}

void blocking(const Side& side) {
  const Link link(side.peer);
  side.meet();
  if (side.is_sender()) {
    list mine = make(side.nodes, 1);
    link.expect(verity_autolink_ucp_send(link, &kType, mine.nodes, 1, side.peer.ep(), kTag), 0,
                "send");
    release(&mine);
    link.expect(verity_autolink_ucp_send(link, &kType, nullptr, 0, side.peer.ep(), kTag), 0,
                "send of nothing");
  } else {
    verity_autolink_structure* theirs = nullptr;
    link.expect(verity_autolink_ucp_recv(link, &kType, kTag, &theirs), 0, "receive");
    compare(theirs, side.nodes, 1);
    link.expect(verity_autolink_ucp_recv(link, &kType, kTag, &theirs), 0, "receive of nothing");
    require(verity_autolink_root(theirs) == nullptr, "nothing arrives");
    verity_autolink_free(theirs);
  }
  side.meet();
}

// Both ways at once, three tags, two structures with each; receives are started in another order.
void nonblocking(const Side& side) {
  constexpr long kTags = 3, kEach = 2;
  const Link link(side.peer);
  const long nodes = std::max(side.nodes / (kTags * kEach), 1L);
  side.meet();
  std::vector<list> mine;
  std::vector<verity_autolink_ucp_request*> requests(2 * kTags * kEach);
  std::vector<verity_autolink_structure*> theirs(kTags * kEach);
  const auto seed = [](int role, long i) { return 1000 * role + i; };
  for (long i = 0; i < kTags * kEach; ++i) {
    mine.push_back(make(nodes + i, seed(side.role, i)));
    link.expect(verity_autolink_ucp_isend(link, &kType, mine.back().nodes, 1, side.peer.ep(),
                                          static_cast<uint64_t>(i % kTags), &requests[i]),
                0, "isend");
  }
  for (long tag = kTags - 1; tag >= 0; --tag) {
    for (long i = tag; i < kTags * kEach; i += kTags) {
      link.expect(verity_autolink_ucp_irecv(link, &kType, static_cast<uint64_t>(tag), &theirs[i],
                                            &requests[kTags * kEach + i]),
                  0, "irecv");
    }
  }
  for (const double limit = seconds_now() + 120;
       std::any_of(requests.begin(), requests.end(), [](auto* r) { return r != nullptr; });) {
    for (auto& request : requests) {
      int flag = 0;
      link.expect(verity_autolink_ucp_test(&request, &flag), 0, "test");
      require((flag != 0) == (request == nullptr), "a request that has ended is gone");
    }
    require(seconds_now() < limit, "all requests end");
  }
  for (long i = 0; i < kTags * kEach; ++i) {
    compare(theirs[i], nodes + i, seed(1 - side.role, i));
    release(&mine[i]);
  }
  side.meet();
}

// Active messages of the test's own.
void put(const Side& side, const void* header, size_t header_size, const void* data, size_t size,
         uint32_t flags) {
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
  param.flags = flags;
  ucs_status_ptr_t request =
      ucp_am_send_nbx(side.peer.ep(), kAm, header, header_size, data, size, &param);
  require(!UCS_PTR_IS_ERR(request), "an active message is sent");
  check(side.peer.wait(request, 20), "an active message");
}

UcpHeader header_of(UcpKind kind, uint64_t number) {
  UcpHeader header;
  header.kind = static_cast<uint8_t>(kind);
  header.tag = kTag;
  header.number = number;
  return header;
}

// What belongs to nothing, and what is nothing: the receive that waits takes what comes afterwards.
void hostile(const Side& side) {
  constexpr uint64_t kRefused = 9;
  if (side.is_sender()) {
    side.meet();  // the other one's channel is there
    const std::vector<char> junk(100, 'x'), much(1 << 20, 'y');
    const auto send = [&](UcpHeader header, size_t header_size, uint32_t flags) {
      put(side, &header, header_size, junk.data(), junk.size(), flags);
    };
    UcpHeader bad = header_of(UcpKind::kOffer, 1);
    put(side, nullptr, 0, junk.data(), junk.size(), 0);
    send(bad, 23, UCP_AM_SEND_FLAG_REPLY);
    send(bad, sizeof(bad), 0);  // no sender to answer
    bad.magic ^= 1;
    send(bad, sizeof(bad), UCP_AM_SEND_FLAG_REPLY);
    bad = header_of(UcpKind::kOffer, 1);
    bad.version = 9;
    send(bad, sizeof(bad), UCP_AM_SEND_FLAG_REPLY);
    send(header_of(UcpKind{77}, 1), sizeof(bad), 0);
    send(header_of(UcpKind::kPacket, 12345), sizeof(bad), 0);
    send(header_of(UcpKind::kAccept, 12345), sizeof(bad), 0);
    const UcpHeader large = header_of(UcpKind::kPacket, 12345);
    put(side, &large, sizeof(large), much.data(), much.size(), UCP_AM_SEND_FLAG_RNDV);
    const Link link(side.peer);
    list mine = make(100, 1);
    link.expect(verity_autolink_ucp_send(link, &kType, mine.nodes, 1, side.peer.ep(), kTag), 0,
                "send");
    release(&mine);
    side.meet();
  } else {
    const Link link(side.peer);
    verity_autolink_structure* theirs = nullptr;
    verity_autolink_ucp_request* request = nullptr;
    link.expect(verity_autolink_ucp_irecv(link, &kType, kTag, &theirs, &request), 0, "irecv");
    side.meet();
    link.expect(verity_autolink_ucp_wait(&request), 0, "wait");
    compare(theirs, 100, 1);
    require(verity_autolink_ucp_refused(link) == kRefused,
            "refused: " + std::to_string(verity_autolink_ucp_refused(link)));
    side.meet();
  }
}

// The answers to a sender that the test plays.
struct Answers {
  bool is_accepted = false;
  int status = -1;
  static ucs_status_t on_message(void* self, const void* header, size_t, void*, size_t,
                                 const ucp_am_recv_param_t*) {
    UcpHeader h;
    std::memcpy(&h, header, sizeof(h));
    auto* answers = static_cast<Answers*>(self);
    if (h.kind == static_cast<uint8_t>(UcpKind::kAccept)) answers->is_accepted = true;
    if (h.kind == static_cast<uint8_t>(UcpKind::kEnd)) answers->status = h.status;
    return UCS_OK;
  }
  void handle(const Side& side, ucp_am_recv_callback_t callback) {
    ucp_am_handler_param_t param{};
    param.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB |
                       UCP_AM_HANDLER_PARAM_FIELD_ARG;
    param.id = kAm;
    param.cb = callback;
    param.arg = this;
    check(ucp_worker_set_am_recv_handler(side.peer.worker(), &param), "handler");
  }
};

// A packet that was changed on the way ends both sides, and the channel goes on.
void damaged(const Side& side) {
  if (side.is_sender()) {
    Answers answers;
    answers.handle(side, Answers::on_message);
    side.meet();
    list mine = make(50, 1);
    verity_autolink_source* source = nullptr;
    require(verity_autolink_aggregate(&node_schema, node_number_node, mine.nodes, 1, nullptr,
                                      &source) == 0,
            "aggregate");
    const void* data = nullptr;
    size_t size = 0;
    const auto until = [&](const auto& condition) {
      for (const double limit = seconds_now() + 20; !condition();
           ucp_worker_progress(side.peer.worker())) {
        require(seconds_now() < limit, "an answer comes");
      }
    };
    require(verity_autolink_next(source, &data, &size) == 0, "next");
    UcpHeader header = header_of(UcpKind::kOffer, 99);
    put(side, &header, sizeof(header), data, size, UCP_AM_SEND_FLAG_REPLY);
    until([&] { return answers.is_accepted; });
    require(verity_autolink_next(source, &data, &size) == 0, "next");
    std::vector<char> changed(static_cast<const char*>(data),
                              static_cast<const char*>(data) + size);
    changed[size / 2] ^= 4;
    header = header_of(UcpKind::kPacket, 99);
    put(side, &header, sizeof(header), changed.data(), size, 0);
    until([&] { return answers.status >= 0; });
    require(answers.status == EPROTO, "the peer refuses it");
    put(side, &header, sizeof(header), data, size, 0);  // too late
    verity_autolink_source_free(source);
    answers.handle(side, nullptr);
    const Link link(side.peer);
    link.expect(verity_autolink_ucp_send(link, &kType, mine.nodes, 1, side.peer.ep(), kTag), 0,
                "send");
    release(&mine);
    side.meet();
  } else {
    const Link link(side.peer);
    side.meet();
    verity_autolink_structure* theirs = nullptr;
    link.expect(verity_autolink_ucp_recv(link, &kType, kTag, &theirs), EPROTO,
                "receive of a damaged structure");
    require(std::strstr(verity_autolink_ucp_error(link), "damaged") != nullptr,
            verity_autolink_ucp_error(link));
    require(theirs == nullptr, "nothing is received");
    link.expect(verity_autolink_ucp_recv(link, &kType, kTag, &theirs), 0, "receive");
    compare(theirs, 50, 1);
    require(verity_autolink_ucp_refused(link) == 2,
            "refused: " + std::to_string(verity_autolink_ucp_refused(link)));
    side.meet();
  }
}

// Peers that lay elements out otherwise, and sends that too many others wait before.
void refused(const Side& side) {
  verity_automap_schema other = node_schema;
  other.hash ^= 1;
  const verity_autolink_type otherwise = {&other, node_number_node, nullptr};
  const Link link(side.peer);
  side.meet();
  verity_autolink_structure* theirs = nullptr;
  node one{};
  if (side.is_sender()) {
    link.expect(verity_autolink_ucp_send(link, &otherwise, &one, 1, side.peer.ep(), kTag), EPROTO,
                "another schema");
    std::vector<verity_autolink_ucp_request*> waiting(4097);
    for (auto& request : waiting)
      link.expect(verity_autolink_ucp_isend(link, &kType, &one, 1, side.peer.ep(), 7, &request), 0,
                  "isend");
    link.expect(verity_autolink_ucp_wait(&waiting.back()), ENOBUFS, "one more than may wait");
    for (auto& request : waiting) verity_autolink_ucp_cancel(request);
    for (auto& request : waiting) {
      if (request != nullptr)
        link.expect(verity_autolink_ucp_wait(&request), ECANCELED, "cancelled");
    }
    side.meet();
    link.expect(verity_autolink_ucp_send(link, &kType, &one, 1, side.peer.ep(), 7), 0,
                "send after all were cancelled");
  } else {
    link.expect(verity_autolink_ucp_recv(link, &kType, kTag, &theirs), EPROTO, "another schema");
    side.meet();
    verity_autolink_ucp_request* request = nullptr;
    link.expect(verity_autolink_ucp_irecv(link, &kType, 8, &theirs, &request), 0, "irecv");
    verity_autolink_ucp_cancel(request);
    link.expect(verity_autolink_ucp_wait(&request), ECANCELED, "a receive that is cancelled");
    // Offers may still be under way whose cancellation is behind them.
    int code = ECANCELED;
    while (code == ECANCELED) code = verity_autolink_ucp_recv(link, &kType, 7, &theirs);
    link.expect(code, 0, "receive");
    verity_autolink_free(theirs);
  }
  side.meet();
}

struct Case {
  const char* name;
  void (*body)(const Side& side);
};
constexpr Case kCases[] = {{"blocking", blocking},
                           {"without blocking", nonblocking},
                           {"hostile messages", hostile},
                           {"a damaged packet", damaged},
                           {"refused structures", refused}};

bool run(const Case& of, long nodes) {
  pid_t pids[2];
  start_pair(
      [&](Channel& channel, int role) {
        UcpPeer peer(channel, {UCP_FEATURE_AM, false});
        of.body({channel, peer, role, nodes});
        return 0;
      },
      pids);
  bool is_right = true;
  for (int left = 2; left > 0; --left) {
    int status = 0;
    const pid_t ended = wait(&status);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) continue;
    // The other one would wait for it.
    if (is_right && left == 2) kill(pids[0] == ended ? pids[1] : pids[0], SIGKILL);
    is_right = false;
  }
  return is_right;
}

}  // namespace
}  // namespace verity::test

int main(int argc, char** argv) {
  const long nodes = argc > 1 ? std::atol(argv[1]) : 1000;
  int number = 0, failed = 0;
  for (const auto& one : verity::test::kCases) {
    const bool is_right = verity::test::run(one, nodes);
    std::printf("%sok %d - %s\n", is_right ? "" : "not ", ++number, one.name);
    failed += !is_right;
  }
  std::printf("1..%d\n", number);
  return failed != 0;
}
