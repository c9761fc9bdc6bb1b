// SPDX-License-Identifier: BSD-3-Clause
#ifndef VERITY_TEST_FAULT_KINDS_H
#define VERITY_TEST_FAULT_KINDS_H

#include <array>
#include <cstddef>
#include <cstdint>

namespace verity::fault {

// X(enumerator, name in UCX_FAULT_KINDS and the report). The order is the bit order of the option.
#define VERITY_FAULT_KINDS(X) \
  X(kFlip, "flip")            \
  X(kBurst, "burst")          \
  X(kZeroLine, "zero_line")   \
  X(kTruncate, "truncate")    \
  X(kDrop, "drop")            \
  X(kReplace, "replace")      \
  X(kRepeat, "repeat")        \
  X(kSwap, "swap")

enum class Kind : uint8_t {
#define X(enumerator, name) enumerator,
  VERITY_FAULT_KINDS(X)
#undef X
};

inline constexpr auto kKindNames = std::to_array<const char*>({
#define X(enumerator, name) name,
    VERITY_FAULT_KINDS(X)
#undef X
});
inline constexpr size_t kKindCount = kKindNames.size();

using KindMask = unsigned;
constexpr KindMask mask_of(Kind kind) { return 1U << static_cast<unsigned>(kind); }
constexpr KindMask kAllKinds = (1U << kKindCount) - 1;
// What can be done to bytes in place, whatever carries them.
constexpr KindMask kByteKinds =
    mask_of(Kind::kFlip) | mask_of(Kind::kBurst) | mask_of(Kind::kZeroLine);

// What concerns a frame, not bytes in it.
constexpr KindMask kWholeKinds =
    mask_of(Kind::kDrop) | mask_of(Kind::kReplace) | mask_of(Kind::kRepeat) | mask_of(Kind::kSwap);

// What carried the bytes.
enum class Op : uint8_t { kAm, kGet, kPut };
inline constexpr std::array<const char*, 3> kOpNames = {"am", "get", "put"};

enum class Side : uint8_t { kTx, kRx };
inline constexpr std::array<const char*, 2> kSideNames = {"tx", "rx"};

enum class Place : uint8_t { kAny, kHeader, kPayload };
inline constexpr std::array<const char*, 3> kPlaceNames = {"any", "header", "payload"};

}  // namespace verity::fault

#endif
