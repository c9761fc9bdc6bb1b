// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/matching/receive_order.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "util/words.h"

namespace verity::mpi {

namespace {

constexpr size_t kShortArrival = 64;
constexpr size_t kShortest = kStampEnd + util::kWord;  // nearly always: that is all of a record

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

ReceiveOrder::ReceiveOrder() noexcept : table_(static_cast<Stream**>(std::calloc(kBuckets, sizeof(Stream*)))) {
  lost_ = table_ == nullptr;
}

ReceiveOrder::~ReceiveOrder() {
  for (size_t i = 0; table_ != nullptr && i < kBuckets; ++i) {
    for (Stream* s = table_[i]; s != nullptr; s = s->chain) {
      free_all(s->first, &Arrival::next);
    }
    free_all(table_[i], &Stream::chain);
  }
  free_all(chunks_, &Chunk::next);
  for (Arrival* list : free_arrivals_) free_all(list, &Arrival::next);
  std::free(buckets_);
  std::free(table_);
}

// ---- pending receives ---------------------------------------------------------------------------------------------------------

// Few masks are in use: that of exact receives and those of the wildcards.
uint32_t ReceiveOrder::search_mask(uint64_t mask) noexcept {
  for (size_t i = 0; i < masks_.size(); ++i) {
    if (masks_[i].mask == mask) return last_mask_ = static_cast<uint32_t>(i);
  }
  try {
    masks_.push_back({mask, 0});
    return last_mask_ = static_cast<uint32_t>(masks_.size() - 1);
  } catch (...) {
    return kNoMask;
  }
}

void ReceiveOrder::add_chunk() noexcept {
  auto* chunk = static_cast<Chunk*>(std::malloc(sizeof(Chunk)));
  if (chunk == nullptr) return;
  chunk->next = std::exchange(chunks_, chunk);
  for (Post& post : chunk->posts) recycle(&post);
}

// Puts the receives posted last where they are found by what they want. Nearly all receives are complete before anyone looks.
bool ReceiveOrder::sort_fresh() noexcept {
  if (buckets_ == nullptr) {
    buckets_ = static_cast<PostLink*>(std::malloc(kBuckets * sizeof(PostLink)));
    for (size_t i = 0; buckets_ != nullptr && i < kBuckets; ++i) buckets_[i] = {&buckets_[i], &buckets_[i]};
  }
  while (buckets_ != nullptr && fresh_.next != &fresh_) {
    auto* post = static_cast<Post*>(fresh_.next);
    const bool is_last_mask = !masks_.empty() && masks_[last_mask_].mask == post->mask;
    post->mask_index = is_last_mask ? last_mask_ : search_mask(post->mask);
    if (post->mask_index == kNoMask) return false;
    ++masks_[post->mask_index].pending;
    post->simple = false;
    fresh_.next = post->next;
    fresh_.next->previous = &fresh_;
    append(buckets_[bucket_of(post->tag, post->mask)], post);
  }
  return buckets_ != nullptr;
}

Post* ReceiveOrder::lend() noexcept {
  if (free_posts_ == nullptr) add_chunk();
  Post* post = free_posts_;
  if (post == nullptr) return nullptr;
  free_posts_ = static_cast<Post*>(post->next);
  post->order = ++order_;
  post->pending = post->lent = true;
  post->receive = nullptr;
  post->call.request = nullptr;
  ++lent_;
  return post;
}

void ReceiveOrder::take_back(Post* post) noexcept {
  --lent_;
  recycle(post);
}

Post* ReceiveOrder::find(const void* request) noexcept {
  for (Chunk* chunk = chunks_; chunk != nullptr; chunk = chunk->next) {
    for (Post& post : chunk->posts) {
      if (post.pending && post.call.request == request) return &post;
    }
  }
  return nullptr;
}

// The pending receive posted first of those that could take the tag.
const Post* ReceiveOrder::first_pending(uint64_t tag) noexcept {
  if (!sort_fresh()) {
    lose();
    return nullptr;
  }
  const Post* first = nullptr;
  for (const Mask& known : masks_) {
    if (known.pending == 0) continue;
    const uint64_t key = tag & known.mask;
    const PostLink& bucket = buckets_[bucket_of(key, known.mask)];
    for (const PostLink* link = bucket.next; link != &bucket; link = link->next) {
      const auto* post = static_cast<const Post*>(link);
      if (post->tag != key || post->mask != known.mask) continue;
      if (first == nullptr || post->order < first->order) first = post;
      break;
    }
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
      if (s->first != nullptr || s->complete != nullptr || s->unsure || s->waits || (inbound_.order != 0 && inbound_.stream == s)) {
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

inline ReceiveOrder::Arrival* ReceiveOrder::new_arrival(size_t length) noexcept {
  const bool is_long = length > kShortArrival;
  Arrival* arrival = take(free_arrivals_[is_long], &Arrival::next);
  if (arrival == nullptr) [[unlikely]] {
    arrival = static_cast<Arrival*>(std::malloc(sizeof(Arrival) + (is_long ? kMaxSignature : kShortArrival)));
    if (arrival == nullptr) return nullptr;
    arrival->is_long = is_long;
  }
  arrival->next = nullptr;
  arrival->length = static_cast<uint16_t>(length);
  return arrival;
}

inline void ReceiveOrder::recycle(Arrival* arrival) noexcept {
  arrival->next = free_arrivals_[arrival->is_long];
  free_arrivals_[arrival->is_long] = arrival;
}

// A sender numbers its messages of a tag. One that is missing went another way, past this layer, and some receive has it or will.
// False: whoever gets this message by order alone may not have got it.
bool ReceiveOrder::note_sequence(Stream& s, const Stamp* stamp) noexcept {
  if (stamp == nullptr) {
    ++s.next;
    ++s.blanks;
    return false;
  }
  const bool same = s.known && s.uid == stamp->uid;
  // The first ones of another numbering may have had no signature; the last ones of the one before may have gone past, where that happens
  // at all. So may those of a tag that was forgotten.
  const bool follows = same || !s.known ? stamp->sequence == s.next || (!s.known && forgot_ && !went_past_)
                                        : stamp->sequence <= s.blanks && !went_past_;
  if (!follows) doubt(s);
  s.known = true;
  s.sure = !s.unsure;
  s.uid = stamp->uid;
  s.next = stamp->sequence + 1;
  s.blanks = 0;
  return !s.unsure;
}

const uint64_t* ReceiveOrder::begin_arrival(uint64_t tag, const uint8_t* signature, size_t length) noexcept {
  if (inbound_.order != 0) keep_inbound();  // the new one came inside of its handling
  Stream* s = lost_ || length > kMaxSignature ? nullptr : stream(tag);
  if (s == nullptr) {
    lose();
    return nullptr;
  }
  Stamp stamp;
  const bool certain = note_sequence(*s, read_stamp(signature, length, &stamp) ? &stamp : nullptr);
  return open_inbound(*s, signature, length, certain);
}

// Nobody had it yet, or UCP's handling of it does not say who.
void ReceiveOrder::keep_inbound() noexcept {
  inbound_.order = 0;
  const size_t length = inbound_.length;
  Arrival* arrival = new_arrival(length);
  if (arrival == nullptr) return lose();
  arrival->certain = inbound_.certain;
  if (length >= kShortest) [[likely]] {
    util::copy_words<kShortest>(arrival->bytes(), inbound_.signature);
    if (length != kShortest) util::copy_words(arrival->bytes() + kStampEnd, inbound_.signature + kStampEnd, length - kStampEnd);
  } else if (length != 0) {
    std::memcpy(arrival->bytes(), inbound_.signature, length);
  }
  Stream& s = *inbound_.stream;
  (s.first == nullptr ? s.first : s.last->next) = arrival;
  s.last = arrival;
}

// ---- which receive got which --------------------------------------------------------------------------------------------------

void ReceiveOrder::enter(Stream& s, Post* post) noexcept {
  PostLink* before = s.complete_last;
  while (before != nullptr && static_cast<Post*>(before)->order > post->order) before = before->previous;
  PostLink*& link = before == nullptr ? s.complete : before->next;
  post->previous = before;
  post->next = link;
  (link == nullptr ? s.complete_last : link->previous) = post;
  link = post;
}

void ReceiveOrder::complete_by_order(Post* post, uint64_t tag, size_t received) noexcept {
  post->received = received;
  Stream* s = lost_ ? nullptr : stream(tag);
  if (s == nullptr) [[unlikely]] return complete_unknown(post);
  // Nearly always: nothing else of this tag waits to be certain, and it is.
  if (s->complete == nullptr && !must_wait(tag, post->order)) [[likely]] {
    deliver(*s, post);
  } else {
    complete_in_order(*s, post);
  }
}

void ReceiveOrder::complete_unknown(Post* post) noexcept {
  Receive* receive = post->receive;
  const size_t received = post->received;
  recycle(post);
  lose();
  ++uncertain_;
  if (receive != nullptr) receive->resolved(nullptr, 0, received);
  if (waiting_ != 0) settle_waiting();
}

void ReceiveOrder::complete_in_order(Stream& s, Post* post) noexcept {
  enter(s, post);
  ++waiting_;
  if (settle(s) || s.waits) return;
  s.waits = true;
  s.next_waiting = waiting_streams_;
  waiting_streams_ = &s;
}

// Tells the receives of this tag that are certain now. False: some wait still.
bool ReceiveOrder::settle(Stream& s) noexcept {
  const Post* earlier = s.complete == nullptr || pending_ == 0 ? nullptr : first_pending(s.tag);
  while (s.complete != nullptr) {
    auto* post = static_cast<Post*>(s.complete);
    if (earlier != nullptr && earlier->order < post->order) return false;
    s.complete = post->next;
    (s.complete == nullptr ? s.complete_last : s.complete->previous) = nullptr;
    --waiting_;
    deliver(s, post);
  }
  return true;
}

// The post, in no list any more, got the first message of this tag.
inline void ReceiveOrder::deliver(Stream& s, Post* post) noexcept {
  Arrival* arrival = take(s.first, &Arrival::next);
  if (arrival == nullptr) doubt(s);
  const bool certain = arrival != nullptr && arrival->certain && !lost_;
  (certain ? resolved_ : uncertain_)++;
  Receive* receive = post->receive;
  const size_t received = post->received;
  recycle(post);
  if (receive != nullptr) {
    const size_t length = certain ? arrival->length : 0;
    receive->resolved(length != 0 ? arrival->bytes() : nullptr, length, received);
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

void ReceiveOrder::lose() noexcept {
  lost_ = true;
  last_stream_ = nullptr;
}

}  // namespace verity::mpi
