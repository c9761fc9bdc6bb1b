// SPDX-License-Identifier: BSD-3-Clause
//
// What was wrong, and whose it can have been. One list makes the names, the help and what a report
// makes of them.
#ifndef VERITY_HEALTH_FAULTS_FAULT_KIND_H
#define VERITY_HEALTH_FAULTS_FAULT_KIND_H

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace verity::health {

// Whose fault it can be: the path between two hosts, or either host; this host's own memory; the
// program; or it is undecidable.
enum class Blame : std::uint8_t { kPath, kMemory, kProgram, kUndecided };

// X(enumerator, name, blame, help)
#define VERITY_FAULT_KINDS(X)                                                              \
  X(kPayload, "payload", kPath, "the payload came damaged")                                \
  X(kHeader, "header", kPath, "the header of a frame came damaged")                        \
  X(kFrame, "frame", kPath,                                                                \
    "header or payload came damaged; which one is unknown, as the right bytes never came") \
  X(kLength, "length", kPath, "more or fewer bytes came than the header says")             \
  X(kPersistent, "persistent", kPath, "retransmitted or re-read bytes were wrong again")   \
  X(kSourceMemory, "source_memory", kMemory,                                               \
    "the sender's own copy was no longer what it had sealed")                              \
  X(kSourceChanged, "source_changed", kProgram,                                            \
    "the program changed a buffer that was being sent or read")                            \
  X(kAmbiguous, "ambiguous", kUndecided,                                                   \
    "damaged on the way, or changed by its owner while it was read")

// Not to be confused with wire::Verdict, which is what is known the moment a frame arrives.
enum class FaultKind : std::uint8_t {
#define VERITY_ENUMERATOR(enumerator, name, blame, help) enumerator,
  VERITY_FAULT_KINDS(VERITY_ENUMERATOR)
#undef VERITY_ENUMERATOR
};

struct FaultKindInfo {
  std::string_view name;
  Blame blame;
  std::string_view help;
};

inline constexpr std::array kFaultKinds = {
#define VERITY_INFO(enumerator, name, blame, help) FaultKindInfo{name, Blame::blame, help},
    VERITY_FAULT_KINDS(VERITY_INFO)
#undef VERITY_INFO
};
#undef VERITY_FAULT_KINDS

[[nodiscard]] constexpr const FaultKindInfo& info_of(FaultKind kind) noexcept {
  return kFaultKinds[static_cast<std::size_t>(kind)];
}
[[nodiscard]] constexpr std::optional<FaultKind> parse_fault_kind(std::string_view name) noexcept {
  const auto found = std::find_if(kFaultKinds.begin(), kFaultKinds.end(),
                                  [&](const FaultKindInfo& info) { return info.name == name; });
  if (found == kFaultKinds.end()) return std::nullopt;
  return static_cast<FaultKind>(found - kFaultKinds.begin());
}

}  // namespace verity::health

#endif
