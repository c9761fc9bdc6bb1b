// SPDX-License-Identifier: BSD-3-Clause
//
// Which send does an outgoing active message belong to? The transport sees its own endpoint, a tag
// and, in some calls, a pointer:
//   (a) inside of the ucp_tag_send call: the send of this call, when the tag is its;
//   (b) later (not connected, no room): the pack callback's argument, or the completion, lies in
//       the send's request, or is the address of a struct on the stack whose first word is that
//       request (the v2 protocols' multi-fragment sends); or the message itself says where the
//       request lies (rendezvous);
//   (c) later and without any (am_short): of the pending sends with this tag to this endpoint
//       the one called first, as sends to an endpoint with one tag are transmitted in the order of
//       their calls (MPI's order of messages rests on that). Whose endpoint it is shows with the
//       first message in one of the other ways; before that, it must be the only one to which sends
//       of this buffer are pending.
// When several sends are possible, the message carries a signature only if all of them have the
// same, and no number; this lasts until their requests are complete.
//
// One process's sends. Pure; not thread-safe: the caller's lock.
#ifndef VERITY_MPI_MATCHING_SEND_MATCHER_H
#define VERITY_MPI_MATCHING_SEND_MATCHER_H

#include <cstddef>
#include <cstdint>

#include "mpi/matching/endpoint_cache.h"
#include "mpi/matching/message.h"
#include "mpi/matching/pending_sends.h"
#include "mpi/matching/send_numbering.h"
#include "mpi/matching/stamp.h"

namespace verity::mpi {

class SendMatcher {
 public:
  // `uid`: of this process, random.
  explicit SendMatcher(uint32_t uid) : numbering_(uid) {}

  void set_request_size(size_t bytes) noexcept { pending_.set_request_size(bytes); }

  // --- sends

  // A send call to a ucp_ep_h begins: its message, if it is transmitted before end(), is (a). The
  // signature, of kHead bytes or more, stays the caller's until end(); shorter: none.
  void begin(const void* endpoint, uint64_t tag, const void* buffer, const void* head,
             const uint8_t* tail, size_t length) noexcept {
    in_call_ = true;
    call_.number = numbering_.next(endpoint, tag);
    call_.endpoint = endpoint;
    call_.buffer = buffer;
    call_.tag = tag;
    call_.transmitted = call_.in_own_memory = false;
    is_only_send_ = pending_.empty();
    call_.ambiguous = !is_only_send_ && is_ambiguous(endpoint, tag);
    call_.length = length <= kMaxSignature && length >= kHead ? length : 0;
    if (pending_.any_disabled()) [[unlikely]]
      call_.length = pending_.is_disabled(tag) ? 0 : call_.length;
    call_.head = head;
    call_.tail = tail;
  }
  void begin(const void* endpoint, uint64_t tag, const void* buffer, const uint8_t* signature,
             size_t length) noexcept {
    begin(endpoint, tag, buffer, signature, length > kHead ? signature + kHead : nullptr, length);
  }
  [[nodiscard]] bool in_call() const noexcept { return in_call_; }
  // A send that is not matched begins inside of the call, and takes a number all the same. From
  // here on a message of its tag may be its, so that the call's carries nothing.
  void skip(const void* endpoint, uint64_t tag) noexcept {
    (void)numbering_.next(endpoint, tag);
    if (!may_be_of_call(tag)) return;
    is_only_send_ = false;
    call_.ambiguous = true;
    call_.length = 0;
  }
  // It returned, as in end(): its message may be transmitted yet, as far as is known.
  void end_skipped(const void* endpoint, uint64_t tag, void* request, bool in_own_memory) noexcept;
  // The call returned. `request` is what its caller got, or nullptr when the send is complete;
  // `in_own_memory`: it lies in the caller's memory, for which reuse() was called before begin().
  void end(void* request, bool in_own_memory = false) noexcept {
    in_call_ = is_only_send_ = false;
    if (request == nullptr || call_.transmitted || pending_.is_disabled(call_.tag)) return;
    call_.in_own_memory = in_own_memory;
    pending_.add(reinterpret_cast<uintptr_t>(request), call_);
  }
  // A send begins whose request lies in the caller's memory: the older ones there are complete.
  void reuse(const void* request) noexcept {
    if (!pending_.empty()) [[unlikely]]
      pending_.reuse(request);
  }
  // Pending ones whose request lies in the caller's memory. Any thread, without a lock: each knows
  // of its own.
  [[nodiscard]] bool any_in_own_memory() const noexcept { return pending_.any_in_own_memory(); }
  // The request is complete: nothing of it will be transmitted any more.
  void complete(const void* request) noexcept {
    if (!pending_.empty()) [[unlikely]]
      pending_.remove(request);
  }
  // The request is released while the send is under way: its completion will not show.
  void release(const void* request) noexcept {
    if (!pending_.empty()) [[unlikely]]
      pending_.release(request);
  }
  // The endpoint is about to end; nullptr: all of them are.
  void forget_endpoint(const void* endpoint) noexcept { numbering_.forget(endpoint); }
  // Sends that have returned and whose message has not been transmitted.
  [[nodiscard]] size_t pending() const noexcept { return pending_.size(); }

  // --- outgoing messages

  struct Outgoing {
    uint64_t serial;  // of the transport's endpoint: a number that is never used again
    uint64_t tag;
    const void* origin;     // see (b); nullptr: then ...
    const void* data;       // ... the send's buffer, or a copy of it
    uintptr_t request = 0;  // where the send's request begins, if the message says so
  };
  // An active message that begins a message is about to be transmitted. Copies its signature to
  // `out` and returns its length; 0: none, or not certain.
  [[nodiscard]] size_t match(const Outgoing& message, uint8_t* out, size_t room) noexcept;
  // It is the one of the call under way, and no other send is pending: then match_call() does what
  // match() would.
  [[nodiscard]] bool is_of_call(uint64_t tag) const noexcept {
    return is_only_send_ && call_.tag == tag;
  }
  [[nodiscard]] size_t match_call(uint64_t serial, uint8_t* out, size_t room) noexcept {
    endpoints_.put(serial, call_.endpoint);
    const size_t length = in_words(call_.length) <= room ? call_.length : 0;
    if (length != 0) [[likely]]
      copy_stamped(out, call_.head, call_.tail, length, numbering_.stamp(call_.number));
    is_only_send_ = false;
    call_.transmitted = true;
    last_match_ = LastMatch::kCall;
    last_had_signature_ = length != 0;
    return length;
  }
  // The transport had no room for the message of the last match(): it will be offered again.
  // Returns whether it had a signature.
  bool undo_match() noexcept;
  // A message that belongs to no tagged send is about to be transmitted: there is nothing to undo.
  void forget_match() noexcept { last_match_ = LastMatch::kNone, last_had_signature_ = false; }
  [[nodiscard]] bool has_match() const noexcept {
    return last_match_ != LastMatch::kNone || last_had_signature_;
  }

 private:
  // The send that a message belongs to; `entry`: it is a pending one; no send: none, or any of
  // several.
  struct Match {
    const Send* send = nullptr;
    const PendingSends::Entry* entry = nullptr;
  };

  [[nodiscard]] bool may_be_of_call(uint64_t tag) const noexcept {
    return in_call_ && call_.tag == tag && !call_.transmitted;
  }
  [[nodiscard]] bool is_ambiguous(const void* endpoint, uint64_t tag) noexcept;
  template <typename Visit>
  void for_each_candidate(uint64_t tag, const void* endpoint, Visit&& visit);
  [[nodiscard]] const void* endpoint_of(const Outgoing& message) noexcept;
  [[nodiscard]] const void* only_endpoint(const Outgoing& message) noexcept;
  [[nodiscard]] static bool same_signature(const Send& a, const Send& b) noexcept;
  [[nodiscard]] Match match_any(uint64_t tag, const void* endpoint) noexcept;
  [[nodiscard]] bool names_calls_request(const Outgoing& message) noexcept;
  [[nodiscard]] Match find(const Outgoing& message) noexcept;

  SendNumbering numbering_;
  EndpointCache endpoints_;
  PendingSends pending_;
  bool in_call_ = false;
  bool is_only_send_ =
      false;  // the call's message has not been transmitted, and no other is pending
  Send call_;
  Send any_;  // any of several
  enum class LastMatch : uint8_t { kNone, kCall, kPending } last_match_ = LastMatch::kNone;
  bool last_had_signature_ = false;
  Send last_;  // if it was pending, and its request
  uintptr_t last_request_ = 0;
};

}  // namespace verity::mpi

#endif
