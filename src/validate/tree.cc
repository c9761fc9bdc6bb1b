// SPDX-License-Identifier: BSD-3-Clause
#include "ucx-verity/tree.h"

#include <algorithm>
#include <cerrno>
#include <new>

#include "merkle/tree.h"

#define EXPORTED extern "C" __attribute__((visibility("default")))

namespace merkle = verity::merkle;

struct verity_tree {
  merkle::Tree tree;
};

namespace {

merkle::Digest hash_leaf(const merkle::Geometry& geometry, const void* data,
                         uint64_t leaf) noexcept {
  return merkle::hash(static_cast<const uint8_t*>(data) + geometry.leaf_offset(leaf),
                      geometry.leaf_length(leaf));
}

// Children of the node above `index` of `level`.
uint64_t siblings(const merkle::Geometry& geometry, unsigned level, uint64_t index) noexcept {
  const uint64_t first = index / merkle::kFanout * merkle::kFanout;
  return std::min<uint64_t>(merkle::kFanout, geometry.level_size(level) - first);
}

}  // namespace

EXPORTED int verity_tree_build(const void* data, uint64_t length, uint32_t segment_size,
                               verity_tree** tree) {
  if (tree == nullptr || (data == nullptr && length != 0) ||
      !merkle::is_valid_segment_size(segment_size))
    return EINVAL;
  try {
    const merkle::Geometry geometry(length, segment_size);
    const verity::util::Piece all{data, length};
    *tree = new verity_tree{merkle::Tree::build(geometry, {&all, 1})};
    return 0;
  } catch (const std::bad_alloc&) { return ENOMEM; }
}

EXPORTED void verity_tree_free(verity_tree* tree) { delete tree; }

EXPORTED uint64_t verity_tree_root(const verity_tree* tree) { return tree->tree.root(); }

EXPORTED uint64_t verity_tree_leaf_count(const verity_tree* tree) {
  return tree->tree.geometry().leaf_count();
}

EXPORTED unsigned verity_tree_level_count(const verity_tree* tree) {
  return tree->tree.level_count();
}

EXPORTED uint64_t verity_tree_level_size(const verity_tree* tree, unsigned level) {
  return level < tree->tree.level_count() ? tree->tree.level(level).size() : 0;
}

EXPORTED int verity_tree_node(const verity_tree* tree, unsigned level, uint64_t index,
                              uint64_t* digest) {
  if (digest == nullptr || index >= verity_tree_level_size(tree, level)) return EINVAL;
  *digest = tree->tree.level(level)[index];
  return 0;
}

EXPORTED int verity_tree_path(const verity_tree* tree, uint64_t leaf, uint64_t* digests,
                              size_t capacity, size_t* count) {
  const merkle::Geometry& geometry = tree->tree.geometry();
  if (count == nullptr || leaf >= geometry.leaf_count()) return EINVAL;
  *count = 0;
  uint64_t index = leaf;
  for (unsigned level = 0; level + 1 < tree->tree.level_count();
       ++level, index /= merkle::kFanout) {
    *count += siblings(geometry, level, index);
  }
  if (*count > capacity || (*count != 0 && digests == nullptr)) return EINVAL;
  index = leaf;
  for (unsigned level = 1; level < tree->tree.level_count(); ++level) {
    index /= merkle::kFanout;
    const auto children = tree->tree.children(level, index);
    digests = std::copy(children.begin(), children.end(), digests);
  }
  return 0;
}

EXPORTED int verity_tree_check_path(uint64_t length, uint32_t segment_size, uint64_t leaf,
                                    uint64_t digest, const uint64_t* digests, size_t count,
                                    uint64_t root) {
  if (!merkle::is_valid_segment_size(segment_size)) return 0;
  const merkle::Geometry geometry(length, segment_size);
  if (leaf >= geometry.leaf_count()) return 0;
  uint64_t index = leaf;
  for (unsigned level = 0; level + 1 < geometry.level_count(); ++level, index /= merkle::kFanout) {
    const uint64_t children = siblings(geometry, level, index);
    if (count < children || digests[index % merkle::kFanout] != digest) return 0;
    digest = merkle::node_digest(level + 1, index / merkle::kFanout, {digests, children});
    digests += children;
    count -= children;
  }
  return count == 0 && digest == root;
}

EXPORTED int verity_tree_diff(const verity_tree* tree, const verity_tree* other, uint64_t* leaves,
                              size_t capacity, size_t* count) {
  if (count == nullptr || (leaves == nullptr && capacity != 0)) return EINVAL;
  try {
    std::vector<uint64_t> all;
    if (!tree->tree.diff(other->tree, all)) return EINVAL;
    *count = all.size();
    std::copy_n(all.begin(), std::min(all.size(), capacity), leaves);
    return 0;
  } catch (const std::bad_alloc&) { return ENOMEM; }
}

EXPORTED int verity_tree_update(verity_tree* tree, const void* data, uint64_t offset,
                                uint64_t length) {
  const merkle::Geometry& geometry = tree->tree.geometry();
  if (offset > geometry.length() || length > geometry.length() - offset ||
      (data == nullptr && length != 0))
    return EINVAL;
  if (length == 0) return 0;
  const uint64_t last = (offset + length - 1) / geometry.segment_size();
  for (uint64_t leaf = offset / geometry.segment_size(); leaf <= last; ++leaf) {
    tree->tree.update_leaf(leaf, hash_leaf(geometry, data, leaf));
  }
  return 0;
}
