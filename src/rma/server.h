// SPDX-License-Identifier: BSD-3-Clause
// The owner's side of remote memory access: applies puts, answers gets and digests, for one
// interface.
//
// Puts and atomic operations are applied as they come, after the frame's check, and a get reads the
// memory as it comes: what one peer requests is done in that order. An answer that cannot go at
// once, because the link has no room or earlier ones wait, goes later from a copy. Digests wait in
// a queue, and poll() serves them in bounded slices, so that a large one delays no other. One
// thread at a time, as for the links.
#ifndef VERITY_RMA_SERVER_H
#define VERITY_RMA_SERVER_H

#include <vector>

#include "health/counters.h"
#include "merkle/geometry.h"
#include "merkle/hash.h"
#include "rma/port.h"
#include "rma/regions.h"
#include "util/list.h"

namespace verity::rma {

class Server {
 public:
  // Requests of one peer that are kept at a time: a client requests less. As many refusals of
  // requests may wait for room besides.
  static constexpr unsigned kMaxJobs = 256;
  // Bytes of answers to gets that are kept for one peer at a time, or a single answer: a client
  // requests less (Client::kMaxFetching, and Client::kMaxGetBytes for each of its chunks).
  static constexpr uint32_t kMaxCopied = 4 * 1024 * 1024;
  // Bytes of the longest get whose answer comes in parts, as it is longer than our messages: what a
  // client requests fits its own, which may be longer where it has other settings.
  static constexpr uint32_t kMaxGet = 256 * 1024;
  // Bytes hashed in one poll() at most, but for the last segment.
  static constexpr size_t kSlice = 128 * 1024;
  // Digests of more bytes are made by other threads, where there are any (Port::hasher()), in parts
  // of so many.
  static constexpr size_t kShareAbove = 128 * 1024;
  static constexpr size_t kSharedSlice = 64 * 1024;

  // Throws std::bad_alloc.
  Server(Port& port, Regions& regions, health::Counters& counters)
      : port_(port), regions_(regions), memory_(regions), counters_(counters) {}
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // A PUT; an ATOMIC; a GET or HASH. Throws nothing: without memory the request is answered as
  // busy.
  void put(Peer& peer, const uint8_t* message, size_t length) noexcept;
  void atomic(Peer& peer, const uint8_t* message, size_t length) noexcept;
  void request(Peer& peer, const uint8_t* message, size_t length) noexcept;
  // A slice of what is waiting; the number of answers sent.
  unsigned poll() noexcept;
  // Bytes hashed so far: whether poll() got on.
  [[nodiscard]] uint64_t hashed() const noexcept { return hashed_; }
  [[nodiscard]] bool busy() const noexcept { return jobs_.linked() || refusals_.linked(); }
  // poll() has something to do now, or will soon: not only answers that wait for room on their
  // links.
  [[nodiscard]] bool must_poll() const noexcept;
  // Other threads hash for it: poll() will find the results.
  [[nodiscard]] bool awaits_hasher() const noexcept { return shared_ != 0; }
  // The link goes: nothing is answered.
  void forget(Peer& peer) noexcept;

 private:
  struct Job;
  struct Answer {
    wire::RmaKind kind;
    wire::RmaStatus status;
    uint32_t id;
  };

  // use() touches that memory and has nothing to destroy: it may end in between.
  template <typename Use>
  [[nodiscard]] wire::RmaStatus access(uint64_t address, size_t length, Use&& use) noexcept {
    const auto call = [](void* arg) { (*static_cast<std::remove_reference_t<Use>*>(arg))(); };
    return port_.access(address, length, call, &use) ? wire::RmaStatus::kOk
                                                     : wire::RmaStatus::kUnreadable;
  }
  void get(Peer& peer, const wire::RmaRequest& request) noexcept;
  [[nodiscard]] wire::RmaStatus read(const wire::RmaRequest& request, uint8_t* out) noexcept;
  void refuse(Peer& peer, const wire::RmaRequest& request, wire::RmaStatus status) noexcept;
  void refuse_write(Peer& peer, uint64_t token, wire::RmaStatus status) noexcept;
  unsigned send_refusals() noexcept;
  void keep(Peer& peer, Job& job, const wire::RmaRequest& request, wire::RmaStatus status) noexcept;
  unsigned serve(Job& job, size_t* budget) noexcept;
  [[nodiscard]] bool reply(Job& job) noexcept;
  [[nodiscard]] bool needs_parts(const wire::RmaRequest& get) const noexcept {
    return get.length > port_.max_message() - sizeof(wire::RmaHeader);
  }
  bool hash(Job& job, size_t* budget) noexcept;
  bool share_out(Job& job) noexcept;
  bool gather(Job& job) noexcept;
  void take_back(Job& job) noexcept;
  bool answer_get(Peer& peer, const wire::RmaRequest& request, const uint8_t* copy) noexcept;
  bool answer_in_parts(Job& job) noexcept;
  bool answer_atomic(Job& job) noexcept;
  bool answer_hash(Job& job) noexcept;
  bool answer_leaves(Job& job) noexcept;
  bool answer(Peer& peer, const Answer& a) noexcept;
  void end(Job& job) noexcept;
  [[nodiscard]] health::Counters& counts(const Peer& peer) noexcept {
    return peer.counts != nullptr ? *peer.counts : counters_;
  }

  Port& port_;
  Regions& regions_;
  Regions::User memory_;
  health::Counters& counters_;
  uint64_t hashed_ = 0;
  util::ListNode jobs_;      // oldest first
  util::ListNode refusals_;  // Refusal, of writes
  unsigned shared_ = 0;      // of them, digests that other threads make
  uint32_t polls_ = 1;
};

}  // namespace verity::rma

#endif
