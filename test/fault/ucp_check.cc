// SPDX-License-Identifier: BSD-3-Clause
//
// ucp_check COUNT SIZE: sends COUNT tagged messages of SIZE bytes from one UCP worker of this
// process to another one and checks every byte. Plain UCP: the transports come from UCX_TLS.
//
// Prints one line of JSON:
// {"messages":..,"lost":..,"wrong_messages":..,"wrong_bytes":..,"wrong_bits":..} Exit status: 0 all
// right, 3 lost or wrong messages, 1 something else failed.
#include <ucp/api/ucp.h>

#include <bit>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

using Bytes = std::vector<uint8_t>;

void require(ucs_status_t status, const char* what) {
  if (status != UCS_OK) {
    std::fprintf(stderr, "ucp_check: %s: %s\n", what, ucs_status_string(status));
    std::exit(1);
  }
}

ucp_context_h make_context() {
  ucp_config_t* config = nullptr;
  require(ucp_config_read(nullptr, nullptr, &config), "read configuration");
  ucp_params_t params{};
  params.field_mask = UCP_PARAM_FIELD_FEATURES;
  params.features = UCP_FEATURE_TAG;
  ucp_context_h context = nullptr;
  require(ucp_init(&params, config, &context), "init");
  ucp_config_release(config);
  return context;
}

ucp_worker_h make_worker(ucp_context_h context) {
  ucp_worker_params_t params{};
  params.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  params.thread_mode = UCS_THREAD_MODE_SINGLE;
  ucp_worker_h worker = nullptr;
  require(ucp_worker_create(context, &params, &worker), "create worker");
  return worker;
}

ucp_ep_h connect(ucp_worker_h from, ucp_worker_h to) {
  ucp_address_t* address = nullptr;
  size_t length = 0;
  require(ucp_worker_get_address(to, &address, &length), "get address");
  ucp_ep_params_t params{};
  params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS;
  params.address = address;
  ucp_ep_h ep = nullptr;
  require(ucp_ep_create(from, &params, &ep), "create endpoint");
  ucp_worker_release_address(to, address);
  return ep;
}

// Whether the request was done within `seconds`.
bool wait(ucp_worker_h a, ucp_worker_h b, ucs_status_ptr_t request, double seconds) {
  if (!UCS_PTR_IS_PTR(request)) {
    require(UCS_PTR_STATUS(request), "communicate");
    return true;
  }
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  while (ucp_request_check_status(request) == UCS_INPROGRESS && Clock::now() < end) {
    ucp_worker_progress(a);
    ucp_worker_progress(b);
  }
  const ucs_status_t status = ucp_request_check_status(request);
  ucp_request_free(request);
  if (status != UCS_INPROGRESS) { require(status, "communicate"); }
  return status != UCS_INPROGRESS;
}

Bytes content(uint64_t message, size_t size) {
  Bytes bytes(size);
  uint64_t state = message * 0x9e3779b97f4a7c15U + 1;
  for (uint8_t& byte : bytes) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    byte = static_cast<uint8_t>(1 + (state >> 33) % 255);  // no zeros: a zeroed line always shows
  }
  return bytes;
}

struct Totals {
  size_t lost = 0;
  size_t wrong_messages = 0;
  size_t wrong_bytes = 0;
  size_t wrong_bits = 0;
};

void compare(const Bytes& got, const Bytes& wanted, Totals& totals) {
  totals.wrong_messages += got != wanted;
  for (size_t i = 0; i < got.size(); ++i) {
    totals.wrong_bytes += got[i] != wanted[i];
    totals.wrong_bits +=
        static_cast<size_t>(std::popcount(static_cast<uint8_t>(got[i] ^ wanted[i])));
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: ucp_check COUNT SIZE\n", stderr);
    return 1;
  }
  const size_t count = std::strtoull(argv[1], nullptr, 10);
  const size_t size = std::strtoull(argv[2], nullptr, 10);
  ucp_context_h context = make_context();
  ucp_worker_h sender = make_worker(context);
  ucp_worker_h receiver = make_worker(context);
  ucp_ep_h ep = connect(sender, receiver);
  constexpr double kPatience = 1;  // seconds, for a message that a fault may have taken away
  ucp_request_param_t param{};
  Totals totals;
  for (size_t message = 0; message < count; ++message) {
    const Bytes sent = content(message, size);
    // Lost messages leave their buffers behind: a late arrival must not find them gone.
    auto* got = new Bytes(size);
    ucs_status_ptr_t receive =
        ucp_tag_recv_nbx(receiver, got->data(), size, message, UINT64_MAX, &param);
    const bool out =
        wait(sender, receiver, ucp_tag_send_nbx(ep, sent.data(), size, message, &param), kPatience);
    if (!wait(sender, receiver, receive, kPatience) || !out) {
      ++totals.lost;
      continue;
    }
    compare(*got, sent, totals);
    delete got;
  }
  std::printf(
      "{\"messages\":%zu,\"lost\":%zu,\"wrong_messages\":%zu,\"wrong_bytes\":%zu,\"wrong_bits\":%"
      "zu}"
      "\n",
      count, totals.lost, totals.wrong_messages, totals.wrong_bytes, totals.wrong_bits);
  if (totals.lost > 0) {
    std::fflush(stdout);
    std::exit(3);  // closing would wait for what is lost
  }
  (void)wait(sender, receiver, ucp_ep_close_nbx(ep, &param), kPatience);
  ucp_worker_destroy(receiver);
  ucp_worker_destroy(sender);
  ucp_cleanup(context);
  return totals.wrong_messages > 0 ? 3 : 0;
}
