// SPDX-License-Identifier: BSD-3-Clause
// Whether a message fits the buffer it was received in, by MPI's type matching rules: a correct
// program is never flagged.
//
//  - An empty message fits anything.
//  - MPI_PACKED, or a named type unknown to the checker, on either side: not checked.
//  - A message may be shorter than the receive: its n elements are compared with the first n of the
//  receive. One that is longer is
//    MPI's own error (truncation): what arrived of it, in whole elements, is compared, if the
//    sender's type is known.
//  - Messages of one basic type are compared exactly, others by hash.
//  - Two levels (Level). At kLayout elements differ in class or size; MPI_BYTE where the other side
//  has anything else is not
//    checked from there on. At kNames the basic types' names must be the same as well, MPI_BYTE's
//    too.
//  - The two sides may have been set to different levels: the lower one counts. A hash of level
//  kNames that differs does not
//    show whether the layouts do: then the sender's description decides; without one the message is
//    not checked.
#ifndef VERITY_SIGNATURE_RULES_H
#define VERITY_SIGNATURE_RULES_H

#include <span>
#include <string>
#include <string_view>

#include "signature/record.h"

namespace verity::signature {

enum class Outcome : uint8_t { kEqual, kNoCheck, kMismatch };

// Why nothing was compared.
enum class Reason : uint8_t {
  kNone,
  kPacked,       // MPI_PACKED
  kOpaque,       // a named type that the checker does not know
  kByte,         // MPI_BYTE against typed data, at kLayout
  kUncountable,  // more elements than 64 bits hold
  kTruncated,    // longer than the receive, and the sender's type is not known
  kOtherLevel,   // hashed at another level, and the sender's type is not known
  kNoMemory,
};

// What is different.
enum class What : uint8_t {
  kNone,
  kType,   // an element's type
  kOrder,  // the same elements in another order
  kCount,  // the number of elements, where it must be the same
  kHash,   // the sequences differ; where is not known, for the sender's type is not
};

// kAtMost: receives. kExact: where both sides must name the same amount of data (broadcast and the
// like); an empty message then fits only an empty buffer.
enum class Length : uint8_t { kAtMost, kExact };

inline constexpr uint64_t kUnknownPosition = ~uint64_t{0};
// All bytes of the message arrived.
inline constexpr uint64_t kWhole = ~uint64_t{0};

struct Verdict {
  Outcome outcome = Outcome::kEqual;
  Reason reason = Reason::kNone;         // of kNoCheck
  What what = What::kNone;               // of kMismatch
  uint64_t position = kUnknownPosition;  // of kMismatch: the first element that differs, from 0
  friend constexpr bool operator==(const Verdict&, const Verdict&) noexcept = default;
};

// The other side's part in a comparison.
struct Received {
  const Type& type;         // of the receive
  uint64_t copies;          // posted
  uint64_t bytes = kWhole;  // that arrived, when the message was truncated
  Length length = Length::kAtMost;
};

namespace detail {
[[nodiscard]] Verdict compare_unlike(const Record& sender, std::span<const uint8_t> description,
                                     const Received& received, Level level) noexcept;
}  // namespace detail

// Compares the message that `sender` (from read_record()) describes with a receive. `description`:
// the sender's type as it came with the record, may be empty; one that does not fit the record is
// ignored. Never throws; allocates only when there is a difference to be found or the message is
// longer than the receive. Thread-safe.
[[nodiscard]] inline Verdict compare(const Record& sender, std::span<const uint8_t> description,
                                     const Received& received, Level level) noexcept {
  // Nearly all messages: one basic type, the same on both sides. How long does not matter then.
  constexpr unsigned kUnchecked = kHasPacked | kHasOpaque;
  if (sender.homogeneous() && sender.basic == received.type.basic() &&
      (sender.flags & kUnchecked) == 0 && received.length == Length::kAtMost) {
    return {};
  }
  return detail::compare_unlike(sender, description, received, level);
}

// A verdict in words, for a message to the user.
struct Explanation {
  std::string sent;      // "100 x MPI_INT"
  std::string expected;  // "50 x {MPI_INT, MPI_DOUBLE}"
  std::string verdict;   // "element 2 is MPI_INT at the sender and MPI_DOUBLE at the receiver
                         // (...)", or why there was no check
};
// May throw std::bad_alloc.
[[nodiscard]] Explanation explain(const Verdict& verdict, const Record& sender,
                                  std::span<const uint8_t> description, const Received& received);

// "MPI_PACKED is not checked", ... Static storage.
[[nodiscard]] std::string_view to_string(Reason reason) noexcept;

}  // namespace verity::signature

#endif
