// SPDX-License-Identifier: BSD-3-Clause
//
// Full transports and requests in the pending queue, for the cases of queues and of flushes.
#ifndef VERITY_TEST_UCX_CASES_PENDING_H
#define VERITY_TEST_UCX_CASES_PENDING_H

#include <algorithm>
#include <cstring>
#include <deque>
#include <vector>

#include "cases.h"

namespace verity::test {

inline constexpr uint8_t kId = 7;
inline constexpr uint64_t kMostToFill = 200'000;

inline size_t packet_length(const Iface& iface) {
  return std::min<size_t>(Outbound::longest(iface, Kind::kBcopy), 4000);
}

inline uint64_t exchange_number(Channel& channel, uint64_t mine) {
  Bytes bytes(sizeof(mine));
  std::memcpy(bytes.data(), &mine, sizeof(mine));
  bytes = channel.exchange(bytes);
  std::memcpy(&mine, bytes.data(), sizeof(mine));
  return mine;
}

// Sends until there are no resources, without progress anywhere.
inline void fill_up(Outbound& out, Kind kind = Kind::kBcopy) {
  while (out.try_send(kind) == UCS_OK) {
    if (out.count() == kMostToFill) { throw Skip("this transport never runs out of resources"); }
  }
}

// Sends of a flow that wait in the endpoint's pending queue.
struct Waiting {
  uct_pending_req_t request = {};
  Outbound* out = nullptr;
  unsigned* left = nullptr;
  uint64_t sequence = 0;
  Kind kind = Kind::kBcopy;

  static ucs_status_t go(uct_pending_req_t* request) {
    auto* self = reinterpret_cast<Waiting*>(request);
    ucs_status_t status = self->out->try_send_number(self->sequence, self->kind);
    if (status == UCS_OK) { --*self->left; }
    return status;
  }
  static void purge(uct_pending_req_t* request, void* argument) {
    static_cast<std::vector<Waiting*>*>(argument)->push_back(reinterpret_cast<Waiting*>(request));
  }
};
static_assert(offsetof(Waiting, request) == 0);

// Adds `count` requests. A transport that says BUSY has resources again: then the message is sent
// directly, which must not happen while older ones wait.
inline void add_pending(Iface& iface, uct_ep_h ep, Outbound& out, std::deque<Waiting>& queue,
                        unsigned count, unsigned& left) {
  for (unsigned i = 0; i < count; ++i) {
    queue.push_back({.request = {.func = Waiting::go, .priv = {}},
                     .out = &out,
                     .left = &left,
                     .sequence = out.reserve()});
    ++left;
    ucs_status_t status = uct_ep_pending_add(ep, &queue.back().request, 0);
    if (status == UCS_ERR_BUSY) {
      --left;
      queue.pop_back();
      out.unreserve();
      iface.progress_until([&] { return left == 0; }, "pending requests before a direct send");
      out.send(Kind::kBcopy);
    } else {
      check(status, "uct_ep_pending_add");
    }
  }
}

}  // namespace verity::test

#endif
