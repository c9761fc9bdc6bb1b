// SPDX-License-Identifier: BSD-3-Clause
//
// Which message did a receive get? UCP does not say; but among the receives that matched the same full tag, post order is message order,
// and when a receive completes with a tag, every receive that was posted before it, could have taken that tag and is still pending has
// matched another message already (else it would have taken this one). So the messages of a tag, in the order of their first active
// messages, belong to the receives that got this tag, in post order; a receive's message is certain once no earlier receive that
// could have taken the tag is pending. And a receive that completes while UCP is handling a message that came whole, with that
// message's tag, got that message.
//
// One worker's receives. Pure: told of events, calls Receive::resolved() and dropped(). Not thread-safe: the caller's lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "mpi/matching/message.h"
#include "mpi/matching/stamp.h"

namespace verity::mpi {

// The call that posted a receive, for the caller's own use.
struct PostingCall {
  void (*callback)();   // what its own caller wants to be called
  void* user_data;
  const void* request;  // once it has returned one
  bool freed;           // its caller gave the request up
};

struct PostLink {
  PostLink *previous, *next;
};

// A posted receive, until its message is certain. From a free list of ReceiveOrder's. Linked among the pending ones, which lie around a
// link of their list's, or among the complete ones of a stream; next: among unused ones, too.
struct Post : PostLink {
  uint64_t tag, mask;      // as posted
  uint64_t order;          // of posting; 0: it is not in use
  Receive* receive;        // nullptr: nobody wants to know
  uint32_t mask_index;     // where its mask is counted; ReceiveOrder::kNoMask: nowhere yet
  bool pending;            // it has no message yet
  bool lent;
  bool simple;             // nothing of what may be special about it is; the caller's, once it is posted
  size_t received;         // bytes
  void* owner;             // the caller's
  PostingCall call;        // the caller's
};

class ReceiveOrder {
 public:
  ReceiveOrder() noexcept;
  ~ReceiveOrder();
  ReceiveOrder(const ReceiveOrder&) = delete;
  ReceiveOrder& operator=(const ReceiveOrder&) = delete;

  // A receive is about to be posted. nullptr: out of memory (then nothing is certain any more: see lose()).
  [[nodiscard]] Post* post(uint64_t tag, uint64_t mask, Receive* receive) noexcept {
    if (!has_room()) [[unlikely]] add_chunk();
    if (has_room()) [[likely]] return post_in_room(tag, mask, receive);
    lose();
    return nullptr;
  }
  // Then there is memory for it, and post_in_room() may be called.
  [[nodiscard]] bool has_room() const noexcept { return free_posts_ != nullptr; }
  [[nodiscard]] Post* post_in_room(uint64_t tag, uint64_t mask, Receive* receive) noexcept {
    Post* post = free_posts_;
    free_posts_ = static_cast<Post*>(post->next);
    post->tag = tag & mask;
    post->mask = mask;
    post->order = ++order_;
    post->receive = receive;
    post->mask_index = kNoMask;
    post->pending = true;
    post->lent = post->simple = false;
    post->call.request = nullptr;
    append(fresh_, post);
    ++pending_;
    return post;
  }
  // It completed with a message of that tag. The post may be gone afterwards.
  void complete(Post* post, uint64_t tag, size_t received) noexcept {
    unlink(post);
    if (post->order <= inbound_.order && inbound_.tag == tag) [[likely]] {
      deliver_inbound(post, received);
    } else {
      complete_by_order(post, tag, received);
    }
    if (waiting_streams_ != nullptr) [[unlikely]] settle_waiting();
  }
  // A simple one got the message that UCP is handling: complete_simple() is for it, and complete() does the same.
  [[nodiscard]] bool got_inbound(const Post* post, uint64_t tag) const noexcept {
    return post->simple && post->order <= inbound_.order && inbound_.tag == tag && waiting_streams_ == nullptr;
  }
  void complete_simple(Post* post, size_t received) noexcept {
    post->previous->next = post->next;
    post->next->previous = post->previous;
    --pending_;
    deliver_inbound(post, received);
  }
  // It will not get a message. The post is gone afterwards.
  void drop(Post* post) noexcept;
  // One that is not of this order: of a message that is known already. Gone after take_back().
  [[nodiscard]] Post* lend() noexcept;
  void take_back(Post* post) noexcept;
  // Of those that wait for their message, or are lent, the one whose call returned that request.
  [[nodiscard]] Post* find(const void* request) noexcept;

  // The first active message of a message with this tag arrived, with a stamped signature or none (length 0).
  void arrive(uint64_t tag, const uint8_t* signature, size_t length) noexcept {
    if (begin_arrival(tag, signature, length) != nullptr) keep_inbound();
  }
  // The same of a message that came whole, before UCP handles it: when a receive completes with its tag before end_arrival(), that one got
  // it. Returns where it will be 0 then, so that end_arrival() need not be called; nullptr: there is nothing to end. The signature stays
  // the caller's until then.
  [[nodiscard]] const uint64_t* begin_arrival(uint64_t tag, const uint8_t* signature, size_t length) noexcept;
  // The same where begins_expected(): with a stamped signature of kHead to kMaxSignature bytes, which is the next one of its tag, and
  // outside of another's handling.
  [[nodiscard]] const uint64_t* begin_expected(const uint8_t* signature, size_t length) noexcept {
    Stream& s = *last_stream_;
    ++s.next;
    s.blanks = 0;
    return open_inbound(s, signature, length, true);
  }
  [[nodiscard]] bool begins_expected(uint64_t tag, const uint8_t* signature) const noexcept {
    const Stream* s = last_stream_;
    if (s == nullptr || s->tag != tag || inbound_.order != 0) return false;
    const Stamp stamp = stamp_in(signature);
    return s->uid == stamp.uid && s->next == stamp.sequence && s->sure;
  }
  void end_arrival() noexcept {
    if (inbound_.order != 0) keep_inbound();
  }

  // Something happened that is not known here: what is pending gets no signature.
  [[gnu::cold]] void lose() noexcept;

  [[nodiscard]] size_t pending() const noexcept { return pending_; }
  // With those that are lent.
  [[nodiscard]] size_t under_way() const noexcept { return pending_ + lent_; }
  // Receives that are complete and wait for earlier ones.
  [[nodiscard]] size_t waiting() const noexcept { return waiting_; }
  [[nodiscard]] size_t streams() const noexcept { return stream_count_; }
  [[nodiscard]] uint64_t resolved() const noexcept { return resolved_; }
  [[nodiscard]] uint64_t uncertain() const noexcept { return uncertain_; }

 private:
  // What the first active message of a message brought.
  struct Arrival {
    Arrival* next;
    uint16_t length;  // of the signature
    bool is_long;     // in which free list it belongs
    bool certain;
    uint8_t* bytes() noexcept { return reinterpret_cast<uint8_t*>(this + 1); }
  };
  // The messages of one tag.
  struct Stream {
    Stream* chain;
    uint64_t tag;
    Arrival *first, *last;  // that no receive is known to have got
    PostLink *complete, *complete_last;  // receives that got this tag, in post order
    uint64_t uid;
    uint32_t next;         // sequence expected next, of this numbering
    uint32_t blanks;       // messages without a signature since the last one with it
    bool known;            // a numbering was seen
    bool sure;             // of a known one nothing is missing
    bool unsure;           // a message went past: nothing that waits is certain from here on
    bool waits;            // in the list of streams with complete receives that wait for earlier ones
    Stream* next_waiting;
  };
  // The message that UCP is handling.
  struct Inbound {
    uint64_t order = 0;  // of the last receive posted before it came; 0: there is none
    uint64_t tag;
    Stream* stream;
    const uint8_t* signature;
    size_t length;  // of it
    bool certain;
  };
  struct Chunk {
    Chunk* next;
    Post posts[64];
  };
  struct Mask {
    uint64_t mask;
    size_t pending;
  };
  static constexpr size_t kBuckets = 4096;
  static constexpr size_t kMostStreams = 1 << 15;

  [[nodiscard]] static size_t bucket_of(uint64_t key, uint64_t mask) noexcept {
    uint64_t v = (key ^ (mask * 0x9e3779b97f4a7c15ull)) * 0xbf58476d1ce4e5b9ull;
    return static_cast<size_t>(v >> 52) % kBuckets;
  }
  [[nodiscard]] Stream* stream(uint64_t tag) noexcept {
    return last_stream_ != nullptr && last_stream_->tag == tag ? last_stream_ : last_stream_ = search_stream(tag);
  }
  [[nodiscard]] Stream* search_stream(uint64_t tag) noexcept;
  void sweep() noexcept;
  // Its place in masks_; kNoMask: no memory.
  static constexpr uint32_t kNoMask = ~uint32_t{0};
  [[nodiscard]] uint32_t search_mask(uint64_t mask) noexcept;
  static void append(PostLink& list, PostLink* post) noexcept {
    PostLink* last = list.previous;
    post->previous = last;
    post->next = &list;
    last->next = post;
    list.previous = post;
  }
  void unlink(Post* post) noexcept {
    post->previous->next = post->next;
    post->next->previous = post->previous;
    post->pending = false;
    --pending_;
    if (post->mask_index != kNoMask) [[unlikely]] --masks_[post->mask_index].pending;
  }
  [[nodiscard]] bool sort_fresh() noexcept;
  [[gnu::cold]] void add_chunk() noexcept;
  void recycle(Post* post) noexcept {
    post->order = 0;
    post->pending = false;
    post->next = free_posts_;
    free_posts_ = post;
  }
  [[nodiscard]] Arrival* new_arrival(size_t length) noexcept;
  void recycle(Arrival* arrival) noexcept;
  [[nodiscard]] const Post* first_pending(uint64_t tag) noexcept;
  // One that was posted before may have taken a message of that tag.
  [[nodiscard]] bool must_wait(uint64_t tag, uint64_t order) noexcept {
    const Post* earlier = pending_ == 0 ? nullptr : first_pending(tag);
    return earlier != nullptr && earlier->order < order;
  }
  void deliver_inbound(Post* post, size_t received) noexcept {
    inbound_.order = 0;
    (inbound_.length != 0 ? resolved_ : uncertain_)++;
    Receive* receive = post->receive;
    recycle(post);
    if (receive != nullptr) receive->resolved(inbound_.length != 0 ? inbound_.signature : nullptr, inbound_.length, received);
  }
  void keep_inbound() noexcept;
  static void enter(Stream& s, Post* post) noexcept;
  void complete_by_order(Post* post, uint64_t tag, size_t received) noexcept;
  void complete_in_order(Stream& s, Post* post) noexcept;
  void complete_unknown(Post* post) noexcept;
  [[nodiscard]] bool settle(Stream& s) noexcept;
  void deliver(Stream& s, Post* post) noexcept;
  void settle_waiting() noexcept;
  const uint64_t* open_inbound(Stream& s, const uint8_t* signature, size_t length, bool certain) noexcept {
    inbound_.tag = s.tag;
    inbound_.stream = &s;
    inbound_.signature = signature;
    inbound_.length = length;
    inbound_.certain = certain;
    inbound_.order = order_;
    return &inbound_.order;
  }
  [[nodiscard]] bool note_sequence(Stream& s, const Stamp* stamp) noexcept;
  // A message of that tag went past this layer.
  void doubt(Stream& s) noexcept {
    s.unsure = went_past_ = true;
    s.sure = false;
  }

  Inbound inbound_;
  PostLink fresh_{&fresh_, &fresh_};  // the pending ones posted last, in post order
  PostLink* buckets_ = nullptr;       // the other ones, each in post order, of several tags and masks
  Stream** table_ = nullptr;
  Stream* last_stream_ = nullptr;  // the message that arrives is often the one that is received next
  std::vector<Mask> masks_;
  uint32_t last_mask_ = 0;  // the place of one, if there is one
  Stream* waiting_streams_ = nullptr;
  Post* free_posts_ = nullptr;
  Chunk* chunks_ = nullptr;
  Arrival* free_arrivals_[2] = {nullptr, nullptr};  // short ones, long ones
  uint64_t order_ = 1;
  size_t pending_ = 0, lent_ = 0, waiting_ = 0, stream_count_ = 0;
  uint64_t resolved_ = 0, uncertain_ = 0;
  bool forgot_ = false;  // streams were swept: a numbering may be seen first in its middle
  bool went_past_ = false;  // some message did
  bool lost_ = false;
};

}  // namespace verity::mpi
