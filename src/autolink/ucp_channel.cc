// SPDX-License-Identifier: BSD-3-Clause
#include "autolink/ucp_channel.h"

#include <algorithm>

#include "autolink/ucp_requests.h"

using namespace verity::autolink;
using Channel = verity_autolink_ucp;

namespace {

constexpr size_t kMostOffers = 4096;       // that wait
constexpr size_t kMostOffered = 16 << 20;  // bytes of theirs

template <typename Requests, typename Is>
auto* find(const Requests& all, Is&& is) {
  const auto found = std::find_if(all.begin(), all.end(), is);
  return found == all.end() ? nullptr : *found;
}

}  // namespace

ucs_status_t Channel::set_handler(ucp_am_recv_callback_t handler) noexcept {
  ucp_am_handler_param_t param{};
  param.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB |
                     UCP_AM_HANDLER_PARAM_FIELD_ARG | UCP_AM_HANDLER_PARAM_FIELD_FLAGS;
  param.id = am_id;
  param.flags = UCP_AM_FLAG_WHOLE_MSG;
  param.cb = handler;
  param.arg = this;
  return ucp_worker_set_am_recv_handler(worker, &param);
}

int Channel::post(ucp_ep_h ep, Posted* posted) {
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
  param.flags = UCP_AM_SEND_FLAG_EAGER;
  if (posted->header.kind == static_cast<uint8_t>(UcpKind::kOffer))
    param.flags |= UCP_AM_SEND_FLAG_REPLY;
  posted->request = ucp_am_send_nbx(ep, am_id, &posted->header, sizeof(posted->header),
                                    posted->data.data(), posted->data.size(), &param);
  if (!UCS_PTR_IS_ERR(posted->request)) return 0;
  const ucs_status_t status = UCS_PTR_STATUS(posted->request);
  posted->request = nullptr;
  return fail(EIO, std::string("a message cannot be sent: ") + ucs_status_string(status));
}

void Channel::answer(ucp_ep_h ep, UcpKind kind, int status, const Header& to) {
  if (ep == nullptr) return;
  release(&answers);
  Posted& posted = answers.emplace_back();
  posted.header = to;
  posted.header.kind = static_cast<uint8_t>(kind);
  posted.header.status = static_cast<uint16_t>(status);
  (void)post(ep, &posted);
}

void Channel::release(std::list<Posted>* all) {
  while (!all->empty()) {
    ucs_status_ptr_t request = all->front().request;
    if (request != nullptr) {
      if (ucp_request_check_status(request) == UCS_INPROGRESS) return;
      ucp_request_free(request);
    }
    all->pop_front();
  }
}

bool Channel::on_offer(const Header& header, const void* data, size_t size, ucp_ep_h reply) {
  if (reply == nullptr) return false;
  if (Receiving* waiting =
          find(receivings, [&](const Receiving* r) { return r->waits_for(header.tag); })) {
    return waiting->accept(header, data, size, reply);
  }
  if (offers.size() == kMostOffers || size > kMostOffered - offered_bytes) {
    answer(reply, UcpKind::kEnd, ENOBUFS, header);
    return false;
  }
  const auto* bytes = static_cast<const char*>(data);
  offers.push_back({header, reply, {bytes, bytes + size}});
  offered_bytes += size;
  return true;
}

// From a receiver, or from a sender that stops.
bool Channel::on_end(const Header& header) {
  if (Sending* sending =
          find(sendings, [&](const Sending* s) { return s->number() == header.number; })) {
    return sending->on_end(header.status);
  }
  if (header.status == 0) return false;
  if (Receiving* receiving =
          find(receivings, [&](const Receiving* r) { return r->has(header.number); })) {
    receiving->on_end(header.status);
    return true;
  }
  const auto offer = std::find_if(offers.begin(), offers.end(),
                                  [&](const Offer& o) { return o.header.number == header.number; });
  if (offer == offers.end()) return false;
  offered_bytes -= offer->data.size();
  offers.erase(offer);
  return true;
}

bool Channel::on_message(const Header& header, const void* data, size_t size, ucp_ep_h reply) {
  if (header.status != 0 && header.kind != static_cast<uint8_t>(UcpKind::kEnd)) return false;
  switch (static_cast<UcpKind>(header.kind)) {
    case UcpKind::kOffer: return on_offer(header, data, size, reply);
    case UcpKind::kAccept: {
      Sending* sending =
          find(sendings, [&](const Sending* s) { return s->number() == header.number; });
      return size == 0 && sending != nullptr && sending->on_accept();
    }
    case UcpKind::kPacket: {
      Receiving* receiving =
          find(receivings, [&](const Receiving* r) { return r->has(header.number); });
      return receiving != nullptr && receiving->feed(data, size);
    }
    case UcpKind::kEnd: return size == 0 && on_end(header);
  }
  return false;
}
