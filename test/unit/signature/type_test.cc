// SPDX-License-Identifier: BSD-3-Clause
#include "signature/type.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "signature/describe.h"
#include "unit/signature/random.h"

namespace verity::signature {
namespace {

Type leaf(const char* name) { return Type::leaf(named(name)); }

uint64_t bytes_of(std::span<const BasicType> flat) {
  uint64_t bytes = 0;
  for (const BasicType& element : flat) bytes += element.size;
  return bytes;
}

bool alike(const Flat& flat) {
  return !flat.empty() &&
         std::all_of(flat.begin(), flat.end(), [&](const BasicType& b) { return b == flat[0]; });
}

TEST(SignatureType, TreesAreTheirFlatLists) {
  sim::Rng rng(1);
  for (unsigned round = 0; round < 3000; ++round) {
    const Sample s = random_sample(rng, 6, 300);
    ASSERT_EQ(s.type.count(), s.flat.size());
    ASSERT_EQ(s.type.bytes(), bytes_of(s.flat));
    ASSERT_EQ(s.type.homogeneous(), alike(s.flat));
    if (s.type.homogeneous()) { ASSERT_EQ(s.type.basic(), s.flat[0]); }
    const uint64_t copies = rng.below(4);
    for (const Level level : kBothLevels) {
      ASSERT_EQ(s.type.signature(copies, level), flat_signature(times(s.flat, copies), level));
    }
    for (size_t i = 0; i < s.flat.size(); ++i)
      ASSERT_EQ(element_at(s.type, i + s.flat.size() * copies), s.flat[i]);
    for (unsigned cls = 1; cls < kClasses; ++cls) {
      const bool there = std::any_of(s.flat.begin(), s.flat.end(),
                                     [&](const BasicType& b) { return b.cls == cls; });
      ASSERT_EQ(s.type.contains(static_cast<Class>(cls)), there);
    }
  }
}

TEST(SignatureType, PrefixesAreThoseOfTheFlatList) {
  sim::Rng rng(2);
  for (unsigned round = 0; round < 3000; ++round) {
    const Sample s = random_sample(rng, 6, 200);
    const uint64_t copies = rng.between(1, 3);
    const Flat all = times(s.flat, copies);
    for (unsigned i = 0; i < 8; ++i) {
      const size_t n = rng.below(all.size() + 1);
      const Flat begin(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(n));
      for (const Level level : kBothLevels) {
        ASSERT_EQ(prefix(s.type, copies, n, level), flat_signature(begin, level))
            << describe(s.type, copies) << ' ' << n;
        uint64_t bag = 0;
        for (const BasicType& element : begin) bag = add_mod(bag, code_of(element, level));
        ASSERT_EQ(prefix_bag(s.type, copies, n, level), bag);
      }
      // Any number of bytes from the last whole element to the next.
      const uint64_t bytes = bytes_of(begin) + (n == all.size() ? 0 : rng.below(all[n].size));
      ASSERT_EQ(whole_elements(s.type, copies, bytes), n);
    }
    ASSERT_EQ(prefix(s.type, copies, all.size() + 1, Level::kLayout),
              flat_signature(all, Level::kLayout))
        << "no more than all";
    ASSERT_EQ(whole_elements(s.type, copies, bytes_of(all) + 1), all.size());
    ASSERT_EQ(whole_elements(s.type, copies, kTooMany), all.size());
  }
}

TEST(SignatureType, TheFormDoesNotMatter) {
  sim::Rng rng(3);
  for (unsigned round = 0; round < 1000; ++round) {
    const Sample s = random_sample(rng, 5, 100);
    if (s.flat.empty()) continue;
    const Type other = random_form(rng, s.flat);
    for (const Level level : kBothLevels) {
      ASSERT_EQ(other.signature(3, level), s.type.signature(3, level));
      ASSERT_EQ(first_difference(other, s.type, s.flat.size() * 5, level), s.flat.size() * 5);
    }
    ASSERT_EQ(other.basic(), s.type.basic());
  }
}

TEST(SignatureType, TheFirstDifferenceIsFound) {
  sim::Rng rng(4);
  for (unsigned round = 0; round < 2000; ++round) {
    const Sample s = random_sample(rng, 5, 100);
    if (s.flat.empty()) continue;
    Flat changed = s.flat;
    for (uint64_t n = rng.between(1, 3); n != 0; --n)
      changed[rng.below(changed.size())] = random_basic(rng);
    const Type other = random_form(rng, changed);
    for (const Level level : kBothLevels) {
      size_t first = 0;
      while (first < changed.size() && same(changed[first], s.flat[first], level)) ++first;
      ASSERT_EQ(first_difference(s.type, other, changed.size(), level), first);
    }
  }
}

// Types with different sequences among thousands: different signatures.
TEST(SignatureType, DifferentTypesDoNotCollide) {
  sim::Rng rng(5);
  std::map<uint64_t, std::vector<uint32_t>> seen;
  for (unsigned round = 0; round < 20'000; ++round) {
    const Sample s = random_sample(rng, 4, 40);
    std::vector<uint32_t> key;
    for (const BasicType& b : s.flat) key.push_back(uint32_t{b.id} << 16 | b.size);
    ASSERT_EQ(seen.emplace(s.type.signature(1, Level::kNames).hash, key).first->second, key);
  }
  EXPECT_GT(seen.size(), 5000u);
}

TEST(SignatureType, BuildersNormalise) {
  const Type i = leaf("MPI_INT");
  const Type d = leaf("MPI_DOUBLE");
  const auto form = [](const Type& t) { return describe(t, 1); };
  EXPECT_EQ(form(Type::repeat(Type::repeat(i, 3), 4)), "12 x MPI_INT");
  EXPECT_EQ(Type::repeat(Type::repeat(i, 3), 4).node().parts()[0].copies, 12u);
  EXPECT_EQ(&Type::repeat(i, 1).node(), &i.node());
  const Type::Item single[] = {{i, 1}};
  EXPECT_EQ(&Type::sequence(single).node(), &i.node());
  const Type::Item equal[] = {
      {i, 2}, {leaf("MPI_INT"), 3}, {d, 0}, {Type(), 9}, {Type::repeat(i, 4), 2}};
  EXPECT_TRUE(Type::sequence(equal).homogeneous());
  EXPECT_EQ(Type::sequence(equal).node().part_count, 1u);
  EXPECT_EQ(form(Type::sequence(equal)), "13 x MPI_INT");
  const Type::Item pair[] = {{i, 1}, {d, 3}};
  const Type::Item nested[] = {{d, 1}, {Type::sequence(pair), 1}, {d, 1}};
  EXPECT_EQ(form(Type::sequence(nested)), "1 x {MPI_DOUBLE, MPI_INT, 4 x MPI_DOUBLE}");
  const Type::Item twice[] = {{Type::sequence(pair), 2}, {Type::sequence(pair), 3}};
  EXPECT_EQ(form(Type::sequence(twice)), "5 x {MPI_INT, 3 x MPI_DOUBLE}");
  EXPECT_EQ(Type::repeat(d, 0).count(), 0u);
  EXPECT_EQ(Type::sequence({}).count(), 0u);
  EXPECT_FALSE(Type().homogeneous());
}

TEST(SignatureType, TheEmptyTypeHasNothing) {
  const Type none;
  EXPECT_EQ(none.bytes(), 0u);
  EXPECT_EQ(none.signature(7, Level::kLayout), Signature{});
  EXPECT_EQ(prefix(none, 7, 7, Level::kNames), Signature{});
  EXPECT_EQ(whole_elements(none, 7, 100), 0u);
  EXPECT_EQ(element_at(none, 3), BasicType{});
  EXPECT_EQ(path_of(none, 3), "");
}

TEST(SignatureType, SillyNestingsCollapse) {
  Type t = leaf("MPI_INT");
  for (unsigned i = 0; i < 10'000; ++i) t = Type::repeat(t, i % 1000 == 0 ? 2 : 1);
  EXPECT_EQ(t.count(), 1024u);
  EXPECT_TRUE(t.node().parts()[0].type.node().leaf());
  // Type by type around the same inner one.
  const Type::Item pair[] = {{leaf("MPI_INT"), 1}, {leaf("MPI_DOUBLE"), 1}};
  Type u = Type::sequence(pair);
  for (unsigned i = 0; i < 10'000; ++i) u = Type::repeat(u, i % 1000 == 0 ? 2 : 1);
  EXPECT_EQ(describe(u, 1), "1024 x {MPI_INT, MPI_DOUBLE}");
}

// Nothing recurses: neither building nor asking nor the end of it.
TEST(SignatureType, ChainsOfAnyLength) {
  constexpr uint64_t kLinks = 100'000;
  const BasicType front[] = {named("MPI_DOUBLE"), named("MPI_FLOAT")};
  const Type fronts[] = {Type::leaf(front[0]), Type::leaf(front[1])};
  const Type i = leaf("MPI_INT");
  Type chain = i;
  for (uint64_t n = 0; n < kLinks; ++n) {
    const Type::Item items[] = {{fronts[n % 2], 1}, {chain, 1}, {i, 1}};
    chain = Type::sequence(items);
  }
  EXPECT_EQ(chain.count(), 2 * kLinks + 1);
  EXPECT_EQ(element_at(chain, 0), front[1]);
  EXPECT_EQ(element_at(chain, kLinks - 1), front[0]);
  EXPECT_EQ(element_at(chain, kLinks), named("MPI_INT"));
  const Type::Item both[] = {{fronts[1], 1}, {fronts[0], 1}};
  EXPECT_EQ(prefix(chain, 1, kLinks, Level::kNames),
            Type::sequence(both).signature(kLinks / 2, Level::kNames));
  EXPECT_EQ(whole_elements(chain, 1, kLinks / 2 * 12 + 3), kLinks);
  EXPECT_LT(path_of(chain, kLinks).size(), 200u);
  EXPECT_LT(describe(chain, 1).size(), 300u);
  uint8_t out[4096];
  EXPECT_EQ(encode(chain, out, sizeof(out)), 0u);
}

// Copies by the 2^50 cost no more than one.
TEST(SignatureType, CountsDoNotMatter) {
  constexpr uint64_t kMany = uint64_t{1} << 50;
  const Type::Item items[] = {{leaf("MPI_INT"), kMany}, {leaf("MPI_DOUBLE"), 1}};
  const Type::Item others[] = {{leaf("MPI_INT"), kMany + 1}};
  const Type a = Type::sequence(items);
  const Type b = Type::sequence(others);
  EXPECT_EQ(first_difference(a, b, kMany + 1, Level::kLayout), kMany);
  EXPECT_EQ(first_difference(a, b, kMany, Level::kLayout), kMany);
  EXPECT_EQ(whole_elements(a, 1000, (kMany * 4 + 8) * 999 + 3), (kMany + 1) * 999);
  EXPECT_EQ(path_of(a, (kMany + 1) * 6 + kMany), "copy 7, field 2");
  EXPECT_EQ(path_of(a, (kMany + 1) * 6 + 4), "copy 7, field 1, element 5");
}

TEST(SignatureType, TooManyElementsSaturate) {
  const Type::Item items[] = {{leaf("MPI_INT"), uint64_t{1} << 62},
                              {leaf("MPI_DOUBLE"), uint64_t{3} << 62}};
  const Type huge = Type::sequence(items);
  EXPECT_EQ(huge.count(), kTooMany);
  EXPECT_EQ(huge.bytes(), kTooMany);
  EXPECT_TRUE(saturated(huge.signature(1, Level::kLayout)));
  EXPECT_EQ(prefix(huge, 5, 1000, Level::kLayout),
            repeat_basic(code_of(named("MPI_INT"), Level::kLayout), 1000));
  EXPECT_EQ(element_at(huge, uint64_t{1} << 62), named("MPI_DOUBLE"));
  EXPECT_EQ(whole_elements(huge, 2, 4002), 1000u);
  const Type::Item swapped[] = {{leaf("MPI_CHAR"), uint64_t{3} << 62},
                                {leaf("MPI_FLOAT"), uint64_t{1} << 62}};
  const Type::Item both[] = {{huge, 2}, {Type::sequence(swapped), 2}};
  EXPECT_EQ(Type::sequence(both).node().part_count, 2u) << "no hash says that they are the same";
  const Type::Item more[] = {{huge, 3}, {leaf("MPI_INT"), 1}, {huge, ~uint64_t{0}}};
  const Type larger = Type::repeat(Type::sequence(more), ~uint64_t{0});
  EXPECT_EQ(larger.count(), kTooMany);
  EXPECT_EQ(prefix(larger, 5, 1000, Level::kNames),
            repeat_basic(code_of(named("MPI_INT"), Level::kNames), 1000));
  EXPECT_EQ(
      Type::repeat(Type::repeat(leaf("MPI_INT"), uint64_t{1} << 40), uint64_t{1} << 40).count(),
      kTooMany);
  EXPECT_TRUE(Type::repeat(Type::repeat(leaf("MPI_INT"), uint64_t{1} << 40), uint64_t{1} << 40)
                  .homogeneous());
}

TEST(SignatureType, PathsAgreeWithTheWords) {
  const Type::Item inner[] = {{leaf("MPI_CHAR"), 2}, {leaf("MPI_FLOAT"), 1}};
  const Type::Item outer[] = {
      {leaf("MPI_INT"), 1}, {Type::sequence(inner), 3}, {leaf("MPI_DOUBLE"), 1}};
  const Type t = Type::sequence(outer);
  EXPECT_EQ(describe(t, 2), "2 x {MPI_INT, 3 x {2 x MPI_CHAR, MPI_FLOAT}, MPI_DOUBLE}");
  EXPECT_EQ(path_of(t, 0), "copy 1, field 1");
  EXPECT_EQ(path_of(t, 1), "copy 1, field 2, copy 1, field 1, element 1");
  EXPECT_EQ(path_of(t, 6), "copy 1, field 2, copy 2, field 2");
  EXPECT_EQ(path_of(t, 11 + 10), "copy 2, field 3");
  EXPECT_EQ(path_of(Type::repeat(leaf("MPI_INT"), 5), 12), "")
      << "all the same: the number of the element says it";
}

TEST(SignatureType, CopiesShareAndAssignmentsKeep) {
  Type a = leaf("MPI_INT");
  Type b = a;
  EXPECT_EQ(&a.node(), &b.node());
  EXPECT_EQ(a.node().references.load(), 2u);
  a = std::move(b);
  EXPECT_EQ(a.node().references.load(), 1u);
  EXPECT_EQ(b.count(), 0u);  // NOLINT: a moved-from type is the empty one
  const Type& alias = a;
  a = alias;
  EXPECT_EQ(a.count(), 1u);
}

}  // namespace
}  // namespace verity::signature
