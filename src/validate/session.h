// SPDX-License-Identifier: BSD-3-Clause
//
// The two sides of a validation. Pure: bytes in, bytes out; how they travel is the caller's (p2p.h,
// collective.h).
//
//   owner                                 holder
//     ROOT  ------------------------------->  compares it with the root of its own tree
//           <-------------------------------  GOOD: done
//           <---------------  DIGESTS of the nodes two levels below the root
//     DIFFERENCES  ------------------------>  descends into the nodes that differ,
//           <---------------  DIGESTS         until they are leaves
//     LAST_SEGMENTS  ---------------------->  writes these bytes, compares the root again
//           <-------------------------------  GOOD, or DIGESTS: another round
//
// The holder ends the validation, the owner with its last message.
#ifndef VERITY_VALIDATE_SESSION_H
#define VERITY_VALIDATE_SESSION_H

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "merkle/tree.h"
#include "validate/buffer.h"
#include "validate/message.h"

namespace verity::validate {

struct Limits {
  uint32_t max_rounds = 8;
  uint64_t max_message = uint64_t{64} << 20;  // bytes of one SEGMENTS, at least a segment
};

struct Result {
  uint64_t segments = 0;  // of the buffer
  uint64_t damaged = 0;   // that differed, each counted once
  uint64_t bytes_sent_again = 0;
  uint32_t rounds = 0;  // of repairs
};

enum class Outcome : uint8_t { kRunning, kEqual, kUnequalLength, kGivenUp };

// Hashes a buffer: the tree that both sides compare. May throw std::bad_alloc.
[[nodiscard]] merkle::Tree hash_buffer(const Buffer& buffer, uint32_t segment_size);

class Owner {
 public:
  // Keeps references to both, which several sessions may share. `serial`: see message.h.
  Owner(const Buffer& buffer, const merkle::Tree& tree, uint32_t serial, const Limits& limits);

  // The first message.
  [[nodiscard]] Bytes start();
  // The answer to a message of the holder; empty: none. `reading` is what read() said of it.
  [[nodiscard]] Bytes receive(Reading reading, const Message& message);
  // Asks the holder to end.
  [[nodiscard]] Bytes give_up();

  [[nodiscard]] Outcome outcome() const noexcept { return outcome_; }
  [[nodiscard]] const Result& result() const noexcept { return result_; }

 private:
  [[nodiscard]] Header header(Kind kind) const noexcept;
  [[nodiscard]] Bytes plain(Kind kind);
  [[nodiscard]] Bytes compare(const Message& message);
  [[nodiscard]] Bytes segments();

  const Buffer& buffer_;
  const merkle::Tree& tree_;
  const uint32_t serial_;
  const Limits limits_;
  std::vector<uint64_t> to_send_;  // segments
  size_t sent_ = 0;                // of them
  uint32_t damaged_messages_ = 0;
  bool gives_up_ = false;
  Outcome outcome_ = Outcome::kRunning;
  Result result_;
};

class Holder {
 public:
  Holder(const Buffer& buffer, uint32_t serial, const Limits& limits);

  [[nodiscard]] Bytes receive(Reading reading, const Message& message);
  // False: still waits for the first message, or ended without one.
  [[nodiscard]] bool has_root() const noexcept { return tree_ != nullptr; }
  // Ends: the last message.
  [[nodiscard]] Bytes give_up();

  [[nodiscard]] Outcome outcome() const noexcept { return outcome_; }
  [[nodiscard]] const Result& result() const noexcept { return result_; }

 private:
  [[nodiscard]] Header header(Kind kind) const noexcept;
  [[nodiscard]] Bytes plain(Kind kind);
  [[nodiscard]] Bytes end(Kind kind);
  [[nodiscard]] Bytes on_root(const Message& message);
  [[nodiscard]] Bytes on_differences(const Message& message);
  [[nodiscard]] Bytes on_segments(const Message& message);
  // Compares the roots; GOOD, or the first DIGESTS of another round.
  [[nodiscard]] Bytes check_root();
  [[nodiscard]] Bytes begin_round();
  [[nodiscard]] Bytes digests_below(unsigned upper, std::span<const uint64_t> parents);
  [[nodiscard]] Bytes damaged();

  const Buffer& buffer_;
  const uint32_t serial_;
  const Limits limits_;
  std::unique_ptr<merkle::Tree> tree_;  // from the ROOT on, which says the segment size
  uint64_t owner_root_ = 0;
  std::vector<bool> was_damaged_;  // segments
  uint32_t rounds_begun_ = 0;
  Outcome outcome_ = Outcome::kRunning;
  Result result_;
};

}  // namespace verity::validate

#endif
