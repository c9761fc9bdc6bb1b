// SPDX-License-Identifier: BSD-3-Clause
// Messages and receives of the tests of ReceiveMatcher.
#ifndef VERITY_TEST_UNIT_MPI_RECEIVE_CASE_H
#define VERITY_TEST_UNIT_MPI_RECEIVE_CASE_H

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "mpi/matching/receive_matcher.h"

namespace verity::mpi {

inline constexpr uint64_t kExact = ~uint64_t{0};

struct Message {
  uint64_t tag = 0;
  uint64_t number = 0;    // what its signature says: unique
  uint32_t sequence = 0;  // among those of its tag
  bool is_signed = true;
  bool is_seen = true;    // its first active message comes through this layer
  size_t length = kHead;  // of its signature
};

// Without the stamp: the number, and bytes that follow from it.
inline std::vector<uint8_t> unstamped(uint64_t number, size_t length) {
  std::vector<uint8_t> bytes(length);
  for (size_t i = 0; i < length; ++i) {
    bytes[i] = static_cast<uint8_t>(i < sizeof(number) ? number >> 8 * i : number + i * 37);
  }
  return bytes;
}

struct TestReceive final : Receive {
  bool done = false, was_dropped = false;
  uint64_t number = 0;  // 0: no signature
  size_t length = 0, received = 0;
  void resolved(const uint8_t* signature, size_t of, size_t bytes) noexcept override {
    EXPECT_FALSE(done);
    EXPECT_EQ(signature == nullptr, of == 0);
    done = true;
    received = bytes;
    length = of;
    if (of == 0) return;
    std::memcpy(&number, signature, sizeof(number));
    auto copy = std::vector<uint8_t>(signature, signature + of), wanted = unstamped(number, of);
    if (of >= kStampEnd) {
      write_stamp(copy.data(), {});
      write_stamp(wanted.data(), {});
    }
    EXPECT_EQ(copy, wanted) << number;
  }
  void dropped() noexcept override {
    EXPECT_FALSE(done);
    done = was_dropped = true;
  }
};

// A signature of just its size, as it lies in a frame, which is overwritten afterwards.
class Signature {
 public:
  explicit Signature(const Message& message, uint64_t uid = 7)
      : bytes_(message.is_signed ? unstamped(message.number, message.length)
                                 : std::vector<uint8_t>()) {
    if (length() >= kStampEnd) write_stamp(bytes_.data(), {uid, message.sequence});
  }
  ~Signature() { bytes_.assign(bytes_.size(), 0xee); }
  Signature(const Signature&) = delete;
  Signature& operator=(const Signature&) = delete;
  [[nodiscard]] const uint8_t* bytes() const { return bytes_.empty() ? nullptr : bytes_.data(); }
  [[nodiscard]] size_t length() const { return bytes_.size(); }

 private:
  std::vector<uint8_t> bytes_;
};

// The first part of one that comes in several.
inline void arrive(ReceiveMatcher& matcher, const Message& message) {
  if (!message.is_seen) return;
  const Signature signature(message);
  matcher.arrive(message.tag, signature.bytes(), signature.length());
}

// One that comes whole, as long as UCP handles it: what the interposer's arrives() and arrived()
// do.
class Handling {
 public:
  Handling(ReceiveMatcher& matcher, const Message& message)
      : matcher_(matcher),
        signature_(message),
        expected_(signature_.length() >= kHead && signature_.length() <= kMaxSignature &&
                  matcher.is_next(message.tag, signature_.bytes())),
        open_(expected_
                  ? matcher.begin_handling_next(signature_.bytes(), signature_.length())
                  : matcher.begin_handling(message.tag, signature_.bytes(), signature_.length())) {}
  ~Handling() {
    if (is_open()) matcher_.end_handling();
  }
  Handling(const Handling&) = delete;
  Handling& operator=(const Handling&) = delete;
  // The plugin must call end_handling().
  [[nodiscard]] bool is_open() const { return open_ != nullptr && *open_ != 0; }
  [[nodiscard]] bool was_expected() const { return expected_; }

 private:
  ReceiveMatcher& matcher_;
  Signature signature_;
  bool expected_;
  const uint64_t* open_;
};

// A receive, as src/mpi/ucp/receives.cc posts it.
[[nodiscard]] inline Post* post_simple(ReceiveMatcher& matcher, uint64_t tag, uint64_t mask,
                                       Receive* receive) {
  Post* post = matcher.post(tag, mask, receive);
  if (post != nullptr) post->simple = true;
  return post;
}

// Its completion, as its callback there handles it.
inline void complete(ReceiveMatcher& matcher, Post* post, uint64_t tag, size_t received) {
  if (matcher.got_handled(post, tag)) {
    matcher.complete_simple(post, received);
  } else {
    matcher.complete(post, tag, received);
  }
}

}  // namespace verity::mpi

#endif
