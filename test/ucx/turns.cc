// SPDX-License-Identifier: BSD-3-Clause
//
// Endpoints that come and go: in each turn a worker sends to one that is new, over an endpoint that
// is closed afterwards. UCP makes the next one in the same place, to another worker, whose messages
// of the same tag are signed and begin anew. With 'both' the sender is new too, as after a session
// of MPI's ended and another one began.
//
//   turns TURNS [receiver|both]
//
// Prints 'messages N reported N'; exit status 0 when both are the same.
#include <ucp/api/ucp.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "association.h"

namespace {

using verity::mpi::attachments;
using namespace verity::test;  // NOLINT: of the association test

constexpr uint64_t kTag = 7;
constexpr uint64_t kMessages = 5;  // of a turn

class Peer {
 public:
  Peer() {
    ucp_params_t params = {};
    params.field_mask = UCP_PARAM_FIELD_FEATURES;
    params.features = UCP_FEATURE_TAG;
    check(ucp_init(&params, nullptr, &context_), "ucp_init");
    ucp_worker_params_t single = {};
    check(ucp_worker_create(context_, &single, &worker_), "ucp_worker_create");
  }
  ~Peer() {
    ucp_worker_destroy(worker_);
    ucp_cleanup(context_);
  }
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  [[nodiscard]] ucp_worker_h worker() const { return worker_; }
  ucp_ep_h connect(const Peer& other) const {
    ucp_address_t* address;
    size_t length;
    check(ucp_worker_get_address(other.worker_, &address, &length), "ucp_worker_get_address");
    ucp_ep_params_t params = {};
    params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS;
    params.address = address;
    ucp_ep_h ep;
    check(ucp_ep_create(worker_, &params, &ep), "ucp_ep_create");
    ucp_worker_release_address(other.worker_, address);
    return ep;
  }

 private:
  ucp_context_h context_;
  ucp_worker_h worker_;
};

void await(void* request, const Peer& from, const Peer& to) {
  while (UCS_PTR_IS_PTR(request) && ucp_request_check_status(request) == UCS_INPROGRESS) {
    ucp_worker_progress(from.worker());
    ucp_worker_progress(to.worker());
  }
  if (UCS_PTR_IS_PTR(request)) ucp_request_free(request);
}

// The message is there before its receive: only its number says then that no other one came before.
// Whether the receive learns it from the signature.
bool pass_one(uint64_t number, ucp_ep_h ep, const Peer& from, const Peer& to) {
  static constexpr verity::mpi::TagFilter kAll{0, kInternal};
  const ucp_request_param_t param = {};
  uint8_t signature[kSignature] = {};
  std::memcpy(signature, &number, sizeof(number));
  verity::mpi::SendAttachment attachment = {
      .filter = &kAll, .tail = signature + kSignature, .length = kSignature, .caller = {}};
  std::memcpy(attachment.head, signature, sizeof(attachment.head));
  attachments.send = &attachment;
  void* const send = ucp_tag_send_nbx(ep, &number, sizeof(number), kTag, &param);
  attachments.send = nullptr;
  await(send, from, to);
  ucp_tag_recv_info_t info;
  while (ucp_tag_probe_nb(to.worker(), kTag, kExact, 0, &info) == nullptr) {
    ucp_worker_progress(from.worker());
    ucp_worker_progress(to.worker());
  }
  Receiving receiving;
  uint64_t in = 0;
  attachments.receive = {&kAll, &receiving};
  await(ucp_tag_recv_nbx(to.worker(), &in, sizeof(in), kTag, kExact, &param), from, to);
  return receiving.reported && receiving.signed_number == number;
}

uint64_t run_turn(uint64_t turn, const Peer& from) {
  const Peer to;
  ucp_ep_h ep = from.connect(to);
  uint64_t reported = 0;
  for (uint64_t i = 0; i < kMessages; ++i)
    reported += pass_one(turn * kMessages + i + 1, ep, from, to);
  const ucp_request_param_t param = {};
  await(ucp_ep_close_nbx(ep, &param), from, to);
  return reported;
}

}  // namespace

int main(int argc, char** argv) {
  const uint64_t turns = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 4;
  const bool both = argc > 2 && std::strcmp(argv[2], "both") == 0;
  verity::mpi::enable_ucp_calls(false);
  uint64_t reported = 0;
  std::optional<Peer> from;
  for (uint64_t turn = 0; turn < turns; ++turn) {
    if (both || !from) from.emplace();
    reported += run_turn(turn, *from);
  }
  std::printf("messages %llu reported %llu\n", static_cast<unsigned long long>(turns * kMessages),
              static_cast<unsigned long long>(reported));
  return reported == turns * kMessages ? 0 : 1;
}
