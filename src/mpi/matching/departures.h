// SPDX-License-Identifier: BSD-3-Clause
//
// Which send does a leaving active message belong to? The transport sees its own endpoint, a tag and, in some calls, a pointer:
//   (a) inside of the ucp_tag_send call: the send of this call, when the tag is its;
//   (b) later (not connected, no room): the pack callback's argument, or the completion, lies in the send's request, or is the
//       address of a struct on the stack whose first word is that request (the v2 protocols' multi-fragment sends);
//   (c) later and without a pointer (am_short): of the sends that wait with this tag for this endpoint the one called first, as sends to
//       an endpoint with one tag leave in the order of their calls (MPI's order of messages rests on that). Whose endpoint it is shows
//       with the first message in one of the other ways; before that, it must be the only one for which sends of this buffer wait.
// When in doubt, no place: the signature of those in question, if they all have the same, but no number; until they are gone.
// Of sends whose requests were freed nobody tells that they are gone. Where too many pile up, their tags carry nothing any more.
//
// One process's sends. Pure; not thread-safe: the caller's lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <tuple>
#include <unordered_set>

#include "mpi/matching/message.h"
#include "mpi/matching/stamp.h"

namespace verity::mpi {

class Departures {
 public:
  // `uid`: of this process, random.
  explicit Departures(uint32_t uid);

  // Bytes of a UCP request in front of the address that the user sees; 0: not known, then (b) finds nothing.
  void set_request_size(size_t bytes) noexcept { request_size_ = bytes; }

  // A send call to a ucp_ep_h begins: its message, if it leaves before end(), is (a). The signature, of kHead bytes or more, stays the
  // caller's until end(); shorter: none.
  void begin(const void* endpoint, uint64_t tag, const void* buffer, const void* head, const uint8_t* tail, size_t length) noexcept {
    const Numbering& numbering = number(endpoint, tag);
    in_call_ = true;
    call_.endpoint = endpoint;
    call_.buffer = buffer;
    call_.tag = tag;
    call_.left = false;
    alone_ = deferred_.empty();
    call_.doubtful = !alone_ && doubts(endpoint, tag);
    call_.length = length <= kMaxSignature && length >= kHead ? length : 0;
    if (given_up_ != GivenUp::kNone) [[unlikely]] call_.length = is_given_up(tag) ? 0 : call_.length;
    call_.epoch = numbering.epoch;
    call_.sequence = numbering.next - 1;
    call_.head = head;
    call_.tail = tail;
  }
  void begin(const void* endpoint, uint64_t tag, const void* buffer, const uint8_t* signature, size_t length) noexcept {
    begin(endpoint, tag, buffer, signature, length > kHead ? signature + kHead : nullptr, length);
  }
  [[nodiscard]] bool in_call() const noexcept { return in_call_; }
  // A send of which nothing is to be told: it is numbered all the same.
  void pass(const void* endpoint, uint64_t tag) noexcept { (void)number(endpoint, tag); }
  // It returned. `request` is what the user got, or nullptr when the send is complete.
  void end(void* request) noexcept {
    in_call_ = alone_ = false;
    if (request != nullptr && !call_.left && !is_given_up(call_.tag)) defer(reinterpret_cast<uintptr_t>(request), call_);
  }
  // The request is complete or gone: it will not leave any more.
  void forget(const void* request) noexcept {
    if (!deferred_.empty()) [[unlikely]] forget_deferred(request);
  }

  // Nobody will tell of the request's end: it leaves yet, or has left where it is not seen.
  void release(const void* request) noexcept {
    if (!deferred_.empty()) [[unlikely]] release_deferred(request);
  }

  // An active message that begins a message is about to leave. Copies its signature to `out` and returns its length; 0: none, or not
  // certain.
  struct Message {
    uint64_t serial;     // of the transport's endpoint: a number that is never used again
    uint64_t tag;
    const void* origin;  // see (b); nullptr: then ...
    const void* data;    // ... the send's buffer, or a copy of it
  };
  [[nodiscard]] size_t departs(const Message& message, uint8_t* out, size_t room) noexcept;
  // It is the one of the call under way, and no other waits: departs_from_call() does as departs() would.
  [[nodiscard]] bool is_of_call(uint64_t tag) const noexcept { return alone_ && call_.tag == tag; }
  [[nodiscard]] size_t departs_from_call(uint64_t serial, uint8_t* out, size_t room) noexcept {
    known_[serial % kKnown] = {serial, call_.endpoint};
    const size_t length = in_words(call_.length) <= room ? call_.length : 0;
    if (length != 0) [[likely]] copy_stamped(out, call_.head, call_.tail, length, Stamp{uint64_t{uid_} << 32 | call_.epoch, call_.sequence});
    alone_ = false;
    call_.left = true;
    left_last_ = Last::kCall;
    last_had_one_ = length != 0;
    return length;
  }
  // The message of the last departs() could not leave after all. Whether it had a signature.
  bool stayed() noexcept;

  // Sends that have returned and whose message has not left.
  [[nodiscard]] size_t deferred() const noexcept { return deferred_.size(); }

 private:
  struct Send {
    const void* endpoint = nullptr;
    const void* buffer = nullptr;
    uint64_t tag = 0;
    uint32_t epoch = 0, sequence = 0;
    size_t length = 0;  // 0: no signature
    bool left = false;
    bool doubtful = false;  // of several one left, it is not known which
    bool released = false;
    const void* head = nullptr;     // the caller's, of a call under way; else `bytes`
    const uint8_t* tail = nullptr;
    uint8_t bytes[kMaxSignature];
    static_assert(kMaxSignature % util::kWord == 0);

    Send() noexcept {}  // `bytes` as they are
    void copy(uint8_t* out, const Stamp& stamp) const noexcept {
      copy_stamped(out, head != nullptr ? head : bytes, head != nullptr ? tail : bytes + kHead, length, stamp);
    }
  };
  // The numbering of a tag to an endpoint. In one of the places from its own on; what is pushed out begins anew, as another epoch.
  struct Numbering {
    const void* endpoint;
    uint64_t tag;
    uint32_t epoch, next;
  };
  static constexpr size_t kNumberings = 8192;
  static constexpr size_t kPlaces = 8;
  // Which ucp_ep_h a transport's endpoint belongs to, as (a) and (b) showed. Direct-mapped.
  struct Known {
    uint64_t serial;
    const void* endpoint;
  };
  static constexpr size_t kKnown = 4096;
  // Sends that wait, as far as is known, and whose request was freed; tags that carry nothing any more. Beyond it no tag does.
  static constexpr size_t kMostReleased = 64;
  static constexpr size_t kMostGivenUp = 1024;

  using Deferred = std::map<uintptr_t, Send>;                           // by request
  using Order = std::tuple<const void*, uint64_t, uint32_t, uint32_t>;  // endpoint, tag, epoch, sequence

  [[nodiscard]] Numbering& number(const void* endpoint, uint64_t tag) noexcept {
    Numbering& last = *last_number_;
    if (last.tag != tag || last.endpoint != endpoint) return *(last_number_ = &search_number(endpoint, tag));
    ++last.next;
    return last;
  }
  [[nodiscard]] Numbering& search_number(const void* endpoint, uint64_t tag) noexcept;
  [[nodiscard]] Stamp stamp_of(const Send& send) const noexcept {
    return send.doubtful ? Stamp{0, 0} : Stamp{uint64_t{uid_} << 32 | send.epoch, send.sequence};
  }
  [[nodiscard]] static Order order_of(const Send& send) noexcept { return {send.endpoint, send.tag, send.epoch, send.sequence}; }
  [[nodiscard]] bool is_given_up(uint64_t tag) const noexcept {
    return given_up_ != GivenUp::kNone && (given_up_ == GivenUp::kAll || given_up_tags_.contains(tag));
  }
  void give_up_released() noexcept;
  void give_up_all() noexcept;
  [[nodiscard]] bool doubts(const void* endpoint, uint64_t tag) noexcept;
  void forget_deferred(const void* request) noexcept;
  void release_deferred(const void* request) noexcept;
  void defer(uintptr_t request, const Send& send) noexcept;
  void erase(Deferred::iterator place) noexcept;
  [[nodiscard]] Deferred::iterator find(uint64_t tag, uintptr_t address) noexcept;
  [[nodiscard]] Deferred::iterator find_by_origin(uint64_t tag, const void* origin) noexcept;
  [[nodiscard]] const void* endpoint_of(const Message& message) const noexcept;
  [[nodiscard]] Deferred::iterator first_of(const void* endpoint, uint64_t tag) noexcept;
  [[nodiscard]] const void* only_endpoint(const Message& message) const noexcept;
  [[nodiscard]] static bool same_but_stamp(const Send& a, const Send& b) noexcept;
  [[nodiscard]] Send* doubt(uint64_t tag) noexcept;
  [[nodiscard]] Send* choose(const Message& message) noexcept;

  uint32_t uid_;
  size_t request_size_ = 0;
  std::unique_ptr<Numbering[]> numberings_;
  Numbering* last_number_;
  std::unique_ptr<Known[]> known_;
  uint32_t epoch_ = 0;
  bool in_call_ = false;
  bool alone_ = false;  // the call's message has not left, and none waits
  Send call_;
  Send doubtful_;  // any of several
  Deferred deferred_;
  std::map<Order, uintptr_t> in_order_;
  size_t released_ = 0;  // of those deferred
  enum class GivenUp : uint8_t { kNone, kSome, kAll } given_up_ = GivenUp::kNone;
  std::unordered_set<uint64_t> given_up_tags_;
  Deferred::iterator chosen_;  // by choose(); end(): the call's
  enum class Last : uint8_t { kNone, kCall, kDeferred } left_last_ = Last::kNone;
  bool last_had_one_ = false;
  Send last_;  // if deferred, and its request
  uintptr_t last_request_ = 0;
};

}  // namespace verity::mpi
