// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/matching/receive_matcher.h"

namespace verity::mpi {

void ReceiveMatcher::disable() noexcept {
  disabled_ = true;
  streams_.forget_last();
}

TagStream* ReceiveMatcher::stream_of(uint64_t tag) noexcept {
  if (disabled_) return nullptr;
  TagStream* stream = streams_.find_or_add(tag, handled_.order != 0 ? handled_.stream : nullptr);
  // So many tags that are not idle are those of messages that bypass the plugin: checking them
  // would only get slower.
  if (streams_.is_crowded()) [[unlikely]]
    disable();
  return stream;
}

// ---- messages -----------------------------------------------------------------------------------

const uint64_t* ReceiveMatcher::begin_handling(uint64_t tag, const uint8_t* signature,
                                               size_t length) noexcept {
  if (handled_.order != 0) enqueue_handled();  // the new one came while UCP was handling it
  TagStream* stream = length > kMaxSignature ? nullptr : stream_of(tag);
  if (stream == nullptr) {
    disable();
    return nullptr;
  }
  Stamp stamp;
  const bool has_stamp = read_stamp(signature, length, &stamp);
  const bool certain =
      stream->sequence.advance(has_stamp ? &stamp : nullptr, {bypassed_, streams_.has_evicted()});
  bypassed_ = bypassed_ || stream->sequence.has_gap();
  return set_handled(*stream, signature, length, certain);
}

// No receive has completed with it yet, or its completion will not say so.
void ReceiveMatcher::enqueue_handled() noexcept {
  handled_.order = 0;
  Arrival* arrival = arrivals_.make(handled_.signature, handled_.length, handled_.certain);
  if (arrival == nullptr) return disable();
  handled_.stream->enqueue(arrival);
}

// ---- receives -----------------------------------------------------------------------------------

void ReceiveMatcher::drop(Post* post) noexcept {
  posted_.remove(post);
  Receive* receive = post->receive;
  posted_.recycle(post);
  if (receive != nullptr) receive->dropped();
  if (waiting_ != 0) resolve_waiting();
}

// The pending receive posted first of those that could take the tag.
const Post* ReceiveMatcher::first_pending(uint64_t tag) noexcept {
  const Post* first = nullptr;
  if (posted_.size() != 0 && !posted_.find_first(tag, &first)) disable();
  return first;
}

void ReceiveMatcher::complete_by_order(Post* post, uint64_t tag, size_t received) noexcept {
  post->received = received;
  TagStream* stream = stream_of(tag);
  if (stream == nullptr) [[unlikely]]
    return complete_uncertain(post);
  const bool is_first = stream->first_completed() == nullptr;
  const Post* earlier = is_first ? first_pending(tag) : nullptr;
  if (is_first && (earlier == nullptr || earlier->order > post->order)) [[likely]] {
    deliver_first(*stream, post);
  } else {
    wait_for_earlier(*stream, post);
  }
}

void ReceiveMatcher::complete_uncertain(Post* post) noexcept {
  Receive* receive = post->receive;
  const size_t received = post->received;
  posted_.recycle(post);
  disable();
  ++uncertain_;
  if (receive != nullptr) receive->resolved(nullptr, 0, received);
  if (waiting_ != 0) resolve_waiting();
}

void ReceiveMatcher::wait_for_earlier(TagStream& stream, Post* post) noexcept {
  stream.insert(post);
  ++waiting_;
  if (resolve(stream) || stream.is_waiting) return;
  stream.is_waiting = true;
  stream.next_waiting = waiting_streams_;
  waiting_streams_ = &stream;
}

// The post, in no list any more, got the first message of this tag.
void ReceiveMatcher::deliver_first(TagStream& stream, Post* post) noexcept {
  Arrival* arrival = stream.dequeue();
  if (arrival == nullptr) {
    stream.sequence.set_gap();
    bypassed_ = true;
  }
  const bool certain = arrival != nullptr && arrival->certain && !disabled_;
  (certain ? resolved_ : uncertain_)++;
  Receive* receive = post->receive;
  const size_t received = post->received;
  posted_.recycle(post);
  if (receive != nullptr) {
    const size_t length = certain ? arrival->length : 0;
    receive->resolved(length != 0 ? arrival->bytes() : nullptr, length, received);
  }
  if (arrival != nullptr) arrivals_.recycle(arrival);
}

// Delivers to the completed receives of this tag whose message is certain now. False: some still
// wait.
bool ReceiveMatcher::resolve(TagStream& stream) noexcept {
  const Post* earlier = stream.first_completed() == nullptr ? nullptr : first_pending(stream.tag());
  while (Post* post = stream.first_completed()) {
    if (earlier != nullptr && earlier->order < post->order) return false;
    stream.pop_completed();
    --waiting_;
    deliver_first(stream, post);
  }
  return true;
}

void ReceiveMatcher::resolve_waiting() noexcept {
  for (TagStream** place = &waiting_streams_; *place != nullptr;) {
    TagStream* stream = *place;
    if (!resolve(*stream)) {
      place = &stream->next_waiting;
      continue;
    }
    *place = stream->next_waiting;
    stream->is_waiting = false;
  }
}

}  // namespace verity::mpi
