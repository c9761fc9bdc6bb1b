// SPDX-License-Identifier: BSD-3-Clause
// A message and a receive, and what the rules say of them.
#ifndef VERITY_TEST_UNIT_SIGNATURE_CASE_H
#define VERITY_TEST_UNIT_SIGNATURE_CASE_H

#include <initializer_list>
#include <vector>

#include "signature/describe.h"
#include "signature/rules.h"
#include "unit/signature/random.h"

namespace verity::signature {

using Bytes = std::vector<uint8_t>;

inline Type leaf(const char* name) { return Type::leaf(named(name)); }

inline Type fields(std::initializer_list<Type::Item> items) {
  return Type::sequence({items.begin(), items.size()});
}

inline Bytes described(const Type& type) {
  Bytes bytes(kMaxDescription);
  bytes.resize(encode(type, bytes.data(), bytes.size()));
  return bytes;
}

// One message and one receive.
struct Case {
  Type sent;
  uint64_t sent_copies;
  Type expected;
  uint64_t expected_copies;
  Level sender_level = Level::kLayout;
  Level receiver_level = Level::kLayout;
  Length length = Length::kAtMost;
  bool with_description = true;
  uint64_t arrived = kWhole;

  [[nodiscard]] Verdict verdict() const {
    const Bytes description = with_description ? described(sent) : Bytes{};
    return compare(make_record(sent, sent_copies, sender_level), description,
                   {expected, expected_copies, arrived, length}, receiver_level);
  }
  [[nodiscard]] Explanation words() const {
    const Bytes description = with_description ? described(sent) : Bytes{};
    return explain(verdict(), make_record(sent, sent_copies, sender_level), description,
                   {expected, expected_copies, arrived, length});
  }
};

inline constexpr Verdict kFine{};
constexpr Verdict differs(What what, uint64_t position) {
  return {Outcome::kMismatch, Reason::kNone, what, position};
}
constexpr Verdict unchecked(Reason reason) {
  return {Outcome::kNoCheck, reason, What::kNone, kUnknownPosition};
}

}  // namespace verity::signature

#endif
