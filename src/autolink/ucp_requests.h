// SPDX-License-Identifier: BSD-3-Clause
//
// Both sides of a structure under way.
#ifndef VERITY_AUTOLINK_UCP_REQUESTS_H
#define VERITY_AUTOLINK_UCP_REQUESTS_H

#include <cerrno>
#include <cstring>

#include "autolink/ucp_channel.h"

namespace verity::autolink {

class Sending final : public verity_autolink_ucp_request {
 public:
  Sending(verity_autolink_ucp& its_channel, Source source, ucp_ep_h ep, uint64_t tag)
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
    verity_autolink_ucp::release(&posted_);
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
  static constexpr size_t kInFlight = 4;  // packets of one structure

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

class Receiving final : public verity_autolink_ucp_request {
 public:
  Receiving(verity_autolink_ucp& its_channel, Sink sink, uint64_t tag,
            verity_autolink_structure** structure)
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

}  // namespace verity::autolink

#endif
