// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/matching/send_matcher.h"

#include <cstring>

namespace verity::mpi {

// Which of the pending sends with that tag to that endpoint were transmitted is not known.
bool SendMatcher::is_ambiguous(const void* endpoint, uint64_t tag) noexcept {
  const PendingSends::Entry* first = pending_.find_first(endpoint, tag);
  return first != nullptr && first->second.ambiguous;
}

// The sends of that tag that have not been transmitted, as far as is known; nullptr: to any
// endpoint.
template <typename Visit>
void SendMatcher::for_each_candidate(uint64_t tag, const void* endpoint, Visit&& visit) {
  const auto visit_one = [&](Send& send) {
    if (endpoint == nullptr || send.endpoint == endpoint) visit(send);
  };
  pending_.for_each(tag, visit_one);
  if (may_be_of_call(tag)) visit_one(call_);
}

// nullptr: it is not known.
const void* SendMatcher::endpoint_of(const Outgoing& message) noexcept {
  const void* known = endpoints_.find(message.serial);
  return known != nullptr ? known : only_endpoint(message);
}

// The endpoint of all candidates, or else of all those with that buffer. nullptr: there are
// several.
const void* SendMatcher::only_endpoint(const Outgoing& message) noexcept {
  const void* of_tag = nullptr;
  const void* of_buffer = nullptr;
  bool several = false, several_of_buffer = false;
  for_each_candidate(message.tag, nullptr, [&](const Send& send) {
    several = several || (of_tag != nullptr && send.endpoint != of_tag);
    of_tag = send.endpoint;
    if (message.data == nullptr || send.buffer != message.data) return;
    several_of_buffer = several_of_buffer || (of_buffer != nullptr && send.endpoint != of_buffer);
    of_buffer = send.endpoint;
  });
  if (of_tag == nullptr) return this;  // no candidate: an endpoint to which no send is pending
  if (!several) return of_tag;
  return several_of_buffer ? nullptr : of_buffer;
}

bool SendMatcher::same_signature(const Send& a, const Send& b) noexcept {
  if (a.length != b.length) return false;
  uint8_t one[kMaxSignature], other[kMaxSignature];
  if (a.length != 0) a.copy_signature(one, Stamp{0, 0});
  if (a.length != 0) b.copy_signature(other, Stamp{0, 0});
  return std::memcmp(one, other, a.length) == 0;
}

// One of the candidates is transmitted: which one of several, and so which ones remain, is not
// known until their requests are complete. Precondition: there is one.
SendMatcher::Match SendMatcher::match_any(uint64_t tag, const void* endpoint) noexcept {
  const Send* last = nullptr;
  bool are_alike = true, is_only_one = true;
  for_each_candidate(tag, endpoint, [&](const Send& send) {
    is_only_one = last == nullptr;
    are_alike = are_alike && (last == nullptr || same_signature(send, *last));
    last = &send;
  });
  if (is_only_one && last == &call_) return {.send = last};
  if (is_only_one) return {.send = last, .entry = pending_.find_first(last->endpoint, tag)};
  for_each_candidate(tag, endpoint, [&](Send& send) {
    send.ambiguous = true;
    if (!are_alike) send.length = 0;
  });
  any_ = *last;
  return {.send = &any_};
}

// Whether the message names the request of the call. Precondition: it is none of the pending ones'.
bool SendMatcher::names_calls_request(const Outgoing& message) noexcept {
  return message.request != 0 && pending_.knows_requests() && may_be_of_call(message.tag) &&
         pending_.find_first(call_.endpoint, call_.tag) == nullptr;
}

SendMatcher::Match SendMatcher::find(const Outgoing& message) noexcept {
  if (pending_.is_disabled(message.tag)) return {};
  // A pending one may be transmitted inside of a later call, before that call's own.
  const PendingSends::Entry* entry = nullptr;
  if (!pending_.empty() && message.origin != nullptr) {
    bool is_certain = true;
    entry = pending_.find_by_origin(message.tag, message.origin, &is_certain);
    // The memory of a request whose completion need not show may be the call's by now.
    if (entry != nullptr && entry->second.may_have_ended() && may_be_of_call(message.tag))
      is_certain = false;
    if (!is_certain) return match_any(message.tag, nullptr);
  } else if (!pending_.empty() && message.request != 0 &&
             (entry = pending_.find_around(message.tag, message.request)) != nullptr) {
    if (entry->second.may_have_ended() && may_be_of_call(message.tag))
      return match_any(message.tag, nullptr);
  } else if (!pending_.empty() && names_calls_request(message)) {
    return {.send = &call_};
  } else if (!pending_.empty()) {
    const void* endpoint = endpoint_of(message);
    if (endpoint == nullptr) return match_any(message.tag, nullptr);
    entry = pending_.find_first(endpoint, message.tag);
    const bool may_be_transmitted =
        entry != nullptr && (entry->second.ambiguous || entry->second.may_have_ended());
    if (may_be_transmitted) return match_any(message.tag, endpoint);
  }
  if (entry != nullptr) return {.send = &entry->second, .entry = entry};
  return {.send = may_be_of_call(message.tag) ? &call_ : nullptr};
}

void SendMatcher::end_skipped(const void* endpoint, uint64_t tag, void* request,
                              bool in_own_memory) noexcept {
  is_only_send_ = false;
  if (request == nullptr || pending_.is_disabled(tag)) return;
  Send skipped;
  skipped.endpoint = endpoint;
  skipped.tag = tag;
  skipped.ambiguous = true;
  skipped.in_own_memory = in_own_memory;
  pending_.add(reinterpret_cast<uintptr_t>(request), skipped);
}

size_t SendMatcher::match(const Outgoing& message, uint8_t* out, size_t room) noexcept {
  if (is_of_call(message.tag)) return match_call(message.serial, out, room);
  const Match found = find(message);
  forget_match();
  if (found.send == nullptr) return 0;
  const Send& send = *found.send;
  if (!send.ambiguous) endpoints_.put(message.serial, send.endpoint);
  const size_t length = in_words(send.length) <= room ? send.length : 0;
  if (length != 0)
    send.copy_signature(out, send.ambiguous ? Stamp{0, 0} : numbering_.stamp(send.number));
  last_had_signature_ = length != 0;
  if (found.entry != nullptr) {
    last_match_ = LastMatch::kPending;
    last_request_ = found.entry->first;
    last_ = send;
    pending_.remove(*found.entry);
  } else if (found.send == &call_) {
    last_match_ = LastMatch::kCall;
    call_.transmitted = true;
  }
  return length;
}

bool SendMatcher::undo_match() noexcept {
  if (last_match_ == LastMatch::kCall) {
    call_.transmitted = false;
    is_only_send_ = in_call_ && pending_.empty();
  }
  if (last_match_ == LastMatch::kPending && !pending_.is_disabled(last_.tag))
    pending_.add(last_request_, last_);
  return last_had_signature_;
}

}  // namespace verity::mpi
