// SPDX-License-Identifier: BSD-3-Clause
#include "signature/rules.h"

#include <gtest/gtest.h>

#include "unit/signature/case.h"

namespace verity::signature {
namespace {

TEST(SignatureRules, OneBasicType) {
  EXPECT_EQ((Case{leaf("MPI_INT"), 100, leaf("MPI_INT"), 100}.verdict()), kFine);
  EXPECT_EQ((Case{leaf("MPI_INT"), 100, Type::repeat(leaf("MPI_INT"), 10), 10}.verdict()), kFine);
  EXPECT_EQ((Case{leaf("MPI_INT"), 100, leaf("MPI_INT32_T"), 100}.verdict()), kFine);
  EXPECT_EQ((Case{leaf("MPI_INT"), 50, leaf("MPI_INT32_T"), 100}.verdict()), kFine);
  EXPECT_EQ((Case{leaf("MPI_INT"), 100, leaf("MPI_FLOAT"), 100}.verdict()),
            differs(What::kType, 0));
  EXPECT_EQ((Case{leaf("MPI_INT"), 100, leaf("MPI_UNSIGNED"), 100}.verdict()),
            differs(What::kType, 0));
  EXPECT_EQ((Case{leaf("MPI_INT"), 100, leaf("MPI_LONG"), 100}.verdict()), differs(What::kType, 0));
  EXPECT_EQ((Case{leaf("MPI_CHAR"), 100, leaf("MPI_SIGNED_CHAR"), 100}.verdict()),
            differs(What::kType, 0));
}

TEST(SignatureRules, AnEmptyMessageFitsAnything) {
  for (const Level level : kBothLevels) {
    EXPECT_EQ((Case{leaf("MPI_INT"), 0, leaf("MPI_FLOAT"), 3, level, level}.verdict()), kFine);
    EXPECT_EQ((Case{Type(), 3, leaf("MPI_FLOAT"), 3, level, level}.verdict()), kFine);
    EXPECT_EQ((Case{leaf("MPI_INT"), 0, Type(), 0, level, level, Length::kExact}.verdict()), kFine);
    EXPECT_EQ(
        (Case{leaf("MPI_INT"), 0, leaf("MPI_INT"), 1, level, level, Length::kExact}.verdict()),
        differs(What::kCount, 0));
  }
}

TEST(SignatureRules, PackedAndUnknownTypesAreNotChecked) {
  const Type opaque = Type::leaf(*make_basic(id_OPAQUE, 2));
  for (const Level level : kBothLevels) {
    EXPECT_EQ((Case{leaf("MPI_PACKED"), 9, leaf("MPI_INT"), 3, level, level}.verdict()),
              unchecked(Reason::kPacked));
    EXPECT_EQ((Case{leaf("MPI_INT"), 9, leaf("MPI_PACKED"), 36, level, level}.verdict()),
              unchecked(Reason::kPacked));
    EXPECT_EQ((Case{leaf("MPI_PACKED"), 9, leaf("MPI_PACKED"), 9, level, level}.verdict()),
              unchecked(Reason::kPacked));
    EXPECT_EQ((Case{opaque, 9, leaf("MPI_INT"), 9, level, level}.verdict()),
              unchecked(Reason::kOpaque));
    EXPECT_EQ((Case{leaf("MPI_INT"), 9, opaque, 9, level, level}.verdict()),
              unchecked(Reason::kOpaque));
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
  EXPECT_EQ((Case{byte, 400, leaf("MPI_INT"), 100, names, names}.verdict()),
            differs(What::kType, 0));
  EXPECT_EQ((Case{pair, 1, byte, 12, names, names}.verdict()), differs(What::kType, 0));
}

TEST(SignatureRules, PartialReceives) {
  const Type pair = fields({{leaf("MPI_INT"), 1}, {leaf("MPI_DOUBLE"), 1}});
  for (const bool described : {false, true}) {
    const auto verdict = [&](const Type& a, uint64_t n) {
      return Case{
          a, n, pair, 1'000'000'000'000, Level::kLayout, Level::kLayout, Length::kAtMost, described}
          .verdict();
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
  Case cut{pair, 2, wrong, 10};
  cut.arrived = 20;
  cut.with_description = false;
  EXPECT_EQ(cut.verdict(), unchecked(Reason::kTruncated))
      << "no more elements than posted, but not all arrived";
  EXPECT_EQ((Case{leaf("MPI_INT"), 10, leaf("MPI_INT"), 0}.verdict()), kFine);
  EXPECT_EQ((Case{leaf("MPI_BYTE"), 10, leaf("MPI_INT"), 0}.verdict()), kFine);
}

TEST(SignatureRules, WhereTheAmountMustBeTheSame) {
  const Type pair = fields({{leaf("MPI_INT"), 1}, {leaf("MPI_DOUBLE"), 1}});
  const Level layout = Level::kLayout;
  EXPECT_EQ(
      (Case{leaf("MPI_INT"), 10, leaf("MPI_INT"), 10, layout, layout, Length::kExact}.verdict()),
      kFine);
  EXPECT_EQ(
      (Case{leaf("MPI_INT"), 10, leaf("MPI_INT"), 12, layout, layout, Length::kExact}.verdict()),
      differs(What::kCount, 10));
  EXPECT_EQ(
      (Case{leaf("MPI_INT"), 12, leaf("MPI_INT"), 10, layout, layout, Length::kExact}.verdict()),
      differs(What::kCount, 10));
  EXPECT_EQ(
      (Case{leaf("MPI_INT"), 12, leaf("MPI_FLOAT"), 10, layout, layout, Length::kExact}.verdict()),
      differs(What::kType, 0));
  EXPECT_EQ(
      (Case{leaf("MPI_BYTE"), 10, leaf("MPI_INT"), 0, layout, layout, Length::kExact}.verdict()),
      differs(What::kCount, 0));
  EXPECT_EQ((Case{pair, 2, pair, 3, layout, layout, Length::kExact}.verdict()),
            differs(What::kCount, 4));
  EXPECT_EQ((Case{pair, 2, pair, 3, layout, layout, Length::kExact, false}.verdict()),
            differs(What::kCount, kUnknownPosition));
  EXPECT_EQ(
      (Case{leaf("MPI_BYTE"), 40, leaf("MPI_INT"), 10, layout, layout, Length::kExact}.verdict()),
      unchecked(Reason::kByte));
}

TEST(SignatureRules, AnotherOrderIsSaidToBeOne) {
  const Type a = fields({{leaf("MPI_INT"), 1}, {leaf("MPI_CHAR"), 4}, {leaf("MPI_DOUBLE"), 1}});
  const Type b = fields({{leaf("MPI_INT"), 1},
                         {leaf("MPI_CHAR"), 3},
                         {leaf("MPI_DOUBLE"), 1},
                         {leaf("MPI_CHAR"), 1}});
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
    EXPECT_EQ(verdict(a, alias, names, layout, described),
              described ? kFine : unchecked(Reason::kOtherLevel));
    EXPECT_EQ(verdict(a, other, names, layout, described),
              described ? differs(What::kType, 0) : unchecked(Reason::kOtherLevel));
    EXPECT_EQ(verdict(a, alias, names, names, described),
              described ? differs(What::kType, 0) : differs(What::kHash, kUnknownPosition));
    EXPECT_EQ(verdict(leaf("MPI_INT"), leaf("MPI_INT32_T"), names, layout, described), kFine);
    EXPECT_EQ(verdict(leaf("MPI_INT"), leaf("MPI_INT32_T"), layout, names, described), kFine);
    EXPECT_EQ(verdict(leaf("MPI_INT"), leaf("MPI_INT32_T"), names, names, described),
              differs(What::kType, 0));
  }
}

TEST(SignatureRules, ADescriptionThatDoesNotFitTheRecordIsIgnored) {
  const Type a = fields({{leaf("MPI_INT"), 1}, {leaf("MPI_DOUBLE"), 1}});
  const Type b = fields({{leaf("MPI_FLOAT"), 1}, {leaf("MPI_DOUBLE"), 1}});
  const Type c = fields({{leaf("MPI_INT"), 2}, {leaf("MPI_DOUBLE"), 1}});
  const Record record = make_record(a, 5, Level::kLayout);
  for (const Bytes& description :
       {described(b), described(c), Bytes{0}, Bytes{1, 2, 3}, Bytes(100, 0xff)}) {
    EXPECT_EQ(compare(record, description, {a, 5}, Level::kLayout), kFine);
    EXPECT_EQ(compare(record, description, {b, 5}, Level::kLayout),
              differs(What::kHash, kUnknownPosition));
    EXPECT_EQ(explain(differs(What::kHash, kUnknownPosition), record, description, {b, 5}).sent,
              "10 elements of several basic types, which did not fit the record");
  }
}

TEST(SignatureRules, MoreThanCanBeCounted) {
  const Type pair = fields({{leaf("MPI_INT"), 1}, {leaf("MPI_DOUBLE"), 1}});
  constexpr uint64_t kMost = ~uint64_t{0};
  EXPECT_EQ((Case{pair, kMost, pair, kMost}.verdict()), unchecked(Reason::kUncountable));
  EXPECT_EQ((Case{pair, 5, pair, kMost}.verdict()), kFine);
  EXPECT_EQ((Case{pair, 5, fields({{pair, 4}, {leaf("MPI_INT"), 2}}), kMost}.verdict()),
            differs(What::kType, 9));
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
            "element 8 is MPI_DOUBLE (copy 4, field 2) at the sender and MPI_INT (copy 1, field 2, "
            "element 2) at the receiver");
  Case named{leaf("MPI_INT"), 1, leaf("MPI_INT32_T"), 1, Level::kNames, Level::kNames};
  EXPECT_EQ(named.words().verdict,
            "element 1 is MPI_INT at the sender and MPI_INT32_T at the receiver; of the same "
            "layout, but not the same type");
  EXPECT_EQ((Case{leaf("MPI_PACKED"), 1, pair, 1}.words().verdict), "MPI_PACKED is not checked");
  EXPECT_EQ((Case{leaf("MPI_INT"), 0, pair, 1}.words().sent), "nothing");
  EXPECT_EQ(
      (Case{leaf("MPI_INT"), 3, leaf("MPI_INT"), 4, Level::kLayout, Level::kLayout, Length::kExact}
           .words()
           .verdict),
      "3 elements at the sender and 4 at the receiver, where they must be as many");
}

}  // namespace
}  // namespace verity::signature
