// SPDX-License-Identifier: BSD-3-Clause
//
// Any path of a layout cuts its sequence of elements into nested repetitions: the leaf's elements,
// of which the next node makes a longer sequence, and so on to all elements. A sequence of length m
// can be such a part only where the layout consists of copies of its first m elements. These
// lengths are known from the canonical path: the products of its counts from the innermost node
// outwards, and, inside a vector, those times a divisor of its count. So the paths are those of a
// graph whose vertices are these lengths, and an edge is one node: a vec where both ends lie in one
// canonical vector, an idx otherwise. The cheapest is found by dynamic programming.
//
// An offset of the whole layout is free in any idx, whose indices are then displaced; a path
// without one pays an idx of one copy around it all. So each vertex is twice there, without and
// with an idx below it.
#include "normalize/optimal.h"

#include <algorithm>
#include <array>
#include <limits>
#include <tuple>

namespace verity::normalize {

namespace {

constexpr uint64_t kUnreachable = std::numeric_limits<uint64_t>::max();
constexpr uint64_t kMaxTrialDivisor = uint64_t{1} << 20;

uint64_t add(uint64_t a, uint64_t b) {
  uint64_t sum;
  return __builtin_add_overflow(a, b, &sum) ? kUnreachable : sum;
}

uint64_t multiply(uint64_t a, uint64_t b) {
  uint64_t product;
  return __builtin_mul_overflow(a, b, &product) ? kUnreachable : product;
}

// One visit of a node.
uint64_t visit_cost(Kind kind, uint64_t count, const CostModel& model) {
  switch (kind) {
    case Kind::kVector: return add(model.vector, multiply(count, model.step));
    case Kind::kIndexed: return add(model.indexed, multiply(count, model.index));
    case Kind::kContiguous: break;
  }
  return model.contiguous;
}

std::vector<uint64_t> divisors(uint64_t number) {
  std::vector<uint64_t> all;
  for (uint64_t small = 1; small <= kMaxTrialDivisor && small <= number / small; ++small) {
    if (number % small != 0) continue;
    all.push_back(small);
    if (small != number / small) all.push_back(number / small);
  }
  std::ranges::sort(all);
  return all;
}

// Where a path may be cut: `length` elements, which are `copies` of what is inside canonical node
// `node`.
struct Cut {
  std::size_t node;
  uint64_t copies;
  uint64_t length;
};

class Search {
 public:
  Search(const Canonical& layout, int64_t unit, const CostModel& model)
      : layout_(layout), unit_(unit), model_(model) {
    make_cuts();
    best_.resize(cuts_.size());
    start();
    for (std::size_t outer = 1; outer < cuts_.size(); ++outer) {
      for (std::size_t inner = 0; inner < outer; ++inner) extend(inner, outer);
    }
  }

  [[nodiscard]] TypePath path() const {
    const std::array<Best, 2>& whole = best_.back();
    if (layout_.offset == 0) return build(whole[1] < whole[0]);
    Best around = whole[0];
    around.cost = add(around.cost, visit_cost(Kind::kIndexed, 1, model_));
    ++around.nodes;
    if (whole[1] < around) return build(true);
    TypePath path = build(false);
    path.insert(path.begin(), indexed({layout_.offset}));
    return path;
  }

 private:
  // The cheapest path up to a cut, and where its outermost node begins.
  struct Best {
    uint64_t cost = kUnreachable;
    uint64_t nodes = kUnreachable;  // also of a path whose cost saturates
    std::size_t inner = kLeaf;
    bool inner_has_index = false;
    Kind kind = Kind::kContiguous;

    [[nodiscard]] bool operator<(const Best& other) const {
      return std::tie(cost, nodes) < std::tie(other.cost, other.nodes);
    }
  };
  static constexpr std::size_t kLeaf = std::numeric_limits<std::size_t>::max();

  // In the order of their lengths. The end of a canonical node is the begin of the next one: one
  // cut.
  void make_cuts() {
    uint64_t length = 1;
    cuts_.push_back({0, 1, 1});
    for (std::size_t node = 0; node < layout_.nodes.size(); ++node) {
      const Node& whole = layout_.nodes[node];
      if (whole.kind == Kind::kVector) {
        for (const uint64_t copies : divisors(whole.count)) {
          if (copies > 1 && copies < whole.count) cuts_.push_back({node, copies, length * copies});
        }
      }
      length *= whole.count;
      cuts_.push_back({node + 1, 1, length});
    }
  }

  // The leaf: one element, or as many as follow each other at the distance of the unit.
  void start() {
    for (std::size_t cut = 0; cut < cuts_.size(); ++cut) {
      if (cut > 0 && !(in_one_vector(0, cut) && layout_.nodes[0].stride == unit_)) break;
      best_[cut][0] = {
          multiply(visits(cut), visit_cost(Kind::kContiguous, cuts_[cut].length, model_)), 1, kLeaf,
          false, Kind::kContiguous};
    }
  }

  [[nodiscard]] bool in_one_vector(std::size_t inner, std::size_t outer) const {
    const std::size_t node = cuts_[inner].node;
    const bool same_node =
        cuts_[outer].node == node || (cuts_[outer].node == node + 1 && cuts_[outer].copies == 1);
    return same_node && layout_.nodes[node].kind == Kind::kVector;
  }

  // How often a node is visited whose copies end at this cut.
  [[nodiscard]] uint64_t visits(std::size_t cut) const {
    return model_.processing ? layout_.elements / cuts_[cut].length : 1;
  }

  void extend(std::size_t inner, std::size_t outer) {
    if (cuts_[outer].length % cuts_[inner].length != 0) return;
    // What is a vec may be written as an idx as well, which takes the offset.
    if (in_one_vector(inner, outer)) extend(inner, outer, Kind::kVector);
    extend(inner, outer, Kind::kIndexed);
  }

  void extend(std::size_t inner, std::size_t outer, Kind kind) {
    const uint64_t count = cuts_[outer].length / cuts_[inner].length;
    const uint64_t node_cost = multiply(visits(outer), visit_cost(kind, count, model_));
    for (const bool has_index : {false, true}) {
      const Best& before = best_[inner][has_index];
      if (before.nodes == kUnreachable) continue;
      const Best longer{add(before.cost, node_cost), before.nodes + 1, inner, has_index, kind};
      Best& after = best_[outer][has_index || kind == Kind::kIndexed];
      if (longer < after) after = longer;
    }
  }

  // The best path to all elements, with or without an idx, of which the outermost takes the offset.
  [[nodiscard]] TypePath build(bool has_index) const {
    TypePath path;
    int64_t offset = layout_.offset;
    std::size_t cut = cuts_.size() - 1;
    for (;;) {
      const Best& best = best_[cut][has_index];
      if (best.kind == Kind::kContiguous) break;
      path.push_back(node_between(best.inner, cut, best.kind, &offset));
      cut = best.inner;
      has_index = best.inner_has_index;
    }
    path.push_back(contiguous(cuts_[cut].length));
    return path;
  }

  [[nodiscard]] Node node_between(std::size_t inner, std::size_t outer, Kind kind,
                                  int64_t* offset) const {
    const TypePath parts = canonical_between(cuts_[inner], cuts_[outer]);
    if (kind == Kind::kVector) return parts.front();
    Displacements indices = expand(parts, 1);
    for (int64_t& index : indices) index += *offset;
    *offset = 0;
    return indexed(std::move(indices));
  }

  // The canonical nodes from one cut to another, those at the cuts in part; as a path around one
  // element.
  [[nodiscard]] TypePath canonical_between(const Cut& inner, const Cut& outer) const {
    TypePath parts{contiguous(1)};
    for (std::size_t node = inner.node; node <= outer.node; ++node) {
      const uint64_t from = node == inner.node ? inner.copies : 1;
      if (node == outer.node && outer.copies == 1) break;
      Node part = layout_.nodes[node];
      if (part.kind == Kind::kVector)
        part = vector((node == outer.node ? outer.copies : part.count) / from,
                      part.stride * static_cast<int64_t>(from));
      parts.insert(parts.begin(), std::move(part));
    }
    return parts;
  }

  const Canonical& layout_;
  const int64_t unit_;
  const CostModel& model_;
  std::vector<Cut> cuts_;
  std::vector<std::array<Best, 2>> best_;  // by cut; without and with an idx
};

}  // namespace

uint64_t cost(const TypePath& path, const CostModel& model) {
  uint64_t total = 0;
  uint64_t visits = 1;
  for (const Node& node : path) {
    total = add(total, multiply(visits, visit_cost(node.kind, node.count, model)));
    if (model.processing) visits = multiply(visits, node.count);
  }
  return total;
}

TypePath optimal_path(const Canonical& layout, int64_t unit, const CostModel& model) {
  if (layout.elements == 0) return {};
  return Search(layout, unit, model).path();
}

}  // namespace verity::normalize
