// SPDX-License-Identifier: BSD-3-Clause
// The rules on random messages and receives, against an oracle that sees the flat lists of their
// elements.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "unit/signature/case.h"

namespace verity::signature {
namespace {

uint64_t size_of(const Flat& flat) {
  uint64_t bytes = 0;
  for (const BasicType& element : flat) bytes += element.size;
  return bytes;
}

bool other_order(const Flat& a, const Flat& b, size_t n, Level level) {
  std::multiset<uint64_t> left;
  std::multiset<uint64_t> right;
  for (size_t i = 0; i < n; ++i) {
    left.insert(code_of(a[i], level));
    right.insert(code_of(b[i], level));
  }
  return left == right;
}

// How many elements of the message are to be compared.
size_t to_compare(const Flat& sent, const Flat& expected, uint64_t arrived, Length length) {
  size_t n = 0;
  uint64_t room = length == Length::kExact ? ~uint64_t{0} : std::min(arrived, size_of(expected));
  for (; n < std::min(sent.size(), expected.size()) && sent[n].size <= room; ++n)
    room -= sent[n].size;
  return n;
}

Verdict oracle(const Flat& sent, const Flat& expected, uint64_t arrived, Length length,
               Level level) {
  if (sent.empty() && (length == Length::kAtMost || expected.empty())) return kFine;
  const size_t n = to_compare(sent, expected, arrived, length);
  for (size_t i = 0; i < n; ++i) {
    if (same(sent[i], expected[i], level)) continue;
    const auto byte = static_cast<uint8_t>(Class::kByte);
    if (level == Level::kLayout && (sent[i].cls == byte || expected[i].cls == byte))
      return unchecked(Reason::kByte);
    return differs(other_order(sent, expected, n, level) ? What::kOrder : What::kType, i);
  }
  return length == Length::kAtMost || sent.size() == expected.size() ? kFine
                                                                     : differs(What::kCount, n);
}

// A receive that is right, or wrong in one of the ways in which programs are.
Flat mutated(sim::Rng& rng, Flat flat) {
  switch (rng.below(7)) {
    case 0: flat[rng.below(flat.size())] = random_basic(rng, true); break;
    case 1: std::swap(flat[rng.below(flat.size())], flat[rng.below(flat.size())]); break;
    case 2: flat.resize(rng.between(1, flat.size())); break;
    case 3: flat.insert(flat.end(), rng.between(1, 5), random_basic(rng, true)); break;
    case 4:
      flat.insert(flat.begin() + static_cast<std::ptrdiff_t>(rng.below(flat.size())),
                  random_basic(rng));
      break;
    case 5: flat.erase(flat.begin() + static_cast<std::ptrdiff_t>(rng.below(flat.size()))); break;
    default: break;
  }
  if (flat.empty()) flat.push_back(random_basic(rng));
  return flat;
}

// Of a message whose sender's type did not fit the record: never wrong, and sure where it can be.
void check_undescribed(const Case& c, const Verdict& right, const Flat& sent, const Flat& expected,
                       Level level) {
  const Verdict verdict = c.verdict();
  const bool fits = c.length == Length::kExact
                        ? sent.size() == expected.size()
                        : c.arrived == kWhole && size_of(sent) <= size_of(expected);
  if (c.sent.homogeneous()) {
    ASSERT_EQ(verdict, right);
  } else if (verdict.outcome == Outcome::kMismatch) {
    // A message that is too long was wrong where it did not arrive.
    ASSERT_TRUE(right.outcome == Outcome::kMismatch || !fits);
  } else if (verdict.outcome == Outcome::kEqual) {
    ASSERT_EQ(right.outcome, Outcome::kEqual);
  } else if (fits) {
    ASSERT_TRUE(verdict.reason == Reason::kByte ||
                (verdict.reason == Reason::kOtherLevel && c.sender_level != level));
    ASSERT_FALSE(right.outcome == Outcome::kEqual && c.sender_level == level);
  }
}

TEST(SignatureOracle, VerdictsAreTheOracles) {
  sim::Rng rng(7);
  size_t outcomes[3] = {};
  for (unsigned round = 0; round < 15'000; ++round) {
    const Sample s = random_sample(rng, 4, 30, rng.below(3) == 0);
    if (s.flat.empty()) continue;
    const uint64_t copies = rng.between(1, 4);
    const Flat sent = times(s.flat, copies);
    const Flat expected = mutated(rng, sent);
    Case c{s.type, copies, random_form(rng, expected), 1};
    c.sender_level = kBothLevels[rng.below(2)];
    c.receiver_level = kBothLevels[rng.below(2)];
    c.length = rng.below(4) == 0 ? Length::kExact : Length::kAtMost;
    if (rng.below(5) == 0) c.arrived = rng.between(0, size_of(sent) - 1);
    if (c.length == Length::kExact) c.arrived = kWhole;
    if (described(c.sent).empty()) continue;
    const Level level = std::min(c.sender_level, c.receiver_level);
    const Verdict right = oracle(sent, expected, c.arrived, c.length, level);
    ++outcomes[static_cast<size_t>(right.outcome)];
    // With nothing to compare, MPI_BYTE is not checked either way.
    const bool nothing = to_compare(sent, expected, c.arrived, c.length) == 0;
    if (!(nothing && c.verdict() == unchecked(Reason::kByte))) {
      ASSERT_EQ(c.verdict(), right)
          << describe(c.sent, copies) << " -> " << describe(c.expected, 1) << ", " << c.arrived;
    }
    ASSERT_FALSE(c.words().verdict.empty());
    c.with_description = false;
    if (!nothing) check_undescribed(c, right, sent, expected, level);
  }
  for (const size_t n : outcomes) EXPECT_GT(n, 500u) << "each outcome must occur";
}

}  // namespace
}  // namespace verity::signature
