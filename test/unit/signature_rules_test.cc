// SPDX-License-Identifier: BSD-3-Clause
#include "signature/rules.h"

#include <gtest/gtest.h>

#include <set>

#include "signature/describe.h"
#include "unit/signature_random.h"

namespace verity::signature {
namespace {

using Bytes = std::vector<uint8_t>;

Type leaf(const char* name) { return Type::leaf(named(name)); }

Type fields(std::initializer_list<Type::Item> items) { return Type::sequence({items.begin(), items.size()}); }

Bytes described(const Type& type) {
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
    return compare(make_record(sent, sent_copies, sender_level), description, {expected, expected_copies, arrived, length},
                   receiver_level);
  }
  [[nodiscard]] Explanation words() const {
    const Bytes description = with_description ? described(sent) : Bytes{};
    return explain(verdict(), make_record(sent, sent_copies, sender_level), description,
                   {expected, expected_copies, arrived, length});
  }
};

constexpr Verdict kFine{};
constexpr Verdict differs(What what, uint64_t position) { return {Outcome::kMismatch, Reason::kNone, what, position}; }
constexpr Verdict unchecked(Reason reason) { return {Outcome::kNoCheck, reason, What::kNone, kUnknownPosition}; }

TEST(SignatureRules, OneBasicType) {
  EXPECT_EQ((Case{leaf("MPI_INT"), 100, leaf("MPI_INT"), 100}.verdict()), kFine);
  EXPECT_EQ((Case{leaf("MPI_INT"), 100, Type::repeat(leaf("MPI_INT"), 10), 10}.verdict()), kFine);
  EXPECT_EQ((Case{leaf("MPI_INT"), 100, leaf("MPI_INT32_T"), 100}.verdict()), kFine);
  EXPECT_EQ((Case{leaf("MPI_INT"), 50, leaf("MPI_INT32_T"), 100}.verdict()), kFine);
  EXPECT_EQ((Case{leaf("MPI_INT"), 100, leaf("MPI_FLOAT"), 100}.verdict()), differs(What::kType, 0));
  EXPECT_EQ((Case{leaf("MPI_INT"), 100, leaf("MPI_UNSIGNED"), 100}.verdict()), differs(What::kType, 0));
  EXPECT_EQ((Case{leaf("MPI_INT"), 100, leaf("MPI_LONG"), 100}.verdict()), differs(What::kType, 0));
  EXPECT_EQ((Case{leaf("MPI_CHAR"), 100, leaf("MPI_SIGNED_CHAR"), 100}.verdict()), differs(What::kType, 0));
}

TEST(SignatureRules, AnEmptyMessageFitsAnything) {
  for (const Level level : kBothLevels) {
    EXPECT_EQ((Case{leaf("MPI_INT"), 0, leaf("MPI_FLOAT"), 3, level, level}.verdict()), kFine);
    EXPECT_EQ((Case{Type(), 3, leaf("MPI_FLOAT"), 3, level, level}.verdict()), kFine);
    EXPECT_EQ((Case{leaf("MPI_INT"), 0, Type(), 0, level, level, Length::kExact}.verdict()), kFine);
    EXPECT_EQ((Case{leaf("MPI_INT"), 0, leaf("MPI_INT"), 1, level, level, Length::kExact}.verdict()), differs(What::kCount, 0));
  }
}

TEST(SignatureRules, PackedAndUnknownTypesAreNotChecked) {
  const Type opaque = Type::leaf(*make_basic(id_OPAQUE, 2));
  for (const Level level : kBothLevels) {
    EXPECT_EQ((Case{leaf("MPI_PACKED"), 9, leaf("MPI_INT"), 3, level, level}.verdict()), unchecked(Reason::kPacked));
    EXPECT_EQ((Case{leaf("MPI_INT"), 9, leaf("MPI_PACKED"), 36, level, level}.verdict()), unchecked(Reason::kPacked));
    EXPECT_EQ((Case{leaf("MPI_PACKED"), 9, leaf("MPI_PACKED"), 9, level, level}.verdict()), unchecked(Reason::kPacked));
    EXPECT_EQ((Case{opaque, 9, leaf("MPI_INT"), 9, level, level}.verdict()), unchecked(Reason::kOpaque));
    EXPECT_EQ((Case{leaf("MPI_INT"), 9, opaque, 9, level, level}.verdict()), unchecked(Reason::kOpaque));
  }
}

TEST(SignatureRules, BytesAgainstTypedDataAreCheckedByNameOnly) {
  const Type byte = leaf("MPI_BYTE");
  const Type pair = fields({{leaf("MPI_INT"), 1}, {leaf("MPI_DOUBLE"), 1}});
  const Type blob = fields({{leaf("MPI_INT"), 1}, {byte, 8}});
  for (const bool described : {false, true}) {
    const auto layout = [&](const Type& a, uint64_t n, const Type& b, uint64_t m) {
      return Case{a, n, b, m, Level::kLayout, Level::kLayout, Length::kAtMost, described}.verdict();
    };
    EXPECT_EQ(layout(byte, 400, leaf("MPI_INT"), 100), unchecked(Reason::kByte));
    EXPECT_EQ(layout(leaf("MPI_INT"), 100, byte, 400), unchecked(Reason::kByte));
    EXPECT_EQ(layout(byte, 12, pair, 1), unchecked(Reason::kByte));
    EXPECT_EQ(layout(pair, 1, byte, 12), unchecked(Reason::kByte));
    EXPECT_EQ(layout(pair, 1, blob, 1), unchecked(Reason::kByte));
    EXPECT_EQ(layout(byte, 12, blob, 1), unchecked(Reason::kByte));
    EXPECT_EQ(layout(byte, 400, byte, 400), kFine);
    EXPECT_EQ(layout(blob, 2, blob, 2), kFine);
  }
  // Before the bytes, what differs does.
  const Type other = fields({{leaf("MPI_FLOAT"), 1}, {byte, 8}});
  EXPECT_EQ((Case{blob, 1, other, 1}.verdict()), differs(What::kType, 0));
  const Level names = Level::kNames;
  EXPECT_EQ((Case{byte, 4, leaf("MPI_CHAR"), 4, names, names}.verdict()), differs(What::kType, 0));
  EXPECT_EQ((Case{byte, 400, leaf("MPI_INT"), 100, names, names}.verdict()), differs(What::kType, 0));
  EXPECT_EQ((Case{pair, 1, byte, 12, names, names}.verdict()), differs(What::kType, 0));
}

TEST(SignatureRules, PartialReceives) {
  const Type pair = fields({{leaf("MPI_INT"), 1}, {leaf("MPI_DOUBLE"), 1}});
  for (const bool described : {false, true}) {
    const auto verdict = [&](const Type& a, uint64_t n) {
      return Case{a, n, pair, 1'000'000'000'000, Level::kLayout, Level::kLayout, Length::kAtMost, described}.verdict();
    };
    EXPECT_EQ(verdict(pair, 77), kFine);
    EXPECT_EQ(verdict(leaf("MPI_INT"), 1), kFine);
    EXPECT_EQ(verdict(fields({{pair, 5}, {leaf("MPI_INT"), 1}}), 1), kFine);
    EXPECT_EQ(verdict(leaf("MPI_INT"), 2), differs(What::kType, 1));
    EXPECT_EQ(verdict(fields({{pair, 5}, {leaf("MPI_DOUBLE"), 1}}), 1),
              described ? differs(What::kType, 10) : differs(What::kHash, kUnknownPosition));
  }
}

TEST(SignatureRules, TruncatedMessagesAreComparedAsFarAsTheyArrived) {
  const Type pair = fields({{leaf("MPI_INT"), 1}, {leaf("MPI_DOUBLE"), 1}});
  const Type wrong = fields({{leaf("MPI_INT"), 1}, {leaf("MPI_FLOAT"), 1}});
  EXPECT_EQ((Case{leaf("MPI_INT"), 100, leaf("MPI_INT"), 10}.verdict()), kFine);
  EXPECT_EQ((Case{leaf("MPI_FLOAT"), 100, leaf("MPI_INT"), 10}.verdict()), differs(What::kType, 0));
  EXPECT_EQ((Case{pair, 100, pair, 3}.verdict()), kFine);
  EXPECT_EQ((Case{wrong, 100, pair, 3}.verdict()), differs(What::kType, 1));
  Case unknown{wrong, 100, pair, 3};
  unknown.with_description = false;
  EXPECT_EQ(unknown.verdict(), unchecked(Reason::kTruncated));
  // 11 bytes hold the integer and a part of what follows.
  for (const uint64_t arrived : {4, 7, 8, 11, 12}) {
    Case some{pair, 2, wrong, 10};
    some.arrived = arrived;
    EXPECT_EQ(some.verdict(), arrived < 12 ? kFine : differs(What::kType, 1)) << arrived;
  }
  EXPECT_EQ((Case{leaf("MPI_INT"), 10, leaf("MPI_INT"), 0}.verdict()), kFine);
}

TEST(SignatureRules, WhereTheAmountMustBeTheSame) {
  const Type pair = fields({{leaf("MPI_INT"), 1}, {leaf("MPI_DOUBLE"), 1}});
  const Level layout = Level::kLayout;
  EXPECT_EQ((Case{leaf("MPI_INT"), 10, leaf("MPI_INT"), 10, layout, layout, Length::kExact}.verdict()), kFine);
  EXPECT_EQ((Case{leaf("MPI_INT"), 10, leaf("MPI_INT"), 12, layout, layout, Length::kExact}.verdict()), differs(What::kCount, 10));
  EXPECT_EQ((Case{leaf("MPI_INT"), 12, leaf("MPI_INT"), 10, layout, layout, Length::kExact}.verdict()), differs(What::kCount, 10));
  EXPECT_EQ((Case{leaf("MPI_INT"), 12, leaf("MPI_FLOAT"), 10, layout, layout, Length::kExact}.verdict()), differs(What::kType, 0));
  EXPECT_EQ((Case{pair, 2, pair, 3, layout, layout, Length::kExact}.verdict()), differs(What::kCount, 4));
  EXPECT_EQ((Case{pair, 2, pair, 3, layout, layout, Length::kExact, false}.verdict()),
            differs(What::kCount, kUnknownPosition));
  EXPECT_EQ((Case{leaf("MPI_BYTE"), 40, leaf("MPI_INT"), 10, layout, layout, Length::kExact}.verdict()), unchecked(Reason::kByte));
}

TEST(SignatureRules, AnotherOrderIsSaidToBeOne) {
  const Type a = fields({{leaf("MPI_INT"), 1}, {leaf("MPI_CHAR"), 4}, {leaf("MPI_DOUBLE"), 1}});
  const Type b = fields({{leaf("MPI_INT"), 1}, {leaf("MPI_CHAR"), 3}, {leaf("MPI_DOUBLE"), 1}, {leaf("MPI_CHAR"), 1}});
  EXPECT_EQ((Case{a, 7, b, 7}.verdict()), differs(What::kOrder, 4));
}

// Two processes may be set to different levels: the lower one counts.
TEST(SignatureRules, DifferentLevels) {
  const Type a = fields({{leaf("MPI_INT"), 1}, {leaf("MPI_DOUBLE"), 1}});
  const Type alias = fields({{leaf("MPI_INT32_T"), 1}, {leaf("MPI_DOUBLE"), 1}});
  const Type other = fields({{leaf("MPI_FLOAT"), 1}, {leaf("MPI_DOUBLE"), 1}});
  const auto verdict = [](const Type& s, const Type& r, Level sl, Level rl, bool described) {
    return Case{s, 5, r, 5, sl, rl, Length::kAtMost, described}.verdict();
  };
  const Level layout = Level::kLayout;
  const Level names = Level::kNames;
  for (const bool described : {false, true}) {
    EXPECT_EQ(verdict(a, alias, layout, names, described), kFine);
    EXPECT_EQ(verdict(a, alias, layout, layout, described), kFine);
    EXPECT_EQ(verdict(a, a, names, layout, described), kFine);
    EXPECT_EQ(verdict(a, alias, names, layout, described), described ? kFine : unchecked(Reason::kOtherLevel));
    EXPECT_EQ(verdict(a, other, names, layout, described),
              described ? differs(What::kType, 0) : unchecked(Reason::kOtherLevel));
    EXPECT_EQ(verdict(a, alias, names, names, described),
              described ? differs(What::kType, 0) : differs(What::kHash, kUnknownPosition));
    EXPECT_EQ(verdict(leaf("MPI_INT"), leaf("MPI_INT32_T"), names, layout, described), kFine);
    EXPECT_EQ(verdict(leaf("MPI_INT"), leaf("MPI_INT32_T"), layout, names, described), kFine);
    EXPECT_EQ(verdict(leaf("MPI_INT"), leaf("MPI_INT32_T"), names, names, described), differs(What::kType, 0));
  }
}

TEST(SignatureRules, ADescriptionThatDoesNotFitTheRecordIsIgnored) {
  const Type a = fields({{leaf("MPI_INT"), 1}, {leaf("MPI_DOUBLE"), 1}});
  const Type b = fields({{leaf("MPI_FLOAT"), 1}, {leaf("MPI_DOUBLE"), 1}});
  const Type c = fields({{leaf("MPI_INT"), 2}, {leaf("MPI_DOUBLE"), 1}});
  const Record record = make_record(a, 5, Level::kLayout);
  for (const Bytes& description : {described(b), described(c), Bytes{0}, Bytes{1, 2, 3}, Bytes(100, 0xff)}) {
    EXPECT_EQ(compare(record, description, {a, 5}, Level::kLayout), kFine);
    EXPECT_EQ(compare(record, description, {b, 5}, Level::kLayout), differs(What::kHash, kUnknownPosition));
    EXPECT_EQ(explain(differs(What::kHash, kUnknownPosition), record, description, {b, 5}).sent,
              "10 elements of several basic types, which did not fit the record");
  }
}

TEST(SignatureRules, MoreThanCanBeCounted) {
  const Type pair = fields({{leaf("MPI_INT"), 1}, {leaf("MPI_DOUBLE"), 1}});
  constexpr uint64_t kMost = ~uint64_t{0};
  EXPECT_EQ((Case{pair, kMost, pair, kMost}.verdict()), unchecked(Reason::kUncountable));
  EXPECT_EQ((Case{pair, 5, pair, kMost}.verdict()), kFine);
  EXPECT_EQ((Case{pair, 5, fields({{pair, 4}, {leaf("MPI_INT"), 2}}), kMost}.verdict()), differs(What::kType, 9));
}

TEST(SignatureRules, Words) {
  const Type pair = fields({{leaf("MPI_INT"), 1}, {leaf("MPI_DOUBLE"), 1}});
  const Explanation plain = Case{leaf("MPI_INT"), 100, leaf("MPI_FLOAT"), 100}.words();
  EXPECT_EQ(plain.sent, "100 x MPI_INT");
  EXPECT_EQ(plain.expected, "100 x MPI_FLOAT");
  EXPECT_EQ(plain.verdict, "element 1 is MPI_INT at the sender and MPI_FLOAT at the receiver");
  const Explanation derived = Case{pair, 50, fields({{pair, 3}, {leaf("MPI_INT"), 4}}), 10}.words();
  EXPECT_EQ(derived.sent, "50 x {MPI_INT, MPI_DOUBLE}");
  EXPECT_EQ(derived.expected, "10 x {3 x {MPI_INT, MPI_DOUBLE}, 4 x MPI_INT}");
  EXPECT_EQ(derived.verdict,
            "element 8 is MPI_DOUBLE (copy 4, field 2) at the sender and MPI_INT (copy 1, field 2, element 2) at the receiver");
  Case named{leaf("MPI_INT"), 1, leaf("MPI_INT32_T"), 1, Level::kNames, Level::kNames};
  EXPECT_EQ(named.words().verdict,
            "element 1 is MPI_INT at the sender and MPI_INT32_T at the receiver; of the same layout, but not the same type");
  EXPECT_EQ((Case{leaf("MPI_PACKED"), 1, pair, 1}.words().verdict), "MPI_PACKED is not checked");
  EXPECT_EQ((Case{leaf("MPI_INT"), 0, pair, 1}.words().sent), "nothing");
  EXPECT_EQ((Case{leaf("MPI_INT"), 3, leaf("MPI_INT"), 4, Level::kLayout, Level::kLayout, Length::kExact}.words().verdict),
            "3 elements at the sender and 4 at the receiver, where they must be as many");
}

// ---- against an oracle that sees flat lists ----------------------------------------------------

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
  for (; n < std::min(sent.size(), expected.size()) && sent[n].size <= room; ++n) room -= sent[n].size;
  return n;
}

Verdict oracle(const Flat& sent, const Flat& expected, uint64_t arrived, Length length, Level level) {
  if (sent.empty() && (length == Length::kAtMost || expected.empty())) return kFine;
  const size_t n = to_compare(sent, expected, arrived, length);
  for (size_t i = 0; i < n; ++i) {
    if (same(sent[i], expected[i], level)) continue;
    const auto byte = static_cast<uint8_t>(Class::kByte);
    if (level == Level::kLayout && (sent[i].cls == byte || expected[i].cls == byte)) return unchecked(Reason::kByte);
    return differs(other_order(sent, expected, n, level) ? What::kOrder : What::kType, i);
  }
  return length == Length::kAtMost || sent.size() == expected.size() ? kFine : differs(What::kCount, n);
}

// A receive that is right, or wrong in one of the ways in which programs are.
Flat mutated(sim::Rng& rng, Flat flat) {
  switch (rng.below(7)) {
    case 0: flat[rng.below(flat.size())] = random_basic(rng, true); break;
    case 1: std::swap(flat[rng.below(flat.size())], flat[rng.below(flat.size())]); break;
    case 2: flat.resize(rng.between(1, flat.size())); break;
    case 3: flat.insert(flat.end(), rng.between(1, 5), random_basic(rng, true)); break;
    case 4: flat.insert(flat.begin() + static_cast<std::ptrdiff_t>(rng.below(flat.size())), random_basic(rng)); break;
    case 5: flat.erase(flat.begin() + static_cast<std::ptrdiff_t>(rng.below(flat.size()))); break;
    default: break;
  }
  if (flat.empty()) flat.push_back(random_basic(rng));
  return flat;
}

// Of a message whose sender's type did not fit the record: never wrong, and sure where it can be.
void check_undescribed(const Case& c, const Verdict& right, const Flat& sent, const Flat& expected, Level level) {
  const Verdict verdict = c.verdict();
  const bool fits = c.length == Length::kExact ? sent.size() == expected.size()
                                               : c.arrived == kWhole && size_of(sent) <= size_of(expected);
  if (c.sent.homogeneous()) {
    ASSERT_EQ(verdict, right);
  } else if (verdict.outcome == Outcome::kMismatch) {
    // A message that is too long was wrong where it did not arrive.
    ASSERT_TRUE(right.outcome == Outcome::kMismatch || !fits);
  } else if (verdict.outcome == Outcome::kEqual) {
    ASSERT_EQ(right.outcome, Outcome::kEqual);
  } else if (fits) {
    ASSERT_TRUE(verdict.reason == Reason::kByte || (verdict.reason == Reason::kOtherLevel && c.sender_level != level));
    ASSERT_FALSE(right.outcome == Outcome::kEqual && c.sender_level == level);
  }
}

TEST(SignatureRules, AsTheOracleSays) {
  sim::Rng rng(7);
  size_t outcomes[3] = {};
  for (unsigned round = 0; round < 30'000; ++round) {
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
      ASSERT_EQ(c.verdict(), right) << describe(c.sent, copies) << " -> " << describe(c.expected, 1) << ", " << c.arrived;
    }
    ASSERT_FALSE(c.words().verdict.empty());
    c.with_description = false;
    if (!nothing) check_undescribed(c, right, sent, expected, level);
  }
  for (const size_t n : outcomes) EXPECT_GT(n, 500u) << "each outcome must occur";
}

}  // namespace
}  // namespace verity::signature
