// SPDX-License-Identifier: BSD-3-Clause
#include "autolink/places.h"

#include <gtest/gtest.h>

#include <iterator>
#include <random>
#include <set>

namespace verity::autolink {
namespace {

struct Case {
  uint64_t size, granule;
};

const uint8_t* at(uint64_t address) { return reinterpret_cast<const uint8_t*>(address); }
uint64_t number(const uint8_t* address) { return reinterpret_cast<uintptr_t>(address); }

// Elements one behind the other, apart, and pages apart: in any order, some twice, some taken out.
class AutolinkPlaces : public testing::TestWithParam<Case> {
 protected:
  void add_randomly() {
    const uint64_t size = GetParam().size;
    for (unsigned i = 0; i < 300; ++i) {
      const uint64_t begin = base + random() % 4000 * size + random() % 5 * size * 1'000'000;
      const uint64_t count = i % 3 == 0 ? 1 + random() % 1500 : 1;
      if (count == 1) {
        EXPECT_EQ(places.add(at(begin)), known.insert(begin).second);
      } else {
        places.add_run(at(begin), count);
        for (uint64_t k = 0; k < count; ++k) known.insert(begin + k * size);
      }
    }
  }
  void remove_randomly() {
    for (unsigned i = 0; i < 100; ++i) {
      const auto gone =
          std::next(known.begin(), static_cast<std::ptrdiff_t>(random() % known.size()));
      places.remove(at(*gone));
      known.erase(gone);
    }
  }

  std::mt19937 random{7};
  uint64_t base = 0x7f0000000000 + GetParam().granule * 509;  // not the beginning of a page
  Places places{GetParam().size, GetParam().granule};
  std::set<uint64_t> known;
};

TEST_P(AutolinkPlaces, NumbersAreInTheOrderOfTheAddresses) {
  add_randomly();
  places.sort();
  EXPECT_FALSE(places.overlaps());
  remove_randomly();
  places.number();
  EXPECT_EQ(places.count(), known.size());
  uint64_t next = 0;
  for (const uint64_t address : known) {
    EXPECT_EQ(places.find(at(address)), next++);
    const uint64_t behind = address + GetParam().size;
    EXPECT_EQ(places.find(at(behind)) == Places::kNone, known.count(behind) == 0);
    EXPECT_EQ(places.last_until(at(behind - 1)), at(address));
    EXPECT_EQ(places.last_until(at(address)), at(address));
  }
  EXPECT_EQ(places.find(at(base - GetParam().granule)), Places::kNone);
  EXPECT_EQ(places.last_until(at(*known.begin() - 1)), nullptr);
  EXPECT_EQ(places.last_until(at(*known.rbegin() + 1'000'000'000)), at(*known.rbegin()));
}

TEST_P(AutolinkPlaces, RunsAreAsLongAsTheyCanBe) {
  add_randomly();
  places.sort();
  remove_randomly();
  for (const uint64_t most : {uint64_t{1}, uint64_t{7}, uint64_t{1000}, ~uint64_t{0}}) {
    Places::Cursor cursor;
    auto expected = known.begin();
    for (autolink::Run run = places.next(&cursor, most); run.count != 0;
         run = places.next(&cursor, most)) {
      EXPECT_LE(run.count, most);
      for (uint64_t i = 0; i < run.count; ++i)
        ASSERT_EQ(number(run.begin) + i * GetParam().size, *expected++);
      const uint64_t behind = number(run.begin) + run.count * GetParam().size;
      EXPECT_TRUE(run.count == most || known.count(behind) == 0);
    }
    EXPECT_EQ(expected, known.end());
  }
}

TEST_P(AutolinkPlaces, OverlapsAreFound) {
  if (GetParam().size == GetParam().granule) return;  // they cannot
  places.add(at(base));
  places.add(at(base + GetParam().size));
  EXPECT_FALSE(places.overlaps());
  places.add(at(base + GetParam().size + GetParam().granule));
  places.sort();
  EXPECT_TRUE(places.overlaps());
}

TEST(AutolinkPlacesEmpty, NothingIsFound) {
  Places places(8, 8);
  Places::Cursor cursor;
  places.sort();
  places.number();
  EXPECT_TRUE(places.empty());
  EXPECT_EQ(places.find(at(4096)), Places::kNone);
  EXPECT_EQ(places.last_until(at(4096)), nullptr);
  EXPECT_EQ(places.next(&cursor, 1).count, 0u);
}

INSTANTIATE_TEST_SUITE_P(Sizes, AutolinkPlaces,
                         testing::Values(Case{1, 1}, Case{8, 8}, Case{24, 8}, Case{112, 8},
                                         Case{24, 1}, Case{9000, 4}),
                         [](const auto& c) {
                           return std::to_string(c.param.size) + "By" +
                                  std::to_string(c.param.granule);
                         });

}  // namespace
}  // namespace verity::autolink
