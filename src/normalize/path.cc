// SPDX-License-Identifier: BSD-3-Clause
#include "normalize/path.h"

#include <algorithm>

namespace verity::normalize {

Node contiguous(uint64_t count) {
  return {.kind = Kind::kContiguous, .count = count, .stride = 0, .indices = {}};
}

Node vector(uint64_t count, int64_t stride) {
  return {.kind = Kind::kVector, .count = count, .stride = stride, .indices = {}};
}

Node indexed(Displacements indices) {
  return {
      .kind = Kind::kIndexed, .count = indices.size(), .stride = 0, .indices = std::move(indices)};
}

std::optional<uint64_t> element_count(const TypePath& path) {
  if (path.empty()) return 0;
  int64_t product = 1;
  for (const Node& node : path) {
    if (__builtin_mul_overflow(product, node.count, &product)) return std::nullopt;
  }
  return static_cast<uint64_t>(product);
}

namespace {

int64_t displacement_of(const Node& node, uint64_t copy, int64_t unit) {
  switch (node.kind) {
    case Kind::kIndexed: return node.indices[copy];
    case Kind::kVector: return static_cast<int64_t>(copy) * node.stride;
    case Kind::kContiguous: break;
  }
  return static_cast<int64_t>(copy) * unit;
}

}  // namespace

Displacements expand(const TypePath& path, int64_t unit) {
  if (path.empty()) return {};
  Displacements layout{0};
  for (auto at = path.rbegin(); at != path.rend(); ++at) {
    const Node& node = *at;
    Displacements copies;
    copies.reserve(layout.size() * node.count);
    for (uint64_t copy = 0; copy < node.count; ++copy) {
      const int64_t base = displacement_of(node, copy, unit);
      for (const int64_t inner : layout) copies.push_back(base + inner);
    }
    layout = std::move(copies);
  }
  return layout;
}

Blocks merge_adjacent(const Displacements& indices, uint64_t length, int64_t unit, uint64_t most) {
  Blocks blocks;
  const int64_t block_bytes = static_cast<int64_t>(length) * unit;
  for (std::size_t i = 0; i < indices.size(); ++i) {
    if (i > 0 && indices[i] == indices[i - 1] + block_bytes &&
        blocks.lengths.back() + length <= most) {
      blocks.lengths.back() += length;
    } else {
      blocks.indices.push_back(indices[i]);
      blocks.lengths.push_back(length);
    }
  }
  return blocks;
}

namespace {

std::string to_string(const Displacements& indices, std::size_t most) {
  std::string text = "<";
  for (std::size_t i = 0; i < std::min(indices.size(), most); ++i)
    text += (i == 0 ? "" : ",") + std::to_string(indices[i]);
  return text + (indices.size() > most ? ",...>" : ">");
}

}  // namespace

std::string to_string(const TypePath& path, std::size_t most) {
  std::string text;
  for (const Node& node : path) {
    const std::string count = std::to_string(node.count);
    switch (node.kind) {
      case Kind::kContiguous: text += "con(" + count; break;
      case Kind::kVector: text += "vec(" + count + "," + std::to_string(node.stride) + ","; break;
      case Kind::kIndexed:
        text += "idx(" + count + "," + to_string(node.indices, most) + ",";
        break;
    }
  }
  return text + std::string(path.size(), ')');
}

}  // namespace verity::normalize
