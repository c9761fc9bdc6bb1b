// SPDX-License-Identifier: BSD-3-Clause
#include "normalize/canonical.h"

#include <algorithm>
#include <numeric>

namespace verity::normalize {

uint64_t longest_vector(std::span<const int64_t> displacements) {
  uint64_t length = displacements.size();
  if (length == 1) return 1;
  const int64_t stride = displacements[1] - displacements[0];
  // A vector can end only where the stride changes, so its length divides the position of each such
  // place.
  for (uint64_t i = 1; i < displacements.size() && length > 1; ++i) {
    if (displacements[i] - displacements[i - 1] != stride) length = std::gcd(length, i);
  }
  return length;
}

namespace {

// The first element that is not where a copy of the first `length` has it; the size when all are.
uint64_t first_mismatch(std::span<const int64_t> displacements, uint64_t length) {
  for (uint64_t block = length; block < displacements.size(); block += length) {
    const int64_t moved = displacements[block] - displacements[0];
    for (uint64_t i = 1; i < length; ++i) {
      if (displacements[block + i] - displacements[i] != moved) return block + i;
    }
  }
  return displacements.size();
}

// Whether element `at` is not where a copy of the first `length` has it.
bool differs_at(std::span<const int64_t> displacements, uint64_t length, uint64_t at) {
  const uint64_t i = at % length;
  return displacements[at] - displacements[i] != displacements[at - i] - displacements[0];
}

// Which lengths a sequence is made of copies of. What differs for one length does so for most, so
// that it is looked at first: else each length is compared to its end where only the last elements
// differ.
class Repetitions {
 public:
  explicit Repetitions(std::span<const int64_t> displacements) : displacements_(displacements) {}

  bool of(uint64_t length) {
    for (uint64_t at = mismatch_; at < std::min(mismatch_ + 2, displacements_.size()); ++at) {
      if (differs_at(displacements_, length, at)) return false;
    }
    const uint64_t found = first_mismatch(displacements_, length);
    if (found == displacements_.size()) return true;
    mismatch_ = found;
    return false;
  }

 private:
  std::span<const int64_t> displacements_;
  uint64_t mismatch_ = 0;
};

// The smallest length of at least two whose copies make up the sequence: its own at last.
uint64_t shortest_repeated(std::span<const int64_t> displacements) {
  const uint64_t size = displacements.size();
  uint64_t shortest = size;
  Repetitions repetitions(displacements);
  for (uint64_t small = 1; small * small <= size; ++small) {
    if (size % small != 0) continue;
    if (small > 1 && repetitions.of(small)) return small;
    const uint64_t large = size / small;
    if (large < shortest && repetitions.of(large)) shortest = large;
  }
  return shortest;
}

void keep_every(Displacements* displacements, uint64_t step) {
  const uint64_t left = displacements->size() / step;
  for (uint64_t i = 0; i < left; ++i) (*displacements)[i] = (*displacements)[i * step];
  displacements->resize(left);
}

// Two vectors of which the outer one goes on where the inner one ends are one.
void append(Canonical* layout, Node node) {
  if (node.count == 1) return;
  layout->elements *= node.count;
  if (node.kind == Kind::kVector && !layout->nodes.empty()) {
    Node& inner = layout->nodes.back();
    int64_t end;
    if (inner.kind == Kind::kVector && !__builtin_mul_overflow(inner.stride, inner.count, &end) &&
        end == node.stride) {
      inner.count *= node.count;
      return;
    }
  }
  layout->nodes.push_back(std::move(node));
}

// Appends the repetitions of `displacements`, whose first is the layout's offset: from the
// innermost, which is the longest vector or the shortest sequence that is repeated, outwards.
void append_sequence(Canonical* layout, Displacements displacements) {
  for (int64_t& displacement : displacements) displacement -= layout->offset;
  while (displacements.size() > 1) {
    uint64_t length = longest_vector(displacements);
    if (length > 1) {
      append(layout, vector(length, displacements[1] - displacements[0]));
    } else {
      length = shortest_repeated(displacements);
      append(layout, indexed({displacements.begin(),
                              displacements.begin() + static_cast<int64_t>(length)}));
    }
    keep_every(&displacements, length);
  }
}

// Half of the range: differences and sums of two fit.
bool in_range(int64_t displacement) {
  return displacement <= INT64_MAX / 4 && displacement >= INT64_MIN / 4;
}

std::string out_of_range(const std::string& what) { return what + " is not within 2^61 of 0"; }

// What is wrong with a node by itself; `leaf` is whether it stands last.
std::string refuse(const Node& node, bool leaf) {
  if ((node.kind == Kind::kContiguous) != leaf)
    return "con has to be the innermost node, and only that";
  if (node.count == 0) return "a node has no copies";
  if (node.kind == Kind::kIndexed && node.indices.size() != node.count)
    return "an idx has another number of indices than copies";
  for (const int64_t index : node.indices) {
    if (!in_range(index)) return out_of_range("an index");
  }
  int64_t length;
  if (node.kind == Kind::kVector &&
      (__builtin_mul_overflow(node.stride, node.count, &length) || !in_range(length)))
    return out_of_range("the end of a vec");
  return "";
}

}  // namespace

Canonical canonical(std::span<const int64_t> displacements) {
  Canonical layout;
  if (displacements.empty()) return layout;
  layout.elements = 1;
  layout.offset = displacements[0];
  append_sequence(&layout, {displacements.begin(), displacements.end()});
  return layout;
}

std::string canonical(const TypePath& path, int64_t unit, Canonical* canonical_p) {
  for (const Node& node : path) {
    if (std::string problem = refuse(node, &node == &path.back()); !problem.empty()) return problem;
  }
  if (!element_count(path)) return "it has more than 2^63 elements";
  Canonical layout;
  layout.elements = path.empty() ? 0 : 1;
  int64_t offset = 0;
  for (auto at = path.rbegin(); at != path.rend(); ++at) {
    const Node& node = *at;
    if (node.kind == Kind::kIndexed) {
      if (__builtin_add_overflow(offset, node.indices[0], &offset))
        return out_of_range("the first displacement");
      layout.offset = node.indices[0];
      append_sequence(&layout, node.indices);
    } else {
      append(&layout, vector(node.count, node.kind == Kind::kVector ? node.stride : unit));
    }
  }
  layout.offset = offset;
  *canonical_p = std::move(layout);
  return "";
}

}  // namespace verity::normalize
