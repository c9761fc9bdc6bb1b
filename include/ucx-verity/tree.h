/* SPDX-License-Identifier: BSD-3-Clause
 *
 * libverity_tree: Merkle trees of XXH3 over memory, as this project's plugin computes them. Needs
 * neither MPI nor UCX (pkg-config: verity-tree). XXH3 finds faults, not forgeries.
 *
 * A leaf is the 64-bit XXH3 of a segment, the last segment may be short, zero bytes are one empty
 * leaf. Inner nodes have up to 32 children; src/wire/PROTOCOL.md of this project defines their
 * digests. Level 0 holds the leaves, level_count - 1 the root.
 *
 * A tree is used by one thread at a time; functions that take it as const may run on several at
 * once. Functions return 0, or EINVAL or ENOMEM of <errno.h>, and set their outputs only when they
 * return 0.
 */
#ifndef UCX_VERITY_TREE_H
#define UCX_VERITY_TREE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct verity_tree verity_tree;

/* Hashes `length` bytes at `data` in segments of `segment_size` bytes (a power of two from 256 to
 * 65536). The tree keeps no reference to the bytes. EINVAL: the segment size, or a null pointer.
 * The caller frees the tree. */
int verity_tree_build(const void* data, uint64_t length, uint32_t segment_size, verity_tree** tree);
/* NULL is allowed. */
void verity_tree_free(verity_tree* tree);

uint64_t verity_tree_root(const verity_tree* tree);
uint64_t verity_tree_leaf_count(const verity_tree* tree);
unsigned verity_tree_level_count(const verity_tree* tree);
/* Nodes of a level; 0 for a level that the tree does not have. */
uint64_t verity_tree_level_size(const verity_tree* tree, unsigned level);
/* Digest of a node. EINVAL: there is no such node. */
int verity_tree_node(const verity_tree* tree, unsigned level, uint64_t index, uint64_t* digest);

/* What proves leaf `leaf` to be a part of a root: for each level from 0 to level_count - 2 the
 * digests of all children of the node above it, the leaf's own among them, one level after the
 * other. `capacity`: digests that `digests` has room for; *count is the number that there are, and
 * is set also with EINVAL when they are more (and nothing is written). */
int verity_tree_path(const verity_tree* tree, uint64_t leaf, uint64_t* digests, size_t capacity,
                     size_t* count);
/* Whether such a path leads from `digest`, of leaf `leaf` of a buffer of `length` bytes, to `root`:
 * 1 or 0. */
int verity_tree_check_path(uint64_t length, uint32_t segment_size, uint64_t leaf, uint64_t digest,
                           const uint64_t* digests, size_t count, uint64_t root);

/* Leaves in which two trees of the same length and segment size differ, in ascending order, looking
 * only into subtrees that differ. *count is how many there are; at most `capacity` are written to
 * `leaves`. EINVAL: unlike lengths or segment sizes. */
int verity_tree_diff(const verity_tree* tree, const verity_tree* other, uint64_t* leaves,
                     size_t capacity, size_t* count);

/* The bytes [offset, offset + length) of the buffer have changed: hashes the segments that hold
 * them again, and their paths. `data` is the whole buffer, as long as it was. EINVAL: outside of
 * it. */
int verity_tree_update(verity_tree* tree, const void* data, uint64_t offset, uint64_t length);

#ifdef __cplusplus
}
#endif

#endif
