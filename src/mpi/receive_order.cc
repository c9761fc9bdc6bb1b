// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/receive_order.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

namespace verity::mpi {

namespace {

constexpr size_t kShortArrival = 64;

template <typename T>
[[nodiscard]] T* take(T*& list, T* T::*next) noexcept {
  T* first = list;
  if (first != nullptr) list = first->*next;
  return first;
}

template <typename T>
void free_all(T* list, T* T::*next) noexcept {
  while (list != nullptr) std::free(std::exchange(list, list->*next));
}

}  // namespace

ReceiveOrder::ReceiveOrder() noexcept
    : buckets_(static_cast<Bucket*>(std::calloc(kBuckets, sizeof(Bucket)))),
      table_(static_cast<Stream**>(std::calloc(kBuckets, sizeof(Stream*)))) {
  lost_ = buckets_ == nullptr || table_ == nullptr;
}

ReceiveOrder::~ReceiveOrder() {
  for (size_t i = 0; buckets_ != nullptr && i < kBuckets; ++i) free_all(buckets_[i].first, &Post::next);
  for (size_t i = 0; table_ != nullptr && i < kBuckets; ++i) {
    for (Stream* s = table_[i]; s != nullptr; s = s->chain) {
      free_all(s->first, &Arrival::next);
      free_all(s->complete, &Post::next);
    }
    free_all(table_[i], &Stream::chain);
  }
  free_all(free_posts_, &Post::next);
  for (Arrival* list : free_arrivals_) free_all(list, &Arrival::next);
  std::free(buckets_);
  std::free(table_);
}

// ---- pending receives ---------------------------------------------------------------------------------------------------------

// Few masks are in use: that of exact receives and those of the wildcards.
uint32_t ReceiveOrder::count_mask(uint64_t mask) noexcept {
  for (size_t i = 0; i < masks_.size(); ++i) {
    if (masks_[i].mask != mask) continue;
    ++masks_[i].pending;
    return static_cast<uint32_t>(i);
  }
  try {
    masks_.push_back({mask, 1});
    return static_cast<uint32_t>(masks_.size() - 1);
  } catch (...) {
    return kNoMask;
  }
}

Post* ReceiveOrder::post(uint64_t tag, uint64_t mask, Receive* receive) noexcept {
  Post* post = take(free_posts_, &Post::next);
  if (post == nullptr) post = static_cast<Post*>(std::malloc(sizeof(Post)));
  const uint32_t mask_index = post == nullptr || buckets_ == nullptr ? kNoMask : count_mask(mask);
  if (mask_index == kNoMask) {
    std::free(post);
    lose();
    return nullptr;
  }
  const size_t place = bucket_of(tag & mask, mask);
  Bucket& bucket = buckets_[place];
  *post = {tag & mask, mask, 0, ++order_, 0, receive, static_cast<uint32_t>(place), mask_index, bucket.last, nullptr};
  (bucket.last == nullptr ? bucket.first : bucket.last->next) = post;
  bucket.last = post;
  ++pending_;
  return post;
}

void ReceiveOrder::unlink(Post* post) noexcept {
  Bucket& bucket = buckets_[post->bucket];
  (post->previous == nullptr ? bucket.first : post->previous->next) = post->next;
  (post->next == nullptr ? bucket.last : post->next->previous) = post->previous;
  --pending_;
  --masks_[post->mask_index].pending;
}

void ReceiveOrder::recycle(Post* post) noexcept {
  post->next = free_posts_;
  free_posts_ = post;
}

// The pending receive posted first of those that could take the tag.
const Post* ReceiveOrder::first_pending(uint64_t tag) const noexcept {
  const Post* first = nullptr;
  for (const Mask& known : masks_) {
    if (known.pending == 0) continue;
    const uint64_t key = tag & known.mask;
    const Post* post = buckets_[bucket_of(key, known.mask)].first;
    while (post != nullptr && (post->tag != key || post->mask != known.mask)) post = post->next;
    if (post != nullptr && (first == nullptr || post->order < first->order)) first = post;
  }
  return first;
}

void ReceiveOrder::drop(Post* post) noexcept {
  unlink(post);
  Receive* receive = post->receive;
  recycle(post);
  if (receive != nullptr) receive->dropped();
  if (waiting_ != 0) settle_waiting();
}

// ---- streams ------------------------------------------------------------------------------------------------------------------

ReceiveOrder::Stream* ReceiveOrder::search_stream(uint64_t tag) noexcept {
  if (table_ == nullptr) return nullptr;
  Stream*& chain = table_[bucket_of(tag, 0)];
  for (Stream* s = chain; s != nullptr; s = s->chain) {
    if (s->tag == tag) return s;
  }
  if (stream_count_ >= kMostStreams) sweep();
  auto* s = static_cast<Stream*>(std::calloc(1, sizeof(Stream)));
  if (s == nullptr) return nullptr;
  s->tag = tag;
  s->chain = chain;
  chain = s;
  ++stream_count_;
  return s;
}

// Forgets the tags of which nothing is under way.
void ReceiveOrder::sweep() noexcept {
  forgot_ = true;
  last_stream_ = nullptr;
  for (size_t i = 0; i < kBuckets; ++i) {
    for (Stream** place = &table_[i]; *place != nullptr;) {
      Stream* s = *place;
      if (s->first != nullptr || s->complete != nullptr || s->unsure || s->waits) {
        place = &s->chain;
        continue;
      }
      *place = s->chain;
      std::free(s);
      --stream_count_;
    }
  }
  // Too many whose messages go past this layer: it is of no use here, and would only get slower.
  if (stream_count_ > kMostStreams / 2) lose();
}

ReceiveOrder::Arrival* ReceiveOrder::new_arrival(size_t length) noexcept {
  const bool is_long = length > kShortArrival;
  Arrival* arrival = take(free_arrivals_[is_long], &Arrival::next);
  if (arrival == nullptr) {
    arrival = static_cast<Arrival*>(std::malloc(sizeof(Arrival) + (is_long ? kMaxSignature : kShortArrival)));
  }
  if (arrival != nullptr) *arrival = {nullptr, static_cast<uint16_t>(length), is_long, false};
  return arrival;
}

void ReceiveOrder::recycle(Arrival* arrival) noexcept {
  arrival->next = free_arrivals_[arrival->is_long];
  free_arrivals_[arrival->is_long] = arrival;
}

// A sender numbers its messages of a tag. One that is missing went another way, past this layer, and some receive has it or will.
bool ReceiveOrder::note_sequence(Stream& s, const Stamp* stamp) const noexcept {
  if (stamp == nullptr) {
    ++s.next;
    ++s.blanks;
    return false;
  }
  const bool same = s.known && s.uid == stamp->uid;
  // The first ones of another numbering may have had no signature.
  const bool follows = same || !s.known ? stamp->sequence == s.next : stamp->sequence <= s.blanks;
  s.unsure = s.unsure || !(follows || (!s.known && forgot_));
  s.known = true;
  s.uid = stamp->uid;
  s.next = stamp->sequence + 1;
  s.blanks = 0;
  return !s.unsure;
}

void ReceiveOrder::arrive(uint64_t tag, const uint8_t* signature, size_t length) noexcept {
  if (lost_) return;
  Stream* s = stream(tag);
  Arrival* arrival = s == nullptr || length > kMaxSignature ? nullptr : new_arrival(length);
  if (arrival == nullptr) return lose();
  Stamp stamp;
  arrival->certain = note_sequence(*s, read_stamp(signature, length, &stamp) ? &stamp : nullptr);
  if (length != 0) std::memcpy(arrival->bytes(), signature, length);
  (s->first == nullptr ? s->first : s->last->next) = arrival;
  s->last = arrival;
}

// ---- which receive got which --------------------------------------------------------------------------------------------------

void ReceiveOrder::enter(Stream& s, Post* post) noexcept {
  Post* before = s.complete_last;
  while (before != nullptr && before->order > post->order) before = before->previous;
  Post*& link = before == nullptr ? s.complete : before->next;
  post->previous = before;
  post->next = link;
  (link == nullptr ? s.complete_last : link->previous) = post;
  link = post;
}

void ReceiveOrder::complete(Post* post, uint64_t tag, size_t received) noexcept {
  unlink(post);
  post->matched = tag;
  post->received = received;
  Stream* s = lost_ ? nullptr : stream(tag);
  if (s == nullptr) {
    Receive* receive = post->receive;
    recycle(post);
    lose();
    ++uncertain_;
    if (receive != nullptr) receive->resolved(nullptr, 0, received);
    if (waiting_ != 0) settle_waiting();
    return;
  }
  enter(*s, post);
  ++waiting_;
  if (!settle(*s) && !s->waits) {
    s->waits = true;
    s->next_waiting = waiting_streams_;
    waiting_streams_ = s;
  }
  if (waiting_streams_ != nullptr) settle_waiting();
}

// Tells the receives of this tag that are certain now. False: some wait still.
bool ReceiveOrder::settle(Stream& s) noexcept {
  const Post* earlier = s.complete == nullptr || pending_ == 0 ? nullptr : first_pending(s.tag);
  while (s.complete != nullptr) {
    if (earlier != nullptr && earlier->order < s.complete->order) return false;
    settle_first(s);
  }
  return true;
}

void ReceiveOrder::settle_first(Stream& s) noexcept {
  Post* post = s.complete;
  s.complete = post->next;
  (s.complete == nullptr ? s.complete_last : s.complete->previous) = nullptr;
  --waiting_;
  Arrival* arrival = take(s.first, &Arrival::next);
  if (arrival == nullptr) s.unsure = true;  // its message went past this layer
  const bool certain = arrival != nullptr && arrival->certain && !lost_;
  (certain ? resolved_ : uncertain_)++;
  Receive* receive = post->receive;
  const size_t received = post->received;
  recycle(post);
  if (receive != nullptr) {
    receive->resolved(certain && arrival->length != 0 ? arrival->bytes() : nullptr, certain ? arrival->length : 0, received);
  }
  if (arrival != nullptr) recycle(arrival);
}

void ReceiveOrder::settle_waiting() noexcept {
  for (Stream** place = &waiting_streams_; *place != nullptr;) {
    Stream* s = *place;
    if (!settle(*s)) {
      place = &s->next_waiting;
      continue;
    }
    *place = s->next_waiting;
    s->waits = false;
  }
}

void ReceiveOrder::lose() noexcept { lost_ = true; }

}  // namespace verity::mpi
