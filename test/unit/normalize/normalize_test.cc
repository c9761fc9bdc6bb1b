// SPDX-License-Identifier: BSD-3-Clause
//
// Type paths against an oracle: the cheapest of all paths, found without any of the product's
// ideas.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <random>
#include <span>
#include <string_view>

#include "normalize/canonical.h"
#include "normalize/optimal.h"

namespace verity::normalize {
namespace {

constexpr CostModel kPaperExample{
    .contiguous = 2, .vector = 4, .indexed = 3, .index = 1, .step = 0, .processing = false};
constexpr CostModel kCheapVector{
    .contiguous = 1, .vector = 1, .indexed = 5, .index = 2, .step = 0, .processing = false};
constexpr CostModel kDearVector{
    .contiguous = 1, .vector = 9, .indexed = 1, .index = 1, .step = 0, .processing = false};

uint64_t visit_cost(Kind kind, uint64_t count, const CostModel& model) {
  if (kind == Kind::kContiguous) return model.contiguous;
  return kind == Kind::kVector ? model.vector + count * model.step
                               : model.indexed + count * model.index;
}

// The cheapest path of the first `length` displacements by every outermost node: c copies of a
// shorter path, whose offset is added to those of the copies. Vectors and leaves begin at 0; an idx
// begins anywhere.
class Oracle {
 public:
  Oracle(std::span<const int64_t> layout, int64_t unit, const CostModel& model)
      : layout_(layout), unit_(unit), model_(model) {}

  uint64_t cost() {
    // Whether the outermost nodes or one inside has to bring the offset makes no difference to the
    // search: either the path has an idx, or one is put around it.
    const Costs costs = of(layout_.size());
    if (layout_[0] == 0) return std::min(costs.without, costs.with);
    return std::min(costs.with, costs.without == kNone
                                    ? kNone
                                    : costs.without + visit_cost(Kind::kIndexed, 1, model_));
  }

 private:
  static constexpr uint64_t kNone = UINT64_MAX;
  struct Costs {
    uint64_t without = kNone;
    uint64_t with = kNone;
  };

  Costs of(std::size_t length) {
    const auto known = known_.find(length);
    if (known != known_.end()) return known->second;
    Costs costs;
    const uint64_t visits = model_.processing ? layout_.size() / length : 1;
    if (arithmetic(1, length, unit_)) costs.without = visits * model_.contiguous;
    for (std::size_t inner = 1; inner < length; ++inner) {
      if (length % inner != 0 || !copies(inner, length)) continue;
      const Costs inside = of(inner);
      const uint64_t count = length / inner;
      const uint64_t indexed = visits * visit_cost(Kind::kIndexed, count, model_);
      costs.with =
          std::min({costs.with, plus(inside.with, indexed), plus(inside.without, indexed)});
      if (!arithmetic(inner, length, std::nullopt)) continue;
      const uint64_t vector = visits * visit_cost(Kind::kVector, count, model_);
      costs.with = std::min(costs.with, plus(inside.with, vector));
      costs.without = std::min(costs.without, plus(inside.without, vector));
    }
    return known_[length] = costs;
  }

  static uint64_t plus(uint64_t a, uint64_t b) { return a == kNone ? kNone : a + b; }

  bool copies(std::size_t inner, std::size_t length) const {
    for (std::size_t i = 0; i < length; ++i) {
      if (layout_[i] - layout_[i / inner * inner] != layout_[i % inner] - layout_[0]) return false;
    }
    return true;
  }

  bool arithmetic(std::size_t step, std::size_t length, std::optional<int64_t> stride) const {
    if (length <= step) return true;
    const int64_t first = stride.value_or(layout_[step] - layout_[0]);
    for (std::size_t i = step; i < length; i += step) {
      if (layout_[i] - layout_[i - step] != first) return false;
    }
    return true;
  }

  std::span<const int64_t> layout_;
  int64_t unit_;
  const CostModel& model_;
  std::map<std::size_t, Costs> known_;
};

// Everything that must be true of one layout.
void check(const Displacements& layout, int64_t unit, const CostModel& model) {
  const Canonical found = canonical(layout);
  const TypePath best = optimal_path(found, unit, model);
  SCOPED_TRACE(::testing::PrintToString(layout) + " " + to_string(best, 64));
  ASSERT_EQ(expand(best, unit), layout);
  ASSERT_EQ(cost(best, model), Oracle(layout, unit, model).cost());
  // Any path of the layout leads to the same canonical one.
  Canonical again;
  ASSERT_EQ(canonical(best, unit, &again), "");
  ASSERT_EQ(again, found);
}

void check_all_models(const Displacements& layout) {
  for (const CostModel& model :
       {kStorageCost, kProcessingCost, kPaperExample, kCheapVector, kDearVector})
    check(layout, 1, model);
}

TEST(Normalize, EveryShortSequence) {
  for (std::size_t length = 1; length <= 8; ++length) {
    std::size_t sequences = 1;
    for (std::size_t i = 0; i < length; ++i) sequences *= 4;
    for (std::size_t number = 0; number < sequences; ++number) {
      Displacements layout;
      for (std::size_t rest = number, i = 0; i < length; ++i, rest /= 4)
        layout.push_back(static_cast<int64_t>(rest % 4));
      check(layout, 1, number % 2 == 0 ? kPaperExample : kProcessingCost);
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

TypePath random_path(std::mt19937_64& random, std::size_t most) {
  TypePath path{contiguous(1 + random() % 4)};
  uint64_t elements = path[0].count;
  while (random() % 5 != 0) {
    const uint64_t count = 1 + random() % 6;
    if (elements * count > most) break;
    elements *= count;
    if (random() % 2 == 0) {
      path.insert(path.begin(), vector(count, static_cast<int64_t>(random() % 12)));
    } else {
      Displacements indices;
      for (uint64_t i = 0; i < count; ++i) indices.push_back(static_cast<int64_t>(random() % 9));
      path.insert(path.begin(), indexed(indices));
    }
  }
  return path;
}

// Where the paper is wrong (Träff, EuroMPI 2014), in layouts of ours.

// Its lemma 1: a sequence that consists of copies of its first p elements and of its first q, does
// so of its first gcd(p, q). This one does of 2 and of 3; copies of 1 element are any sequence, and
// no vector. It is true where no vector is inside, which is when the algorithm uses it: so the
// vector has to be looked for first.
TEST(Normalize, PaperLemma1IsFalseWithoutItsVector) {
  Displacements layout(6, 0);
  layout.resize(12, 1);
  const auto copies = [&](std::size_t length) {
    for (std::size_t i = 0; i < layout.size(); ++i) {
      if (layout[i] - layout[i / length * length] != layout[i % length] - layout[0]) return false;
    }
    return true;
  };
  EXPECT_TRUE(copies(2) && copies(3));
  EXPECT_EQ(canonical(layout).nodes, (std::vector<Node>{vector(6, 0), vector(2, 1)}));
  check_all_models(layout);
}

// Its lemma 2: the order of nodes does not matter for the cost of the offset, so that an idx of one
// copy around the whole takes it. In its second example's form and costs (con 2, vec 4, idx 3 and 1
// an index), that is 16; any idx takes the offset for nothing: 12.
TEST(Normalize, PaperSchemePaysForAnOffset) {
  const TypePath around{vector(4, 10), indexed({0, 2, 3}), contiguous(1)};
  TypePath printed = around;
  printed.insert(printed.begin(), indexed({5}));
  EXPECT_EQ(cost(printed, kPaperExample), 16U);
  const Displacements layout = expand(printed, 1);
  EXPECT_EQ(cost(optimal_path(canonical(layout), 1, kPaperExample), kPaperExample), 12U);
  check_all_models(layout);
}

TEST(Normalize, RandomNestings) {
  const char* asked = std::getenv("VERITY_TEST_LONG");
  const bool long_form = asked != nullptr && std::string_view(asked) != "0";
  std::mt19937_64 random(7);
  for (int i = 0; i < (long_form ? 100'000 : 10'000); ++i) {
    const TypePath path = random_path(random, 64);
    const Displacements layout = expand(path, 1);
    check_all_models(layout);
    if (::testing::Test::HasFatalFailure()) return;
    Canonical without_expanding;
    ASSERT_EQ(canonical(path, 1, &without_expanding), "");
    ASSERT_EQ(without_expanding, canonical(layout)) << to_string(path, 64);
  }
}

}  // namespace
}  // namespace verity::normalize
