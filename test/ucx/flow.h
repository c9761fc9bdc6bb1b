// SPDX-License-Identifier: BSD-3-Clause
//
// Flows: numbered messages of known content in one direction, one active message id each.
#ifndef VERITY_TEST_UCX_FLOW_H
#define VERITY_TEST_UCX_FLOW_H

#include <atomic>
#include <functional>
#include <memory>

#include "peer.h"

namespace verity::test {

// Bytes of the message number `sequence` of flow `id`.
void fill(uint8_t* buffer, size_t length, uint8_t id, uint64_t sequence);
// Offset of the first wrong byte, or length when all are right.
size_t first_wrong(const uint8_t* buffer, size_t length, uint8_t id, uint64_t sequence);

using LengthOf = std::function<size_t(uint64_t sequence)>;

// What one side receives on an active message id: checks length, content and order of each.
class Inbound {
 public:
  // `flags`: UCT_CB_FLAG_ASYNC for a handler that may run in UCX's asynchronous thread.
  Inbound(Iface& iface, uint8_t id, LengthOf length_of, unsigned flags = 0);
  ~Inbound();
  Inbound(const Inbound&) = delete;
  Inbound& operator=(const Inbound&) = delete;

  [[nodiscard]] uint64_t count() const { return count_; }
  // Throws what the handler found wrong.
  void verify() const { require(error_.empty(), error_); }
  // Progresses until that many messages came, and verifies.
  void expect(uint64_t messages, double seconds = 30);

  // Called for each message after the check; may keep the descriptor (return UCS_INPROGRESS).
  std::function<ucs_status_t(uint8_t* data, size_t length, unsigned flags, uint64_t sequence)>
      on_message;

 private:
  static ucs_status_t handle(void* self, void* data, size_t length, unsigned flags);
  Iface& iface_;
  uint8_t id_;
  unsigned flags_;
  LengthOf length_of_;
  std::atomic<uint64_t> count_ = 0;
  std::string error_;
};

enum class Kind { kShort, kShortIov, kBcopy, kZcopy };

// How a message is cut for am_zcopy and am_short_iov. Header 0 and 1 piece by default.
struct Cut {
  size_t header = 0;
  size_t pieces = 1;
  bool completion = true;  // give one, or a null pointer
};

// The sending side of a flow on an endpoint.
class Outbound {
 public:
  Outbound(Iface& iface, uct_ep_h ep, uint8_t id, LengthOf length_of)
      : iface_(iface), ep_(ep), id_(id), length_of_(std::move(length_of)) {}
  // A completion that came too late would write to freed memory: wait() before, or fail.
  ~Outbound() = default;
  Outbound(const Outbound&) = delete;
  Outbound& operator=(const Outbound&) = delete;

  // Tries to send the next message: UCS_OK, or UCS_ERR_NO_RESOURCE. Anything else throws.
  ucs_status_t try_send(Kind kind, const Cut& cut = {});
  // The same with a number taken before by reserve(), for messages that wait somewhere.
  ucs_status_t try_send_number(uint64_t sequence, Kind kind, const Cut& cut = {});
  uint64_t reserve() { return count_++; }
  void unreserve() { --count_; }
  // The next messages go over that endpoint.
  void use(uct_ep_h ep) { ep_ = ep; }
  // Sends the next message, progressing while there are no resources.
  void send(Kind kind, const Cut& cut = {});
  // Waits for the completions of all am_zcopy.
  void wait();
  // Messages of am_zcopy that are not complete.
  [[nodiscard]] unsigned under_way() const { return *under_way_; }
  [[nodiscard]] uint64_t count() const { return count_; }
  // Longest message of this kind that the interface takes, header included (at most 1 MiB).
  static size_t longest(const Iface& iface, Kind kind);
  static bool has(const Iface& iface, Kind kind);

 private:
  ucs_status_t post(const Bytes& content, Kind kind, const Cut& cut);
  ucs_status_t send_short(const Bytes& content);
  ucs_status_t send_short_iov(const Bytes& content, size_t pieces);
  ucs_status_t send_bcopy(const Bytes& content);
  ucs_status_t send_zcopy(const Bytes& content, const Cut& cut);
  Iface& iface_;
  uct_ep_h ep_;
  uint8_t id_;
  LengthOf length_of_;
  uint64_t count_ = 0;
  // Messages of am_zcopy under way; shared with the operations, which may outlive this.
  std::shared_ptr<unsigned> under_way_ = std::make_shared<unsigned>(0);
};

}  // namespace verity::test

#endif
