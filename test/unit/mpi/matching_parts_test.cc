// SPDX-License-Identifier: BSD-3-Clause
// The parts that the matching of sends and receives is made of, each by itself.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "mpi/matching/arrivals.h"
#include "mpi/matching/endpoint_cache.h"
#include "mpi/matching/pending_sends.h"
#include "mpi/matching/posted_receives.h"
#include "mpi/matching/send_numbering.h"
#include "mpi/matching/sequence_check.h"
#include "mpi/matching/stream_table.h"

namespace verity::mpi {
namespace {

constexpr uint64_t kExact = ~uint64_t{0};

TEST(MpiTagStream, CompletedReceivesAreInTheOrderOfPosting) {
  TagStream stream(5);
  Post posts[3] = {};
  for (uint64_t i = 0; i < 3; ++i) posts[i].order = i + 1;
  for (const int i : {1, 2, 0}) stream.insert(&posts[i]);
  EXPECT_FALSE(stream.is_idle());
  for (Post& post : posts) {
    EXPECT_EQ(stream.first_completed(), &post);
    stream.pop_completed();
  }
  EXPECT_EQ(stream.first_completed(), nullptr);
  EXPECT_TRUE(stream.is_idle());
}

TEST(MpiTagStream, ArrivalsAreInTheOrderOfTheirCopies) {
  ArrivalPool pool;
  TagStream stream(5);
  EXPECT_EQ(stream.dequeue(), nullptr);
  std::vector<uint8_t> signature(kMaxSignature);
  for (const size_t length : {size_t{0}, kHead - 1, kHead, kMaxSignature}) {
    signature.assign(signature.size(), static_cast<uint8_t>(length));
    stream.enqueue(pool.make(signature.data(), length, length != 0));
  }
  for (const size_t length : {size_t{0}, kHead - 1, kHead, kMaxSignature}) {
    Arrival* arrival = stream.dequeue();
    ASSERT_NE(arrival, nullptr);
    EXPECT_EQ(arrival->length, length);
    EXPECT_EQ(arrival->certain, length != 0);
    signature.assign(signature.size(), static_cast<uint8_t>(length));
    EXPECT_EQ(std::memcmp(arrival->bytes(), signature.data(), length), 0);
    pool.recycle(arrival);
  }
  EXPECT_TRUE(stream.is_idle());
}

TEST(MpiStreamTable, EvictsTheIdleOnesThatAreNotInUse) {
  StreamTable table;
  TagStream* in_use = table.find_or_add(0, nullptr);
  TagStream* gap = table.find_or_add(1, nullptr);
  gap->sequence.set_gap();
  for (uint64_t tag = 2; tag < StreamTable::kMost; ++tag) (void)table.find_or_add(tag, nullptr);
  EXPECT_EQ(table.size(), StreamTable::kMost);
  EXPECT_FALSE(table.has_evicted());
  TagStream* added = table.find_or_add(StreamTable::kMost, in_use);
  EXPECT_TRUE(table.has_evicted());
  EXPECT_FALSE(table.is_crowded());
  EXPECT_EQ(table.size(), 3u);
  EXPECT_EQ(table.last(), added);
  EXPECT_EQ(table.find_or_add(0, nullptr), in_use);
  EXPECT_EQ(table.find_or_add(1, nullptr), gap);
}

TEST(MpiStreamTable, IsCrowdedWhenHalfOfThemAreNotIdle) {
  StreamTable table;
  for (uint64_t tag = 0; tag < StreamTable::kMost; ++tag) {
    TagStream* stream = table.find_or_add(tag, nullptr);
    if (tag <= StreamTable::kMost / 2) stream->sequence.set_gap();
  }
  (void)table.find_or_add(StreamTable::kMost, nullptr);
  EXPECT_TRUE(table.is_crowded());
}

class MpiPostedReceives : public testing::Test {
 protected:
  Post* add(uint64_t tag, uint64_t mask) {
    return posted.make_room() ? posted.add(tag, mask, nullptr) : nullptr;
  }
  const Post* first(uint64_t tag) {
    const Post* found = nullptr;
    EXPECT_TRUE(posted.find_first(tag, &found));
    return found;
  }
  PostedReceives posted;
};

TEST_F(MpiPostedReceives, TheFirstOneThatCouldTakeTheTag) {
  Post* five = add(5, kExact);
  Post* any = add(0, 0);
  Post* low = add(0x105, 0xff);
  EXPECT_EQ(first(5), five);
  EXPECT_EQ(first(6), any);
  posted.remove(any);
  EXPECT_EQ(first(6), nullptr);
  EXPECT_EQ(first(0x205), low);
  posted.remove(five);
  EXPECT_EQ(first(5), low);
  Post* later = add(5, kExact);
  EXPECT_EQ(first(5), low);
  posted.remove(low);
  EXPECT_EQ(first(5), later);
  EXPECT_EQ(posted.size(), 1u);
}

TEST_F(MpiPostedReceives, OnceSortedAReceiveIsNotSimpleAnyMore) {
  Post* post = add(5, kExact);
  post->simple = true;
  posted.remove_simple(post);
  posted.recycle(post);
  EXPECT_EQ(posted.size(), 0u);
  EXPECT_EQ(first(5), nullptr);
  post = add(5, kExact);
  post->simple = true;
  EXPECT_EQ(first(5), post);
  EXPECT_FALSE(post->simple);
}

TEST_F(MpiPostedReceives, PostsAreReused) {
  for (int i = 0; i < 1000; ++i) {
    Post* post = add(5, kExact);
    posted.remove(post);
    posted.recycle(post);
  }
  std::vector<Post*> posts;
  while (posted.has_room()) posts.push_back(add(5, kExact));
  EXPECT_LE(posts.size(), 64u);
}

TEST(MpiSendNumbering, CountsForEachTagAndEndpoint) {
  SendNumbering numbering(0x1234);
  const int endpoints[2] = {};
  const SendNumber first = numbering.next(&endpoints[0], 5);
  const SendNumber other = numbering.next(&endpoints[1], 5);
  const SendNumber second = numbering.next(&endpoints[0], 5);
  EXPECT_EQ(first.sequence, 0u);
  EXPECT_EQ(other.sequence, 0u);
  EXPECT_EQ(second.sequence, 1u);
  EXPECT_EQ(second.epoch, first.epoch);
  EXPECT_NE(other.epoch, first.epoch);
  EXPECT_EQ(numbering.stamp(second).uid, uint64_t{0x1234} << 32 | second.epoch);
  EXPECT_EQ(numbering.stamp(second).sequence, 1u);
}

TEST(MpiSendNumbering, OneThatWasReplacedBeginsAnewAsAnotherEpoch) {
  SendNumbering numbering(1);
  const int endpoint = 0;
  const SendNumber first = numbering.next(&endpoint, 5);
  for (uint64_t tag = 10; tag < 100'000; ++tag) (void)numbering.next(&endpoint, tag);
  const SendNumber again = numbering.next(&endpoint, 5);
  EXPECT_EQ(again.sequence, 0u);
  EXPECT_NE(again.epoch, first.epoch);
}

TEST(MpiSendNumbering, AnEndpointInThePlaceOfAnotherBeginsAnew) {
  SendNumbering numbering(1);
  const int endpoints[2] = {};
  const SendNumber first = numbering.next(&endpoints[0], 5);
  const SendNumber other = numbering.next(&endpoints[1], 5);
  numbering.forget(&endpoints[0]);
  const SendNumber again = numbering.next(&endpoints[0], 5);
  EXPECT_EQ(again.sequence, 0u);
  EXPECT_NE(again.epoch, first.epoch);
  const SendNumber second = numbering.next(&endpoints[1], 5);
  EXPECT_EQ(second.sequence, 1u);
  EXPECT_EQ(second.epoch, other.epoch);
  numbering.forget(nullptr);
  EXPECT_EQ(numbering.next(&endpoints[1], 5).sequence, 0u);
}

TEST(MpiEndpointCache, ForgetsTheOneOfTheSamePlace) {
  EndpointCache cache;
  const int endpoints[2] = {};
  EXPECT_EQ(cache.find(1), nullptr);
  cache.put(1, &endpoints[0]);
  EXPECT_EQ(cache.find(1), &endpoints[0]);
  cache.put(1 + 4096, &endpoints[1]);
  EXPECT_EQ(cache.find(1), nullptr);
  EXPECT_EQ(cache.find(1 + 4096), &endpoints[1]);
}

class MpiPendingSends : public testing::Test {
 protected:
  static constexpr size_t kRequest = 240;
  MpiPendingSends() { pending.set_request_size(kRequest); }
  void add(char* request, uint64_t tag, uint32_t sequence) {
    Send send;
    send.endpoint = &endpoint;
    send.tag = tag;
    send.number = {1, sequence};
    pending.add(reinterpret_cast<uintptr_t>(request) + kRequest, send);
  }
  PendingSends pending;
  const int endpoint = 0;
  char requests[3][512];
};

TEST(MpiSequenceCheck, NumbersGoOnAfterTheHighestOne) {
  SequenceCheck check;
  const Stamp stamps[] = {{7, UINT32_MAX}, {7, 0}, {7, 1}};
  EXPECT_TRUE(check.advance(&stamps[0], {.bypassed = false, .evicted = true}));
  for (const Stamp& stamp : {stamps[1], stamps[2]}) {
    EXPECT_TRUE(check.is_next(stamp));
    EXPECT_TRUE(check.advance(&stamp, {.bypassed = true, .evicted = false}));
  }
}

// Numbers and epochs wrap.
TEST_F(MpiPendingSends, TheFirstOneIsNotTheOneWithTheLowestNumber) {
  add(requests[1], 5, UINT32_MAX);
  add(requests[0], 5, 0);
  EXPECT_EQ(pending.find_first(&endpoint, 5)->second.number.sequence, UINT32_MAX);
  const Send first = pending.find_first(&endpoint, 5)->second;
  pending.remove(requests[1] + kRequest);
  EXPECT_EQ(pending.find_first(&endpoint, 5)->second.number.sequence, 0u);
  pending.add(reinterpret_cast<uintptr_t>(requests[1]) + kRequest, first);
  EXPECT_EQ(pending.find_first(&endpoint, 5)->second.number.sequence, UINT32_MAX) << "again";
}

TEST_F(MpiPendingSends, TheFirstOneIsTheOneThatWasAddedFirst) {
  add(requests[1], 5, 0);
  add(requests[0], 5, 1);
  add(requests[2], 6, 0);
  ASSERT_NE(pending.find_first(&endpoint, 5), nullptr);
  EXPECT_EQ(pending.find_first(&endpoint, 5)->second.number.sequence, 0u);
  pending.remove(requests[1] + kRequest);
  EXPECT_EQ(pending.find_first(&endpoint, 5)->second.number.sequence, 1u);
  EXPECT_EQ(pending.find_first(&endpoint, 7), nullptr);
  EXPECT_EQ(pending.find_first(requests, 5), nullptr);
  EXPECT_EQ(pending.size(), 2u);
}

TEST_F(MpiPendingSends, AnAddressInTheRequestFindsItsSend) {
  add(requests[0], 5, 0);
  add(requests[1], 5, 1);
  const void* on_stack[2] = {requests[1] + 8, nullptr};
  bool is_certain = false;
  EXPECT_EQ(pending.find_by_origin(5, requests[0] + 8, &is_certain)->second.number.sequence, 0u);
  EXPECT_EQ(pending.find_by_origin(5, on_stack, &is_certain)->second.number.sequence, 1u);
  EXPECT_EQ(pending.find_by_origin(6, requests[0] + 8, &is_certain), nullptr);
  EXPECT_TRUE(is_certain);
}

TEST_F(MpiPendingSends, ARequestThatComesAgainIsTheNewSends) {
  add(requests[0], 5, 0);
  add(requests[0], 6, 0);
  EXPECT_EQ(pending.size(), 1u);
  EXPECT_EQ(pending.find_first(&endpoint, 5), nullptr);
}

TEST_F(MpiPendingSends, TooManyReleasedOnesDisableTheirTagOnly) {
  std::vector<char> memory(kRequest + 8 * 100);
  add(requests[0], 6, 0);
  for (uint32_t i = 0; i <= PendingSends::kMostReleased; ++i) {
    EXPECT_FALSE(pending.any_disabled());
    add(memory.data() + 8 * i, 5, i);
    pending.release(memory.data() + 8 * i + kRequest);
  }
  EXPECT_TRUE(pending.is_disabled(5));
  EXPECT_FALSE(pending.is_disabled(6));
  EXPECT_EQ(pending.size(), 1u);
}

}  // namespace
}  // namespace verity::mpi
