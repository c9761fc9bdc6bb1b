// SPDX-License-Identifier: BSD-3-Clause
//
// The C interface over UCX, and both sides of a structure under way.
#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include "autolink/ucp_channel.h"

#define EXPORTED extern "C" __attribute__((visibility("default")))

using namespace verity::autolink;
using Channel = verity_autolink_ucp;

namespace verity::autolink {

namespace {

constexpr size_t kInFlight = 4;            // packets of one structure
constexpr size_t kMostOffers = 4096;       // that wait
constexpr size_t kMostOffered = 16 << 20;  // bytes of theirs

template <typename Body>
int guarded(Body&& body) noexcept {
  try {
    return body();
  } catch (const std::bad_alloc&) { return ENOMEM; } catch (...) {
    return EINVAL;
  }
}

}  // namespace

class Sending : public verity_autolink_ucp_request {
 public:
  Sending(Channel& its_channel, Source source, ucp_ep_h ep, uint64_t tag)
      : verity_autolink_ucp_request(its_channel), source_(std::move(source)), ep_(ep) {
    header_.tag = tag;
    header_.number = channel.random();
    channel.sendings.push_back(this);
  }
  Sending(const Sending&) = delete;
  Sending& operator=(const Sending&) = delete;
  ~Sending() override { channel.sendings.remove(this); }

  [[nodiscard]] uint64_t number() const noexcept { return header_.number; }
  void offer() { send_next(UcpKind::kOffer); }
  bool on_accept() {
    if (has_ended || is_accepted_) return false;
    is_accepted_ = true;
    return true;
  }
  bool on_end(int status) {
    if (has_ended) return false;
    // It cannot have all of it when there are packets left.
    if (status == 0 && !is_all_sent()) status = EPROTO;
    if (status != 0)
      channel.error = std::string("the peer refused the structure: ") + std::strerror(status);
    end(status);
    return true;
  }

  void advance() override {
    Channel::release(&posted_);
    while (!has_ended && is_accepted_ && !at_end_ && posted_.size() < kInFlight)
      send_next(UcpKind::kPacket);
  }
  [[nodiscard]] bool is_idle() const override { return posted_.empty() && channel.answers.empty(); }
  void cancel() override {
    if (has_ended) return;
    channel.answer(ep_, UcpKind::kEnd, ECANCELED, header_);
    end(ECANCELED);
  }

 private:
  void end(int status) {
    has_ended = true;
    code = status;
  }
  bool is_all_sent() {
    const void* data = nullptr;
    size_t size = 0;
    return at_end_ || (verity_autolink_next(source_.get(), &data, &size) == 0 && data == nullptr);
  }
  void send_next(UcpKind kind) {
    const void* data = nullptr;
    size_t size = 0;
    const int got = verity_autolink_next(source_.get(), &data, &size);
    if (got != 0) {
      channel.answer(ep_, UcpKind::kEnd, got, header_);
      return end(channel.fail(got, verity_autolink_error()));
    }
    at_end_ = data == nullptr;
    if (at_end_) return;
    Posted& posted = posted_.emplace_back();
    posted.header = header_;
    posted.header.kind = static_cast<uint8_t>(kind);
    posted.data.assign(static_cast<const char*>(data), static_cast<const char*>(data) + size);
    const int status = channel.post(ep_, &posted);
    if (status != 0) end(status);
  }

  Source source_;
  ucp_ep_h ep_;
  UcpHeader header_;
  std::list<Posted> posted_;
  bool is_accepted_ = false, at_end_ = false;
};

class Receiving : public verity_autolink_ucp_request {
 public:
  Receiving(Channel& its_channel, Sink sink, uint64_t tag, verity_autolink_structure** structure)
      : verity_autolink_ucp_request(its_channel), sink_(std::move(sink)), structure_(structure) {
    header_.tag = tag;
    channel.receivings.push_back(this);
  }
  Receiving(const Receiving&) = delete;
  Receiving& operator=(const Receiving&) = delete;
  ~Receiving() override { channel.receivings.remove(this); }

  [[nodiscard]] bool waits_for(uint64_t tag) const noexcept {
    return !has_ended && reply_ == nullptr && header_.tag == tag;
  }
  [[nodiscard]] bool has(uint64_t number) const noexcept {
    return !has_ended && reply_ != nullptr && header_.number == number;
  }
  // Returns false when the message is refused, which ends this.
  bool accept(const UcpHeader& header, const void* data, size_t size, ucp_ep_h reply) {
    header_ = header;
    reply_ = reply;
    if (!feed(data, size)) return false;
    channel.answer(reply_, UcpKind::kAccept, 0, header_);
    return true;
  }
  bool feed(const void* data, size_t size) {
    int is_complete = 0;
    int status = verity_autolink_feed(sink_.get(), data, size, &is_complete);
    if (status == 0 && is_complete != 0) status = verity_autolink_take(sink_.get(), structure_);
    if (status != 0) channel.error = verity_autolink_error();
    if (status != 0 || is_complete != 0) end(status);
    return status == 0;
  }
  void on_end(int status) {
    channel.error = std::string("the peer stopped: ") + std::strerror(status);
    has_ended = true;
    code = status;
  }

  void advance() override {}
  // The peer waits for the answer: it should not need a call of UCX by the program.
  [[nodiscard]] bool is_idle() const override { return channel.answers.empty(); }
  void cancel() override {
    if (!has_ended) end(ECANCELED);
  }

 private:
  void end(int status) {
    has_ended = true;
    code = status;
    if (reply_ != nullptr) channel.answer(reply_, UcpKind::kEnd, status, header_);
  }

  Sink sink_;
  verity_autolink_structure** structure_;
  UcpHeader header_;
  ucp_ep_h reply_ = nullptr;  // of the sender: an offer was taken
};

namespace {

template <typename Requests, typename Is>
auto* find(const Requests& all, Is&& is) {
  const auto found = std::find_if(all.begin(), all.end(), is);
  return found == all.end() ? nullptr : *found;
}

int check_type(const verity_autolink_type* type) {
  return type == nullptr || type->schema == nullptr ? EINVAL : 0;
}

void progress(verity_autolink_ucp_request& request) {
  (void)ucp_worker_progress(request.channel.worker);
  Channel::release(&request.channel.answers);
  request.advance();
}

}  // namespace

}  // namespace verity::autolink

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

namespace {

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
