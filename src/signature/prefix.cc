// SPDX-License-Identifier: BSD-3-Clause
// The questions about the first elements of a message: descents in the tree.
#include <algorithm>

#include "signature/type.h"

namespace verity::signature {

namespace {

using Node = Type::Node;
using Part = Type::Node::Part;

// Longest text of path_of(), about.
constexpr size_t kLongestPath = 120;

// The last part that begins at or before element `index` of the node.
const Part& part_at(const Node& node, uint64_t index) noexcept {
  const auto parts = node.parts();
  const auto after =
      std::upper_bound(parts.begin(), parts.end(), index,
                       [](uint64_t i, const Part& part) { return i < part.count_before; });
  return *(after - 1);
}

const Part& part_at_byte(const Node& node, uint64_t offset) noexcept {
  const auto parts = node.parts();
  const auto after =
      std::upper_bound(parts.begin(), parts.end(), offset,
                       [](uint64_t i, const Part& part) { return i < part.bytes_before; });
  return *(after - 1);
}

// Takes the first `elements` elements of `copies` copies apart: whole copies of a node, then the
// parts before the one that is begun, then that one in the same way.
template <class OnCopies, class OnBefore>
void take(const Type& type, uint64_t copies, uint64_t elements, OnCopies on_copies,
          OnBefore on_before) noexcept {
  const Node* node = &type.node();
  while (node->count != 0) {
    const uint64_t whole = std::min(copies, elements / node->count);
    on_copies(*node, whole);
    elements -= whole * node->count;
    if (elements == 0 || whole == copies) return;
    const Part& part = part_at(*node, elements);
    on_before(part);
    elements -= part.count_before;
    copies = part.copies;
    node = &part.type.node();
  }
}

// Passes repetitions of a single part: describe() shows them as one, too.
const Node* innermost(const Type& type) noexcept {
  const Node* node = &type.node();
  while (node->part_count == 1) node = &node->parts()[0].type.node();
  return node;
}

}  // namespace

Signature prefix(const Type& type, uint64_t copies, uint64_t elements, Level level) noexcept {
  const auto l = static_cast<unsigned>(level);
  Signature sum;
  take(
      type, copies, elements,
      [&](const Node& node, uint64_t whole) {
        if (whole != 0)
          sum = sum.count == 0 ? node.repeater[l].repeat(whole)
                               : concat(sum, node.repeater[l].repeat(whole));
      },
      [&](const Part& part) {
        if (part.count_before != 0) sum = concat(sum, {part.hash_before[l], part.count_before});
      });
  return sum;
}

uint64_t prefix_bag(const Type& type, uint64_t copies, uint64_t elements, Level level) noexcept {
  const auto l = static_cast<unsigned>(level);
  uint64_t sum = 0;
  take(
      type, copies, elements,
      [&](const Node& node, uint64_t whole) {
        sum = add_mod(sum, mul_mod(node.bag[l], reduce(whole)));
      },
      [&](const Part& part) { sum = add_mod(sum, part.bag_before[l]); });
  return sum;
}

uint64_t whole_elements(const Type& type, uint64_t copies, uint64_t bytes) noexcept {
  if (bytes == kTooMany) return multiply_counts(type.count(), copies);
  uint64_t elements = 0;
  for (const Node* node = &type.node(); node->count != 0;) {
    const uint64_t whole = std::min(copies, bytes / node->bytes);
    elements += whole * node->count;
    bytes -= whole * node->bytes;
    if (bytes == 0 || whole == copies || node->leaf()) break;
    const Part& part = part_at_byte(*node, bytes);
    elements += part.count_before;
    bytes -= part.bytes_before;
    copies = part.copies;
    node = &part.type.node();
  }
  return elements;
}

BasicType element_at(const Type& type, uint64_t index) noexcept {
  const Node* node = &type.node();
  while (node->part_count != 0) {
    const Part& part = part_at(*node, index % node->count);
    index = index % node->count - part.count_before;
    node = &part.type.node();
  }
  return node->basic;
}

std::string path_of(const Type& type, uint64_t index) {
  const Node* node = innermost(type);
  if (node->part_count == 0) return {};  // one basic type: the element's number says all
  std::string path = "copy " + std::to_string(index / node->count + 1);
  while (node->part_count != 0) {
    const Part& part = part_at(*node, index % node->count);
    const auto field = static_cast<size_t>(&part - node->parts().data()) + 1;
    index = index % node->count - part.count_before;
    node = innermost(part.type);
    path += ", field " + std::to_string(field);
    if (path.size() > kLongestPath) return path + ", ...";
    if (node->count != 0 && (part.copies > 1 || part.type.node().part_count == 1)) {
      path += (node->part_count == 0 ? ", element " : ", copy ") +
              std::to_string(index / node->count + 1);
    }
  }
  return path;
}

uint64_t first_difference(const Type& a, const Type& b, uint64_t elements, Level level) noexcept {
  const auto agree = [&](uint64_t n) {
    return prefix(a, kTooMany, n, level) == prefix(b, kTooMany, n, level);
  };
  if (agree(elements)) return elements;
  uint64_t equal = 0;
  uint64_t unequal = elements;
  while (unequal - equal > 1) {
    const uint64_t middle = equal + (unequal - equal) / 2;
    (agree(middle) ? equal : unequal) = middle;
  }
  return equal;
}

}  // namespace verity::signature
