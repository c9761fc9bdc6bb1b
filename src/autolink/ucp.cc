// SPDX-License-Identifier: BSD-3-Clause
//
// The C interface over UCX.
#include <sched.h>

#include <algorithm>
#include <new>

#include "autolink/ucp_requests.h"

#define EXPORTED extern "C" __attribute__((visibility("default")))

using namespace verity::autolink;
using Channel = verity_autolink_ucp;

namespace {

template <typename Body>
int guarded(Body&& body) noexcept {
  try {
    return body();
  } catch (const std::bad_alloc&) { return ENOMEM; } catch (...) {
    return EINVAL;
  }
}

int check_type(const verity_autolink_type* type) {
  return type == nullptr || type->schema == nullptr ? EINVAL : 0;
}

void progress(verity_autolink_ucp_request& request) {
  (void)ucp_worker_progress(request.channel.worker);
  Channel::release(&request.channel.answers);
  request.advance();
}

// Of the worker. All is copied before it returns.
ucs_status_t on_active_message(void* arg, const void* header, size_t header_length, void* data,
                               size_t length, const ucp_am_recv_param_t* param) {
  auto* channel = static_cast<Channel*>(arg);
  UcpHeader h;
  // Data that would have to be fetched comes from no channel: it is left where it is.
  bool is_good = (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) == 0 && header_length == sizeof(h);
  if (is_good) {
    std::memcpy(&h, header, sizeof(h));
    ucp_ep_h reply =
        (param->recv_attr & UCP_AM_RECV_ATTR_FIELD_REPLY_EP) != 0 ? param->reply_ep : nullptr;
    is_good =
        h.magic == kUcpMagic && h.version == kUcpVersion &&
        guarded([&] { return channel->on_message(h, data, length, reply) ? 0 : EPROTO; }) == 0;
  }
  channel->refused += !is_good;
  return UCS_OK;
}

}  // namespace

EXPORTED int verity_autolink_ucp_open(ucp_worker_h worker, unsigned am_id,
                                      verity_autolink_ucp** channel) {
  if (worker == nullptr || channel == nullptr) return EINVAL;
  return guarded([&] {
    auto made = std::make_unique<Channel>(worker, am_id);
    if (made->set_handler(on_active_message) != UCS_OK) return EIO;
    *channel = made.release();
    return 0;
  });
}

EXPORTED void verity_autolink_ucp_close(verity_autolink_ucp* channel) {
  if (channel == nullptr) return;
  // Answers that UCX still reads.
  while (!channel->answers.empty()) {
    Channel::release(&channel->answers);
    if (!channel->answers.empty() && ucp_worker_progress(channel->worker) == 0) sched_yield();
  }
  (void)channel->set_handler(nullptr);
  delete channel;
}

EXPORTED const char* verity_autolink_ucp_error(const verity_autolink_ucp* channel) {
  return channel->error.c_str();
}
EXPORTED uint64_t verity_autolink_ucp_refused(const verity_autolink_ucp* channel) {
  return channel->refused;
}

EXPORTED int verity_autolink_ucp_isend(verity_autolink_ucp* channel,
                                       const verity_autolink_type* type, const void* root,
                                       uint64_t count, ucp_ep_h ep, uint64_t tag,
                                       verity_autolink_ucp_request** request) {
  if (channel == nullptr || request == nullptr || ep == nullptr || check_type(type) != 0)
    return EINVAL;
  return guarded([&] {
    verity_autolink_source* made = nullptr;
    const int code = verity_autolink_aggregate(type->schema, type->type, root,
                                               root == nullptr ? 0 : count, type->options, &made);
    if (code != 0) return channel->fail(code, verity_autolink_error());
    Source source(made);
    auto sending = std::make_unique<Sending>(*channel, std::move(source), ep, tag);
    sending->offer();
    *request = sending.release();
    return 0;
  });
}

EXPORTED int verity_autolink_ucp_irecv(verity_autolink_ucp* channel,
                                       const verity_autolink_type* type, uint64_t tag,
                                       verity_autolink_structure** structure,
                                       verity_autolink_ucp_request** request) {
  if (channel == nullptr || request == nullptr || structure == nullptr || check_type(type) != 0)
    return EINVAL;
  return guarded([&] {
    verity_autolink_sink* made = nullptr;
    const int code = verity_autolink_expand(type->schema, type->type, type->options, &made);
    if (code != 0) return channel->fail(code, verity_autolink_error());
    Sink sink(made);
    auto receiving = std::make_unique<Receiving>(*channel, std::move(sink), tag, structure);
    const auto offer = std::find_if(channel->offers.begin(), channel->offers.end(),
                                    [&](const Channel::Offer& o) { return o.header.tag == tag; });
    if (offer != channel->offers.end()) {
      const Channel::Offer taken = std::move(*offer);
      channel->offers.erase(offer);
      channel->offered_bytes -= taken.data.size();
      channel->refused +=
          !receiving->accept(taken.header, taken.data.data(), taken.data.size(), taken.reply);
    }
    *request = receiving.release();
    return 0;
  });
}

EXPORTED int verity_autolink_ucp_test(verity_autolink_ucp_request** request, int* flag) {
  *flag = 1;
  if (*request == nullptr) return 0;
  verity_autolink_ucp_request& of = **request;
  const int failed = guarded([&] {
    progress(of);
    return 0;
  });
  if (failed != 0 && !of.has_ended) {
    of.has_ended = true;
    of.code = failed;
  }
  *flag = of.has_ended && of.is_idle();
  if (*flag == 0) return 0;
  const int code = of.code;
  delete *request;
  *request = nullptr;
  return code;
}

EXPORTED int verity_autolink_ucp_wait(verity_autolink_ucp_request** request) {
  int has_ended = 0;
  for (unsigned rounds = 1;; ++rounds) {
    const int code = verity_autolink_ucp_test(request, &has_ended);
    if (has_ended != 0) return code;
    if (rounds % 64 == 0) sched_yield();
  }
}

EXPORTED void verity_autolink_ucp_cancel(verity_autolink_ucp_request* request) {
  if (request != nullptr) (void)guarded([&] { return request->cancel(), 0; });
}

EXPORTED int verity_autolink_ucp_send(verity_autolink_ucp* channel,
                                      const verity_autolink_type* type, const void* root,
                                      uint64_t count, ucp_ep_h ep, uint64_t tag) {
  verity_autolink_ucp_request* request = nullptr;
  const int code = verity_autolink_ucp_isend(channel, type, root, count, ep, tag, &request);
  return code != 0 ? code : verity_autolink_ucp_wait(&request);
}

EXPORTED int verity_autolink_ucp_recv(verity_autolink_ucp* channel,
                                      const verity_autolink_type* type, uint64_t tag,
                                      verity_autolink_structure** structure) {
  verity_autolink_ucp_request* request = nullptr;
  const int code = verity_autolink_ucp_irecv(channel, type, tag, structure, &request);
  return code != 0 ? code : verity_autolink_ucp_wait(&request);
}
