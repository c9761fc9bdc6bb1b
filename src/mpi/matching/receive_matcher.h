// SPDX-License-Identifier: BSD-3-Clause
//
// Which message did a receive get? UCP does not say. But among the receives that matched the same
// full tag, the order of posting is the order of the messages; and when a receive completes with a
// tag, every receive that was posted before it, could have taken that tag and is still pending has
// matched another message already (else it would have taken this one). So the messages of a tag, in
// the order of their first active messages, belong to the receives that got this tag, in the order
// of posting; a receive's message is certain once no earlier receive that could have taken the tag
// is pending. And a receive that completes while UCP is handling a message that came whole, with
// that message's tag, got that message.
//
// One worker's receives. Pure: notified of events, calls Receive::resolved() and dropped(). Not
// thread-safe: the caller's lock.
#ifndef VERITY_MPI_MATCHING_RECEIVE_MATCHER_H
#define VERITY_MPI_MATCHING_RECEIVE_MATCHER_H

#include <cstddef>
#include <cstdint>

#include "mpi/matching/arrivals.h"
#include "mpi/matching/message.h"
#include "mpi/matching/post.h"
#include "mpi/matching/posted_receives.h"
#include "mpi/matching/stamp.h"
#include "mpi/matching/stream_table.h"

namespace verity::mpi {

// More than 30 member functions: each event has one, those of the fast path a second one for a
// caller that has checked its precondition.
class ReceiveMatcher {
 public:
  ReceiveMatcher() noexcept = default;
  ReceiveMatcher(const ReceiveMatcher&) = delete;
  ReceiveMatcher& operator=(const ReceiveMatcher&) = delete;

  // --- receives

  // A receive is about to be posted. nullptr: no memory (then matching is disabled).
  [[nodiscard]] Post* post(uint64_t tag, uint64_t mask, Receive* receive) noexcept {
    if (posted_.make_room()) [[likely]]
      return posted_.add(tag, mask, receive);
    disable();
    return nullptr;
  }
  // It completed with a message of that tag. The post may be recycled afterwards.
  void complete(Post* post, uint64_t tag, size_t received) noexcept {
    posted_.remove(post);
    if (post->order <= handled_.order && handled_.tag == tag) [[likely]] {
      deliver_handled(post, received);
    } else {
      complete_by_order(post, tag, received);
    }
    if (waiting_streams_ != nullptr) [[unlikely]]
      resolve_waiting();
  }
  // A simple receive got the message that UCP is handling: then complete_simple() does what
  // complete() would.
  [[nodiscard]] bool got_handled(const Post* post, uint64_t tag) const noexcept {
    return post->simple && post->order <= handled_.order && handled_.tag == tag &&
           waiting_streams_ == nullptr;
  }
  void complete_simple(Post* post, size_t received) noexcept {
    posted_.remove_simple(post);
    deliver_handled(post, received);
  }
  // It will get no message: cancelled, or failed. The post is recycled.
  void drop(Post* post) noexcept;
  // A receive of a message that a matched probe has dequeued, for which complete() was called then.
  // In use until end_matched().
  [[nodiscard]] Post* begin_matched() noexcept { return posted_.add_matched(); }
  void end_matched(Post* post) noexcept { posted_.recycle_matched(post); }
  // The pending or matched receive whose call returned that request.
  [[nodiscard]] Post* find(const void* request) noexcept { return posted_.find(request); }

  // --- messages

  // The first active message of a message with this tag arrived, with a stamped signature or none
  // (length 0).
  void arrive(uint64_t tag, const uint8_t* signature, size_t length) noexcept {
    if (begin_handling(tag, signature, length) != nullptr) enqueue_handled();
  }
  // The same of a message that came whole, before UCP handles it: when a receive completes with its
  // tag before end_handling(), that one got it. Returns where 0 will be then, so that
  // end_handling() need not be called; nullptr: there is nothing to end. The signature stays the
  // caller's until then.
  [[nodiscard]] const uint64_t* begin_handling(uint64_t tag, const uint8_t* signature,
                                               size_t length) noexcept;
  // The message is the next one of the tag that was seen last, and UCP is handling no other: then
  // begin_handling_next() does what begin_handling() would. Precondition: a signature of kHead to
  // kMaxSignature bytes.
  [[nodiscard]] bool is_next(uint64_t tag, const uint8_t* signature) const noexcept {
    const TagStream* stream = streams_.last();
    if (stream == nullptr || stream->tag() != tag || handled_.order != 0) return false;
    return stream->sequence.is_next(stamp_in(signature));
  }
  [[nodiscard]] const uint64_t* begin_handling_next(const uint8_t* signature,
                                                    size_t length) noexcept {
    TagStream& stream = *streams_.last();
    stream.sequence.advance_to_next();
    return set_handled(stream, signature, length, true);
  }
  void end_handling() noexcept {
    if (handled_.order != 0) enqueue_handled();
  }

  // Something happened that the rules above do not cover: from now on, no receive is matched by
  // order.
  [[gnu::cold]] void disable() noexcept;

  // --- counts

  [[nodiscard]] size_t pending() const noexcept { return posted_.size(); }
  // Also those of dequeued messages.
  [[nodiscard]] size_t under_way() const noexcept { return posted_.size() + posted_.matched(); }
  // Receives that have completed and wait for earlier ones.
  [[nodiscard]] size_t waiting() const noexcept { return waiting_; }
  [[nodiscard]] size_t streams() const noexcept { return streams_.size(); }
  [[nodiscard]] uint64_t resolved() const noexcept { return resolved_; }
  [[nodiscard]] uint64_t uncertain() const noexcept { return uncertain_; }

 private:
  // The message that UCP is handling.
  struct Handled {
    uint64_t order = 0;  // of the last receive posted before it came; 0: UCP is handling none
    uint64_t tag;
    TagStream* stream;
    const uint8_t* signature;
    size_t length;  // of the signature
    bool certain;   // as Arrival's
  };

  // nullptr: no memory, or matching is disabled.
  [[nodiscard]] TagStream* stream_of(uint64_t tag) noexcept;
  const uint64_t* set_handled(TagStream& stream, const uint8_t* signature, size_t length,
                              bool certain) noexcept {
    handled_.tag = stream.tag();
    handled_.stream = &stream;
    handled_.signature = signature;
    handled_.length = length;
    handled_.certain = certain;
    handled_.order = posted_.last_order();
    return &handled_.order;
  }
  void enqueue_handled() noexcept;
  void deliver_handled(Post* post, size_t received) noexcept {
    handled_.order = 0;
    (handled_.length != 0 ? resolved_ : uncertain_)++;
    Receive* receive = post->receive;
    posted_.recycle(post);
    if (receive == nullptr) return;
    receive->resolved(handled_.length != 0 ? handled_.signature : nullptr, handled_.length,
                      received);
  }
  [[nodiscard]] const Post* first_pending(uint64_t tag) noexcept;
  void complete_by_order(Post* post, uint64_t tag, size_t received) noexcept;
  void complete_uncertain(Post* post) noexcept;
  void wait_for_earlier(TagStream& stream, Post* post) noexcept;
  void deliver_first(TagStream& stream, Post* post) noexcept;
  [[nodiscard]] bool resolve(TagStream& stream) noexcept;
  void resolve_waiting() noexcept;

  Handled handled_;
  PostedReceives posted_;
  StreamTable streams_;
  ArrivalPool arrivals_;
  TagStream* waiting_streams_ = nullptr;  // with completed receives that wait for earlier ones
  size_t waiting_ = 0;
  uint64_t resolved_ = 0, uncertain_ = 0;
  bool bypassed_ = false;  // some message bypassed the plugin
  bool disabled_ = false;
};

}  // namespace verity::mpi

#endif
