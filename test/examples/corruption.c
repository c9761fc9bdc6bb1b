/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a Merkle tree saves when a few bytes of a large buffer are damaged: the simulation of the
 * Merkle-MPI paper with libverity_tree.
 *
 * A buffer is copied, bits of the copy are flipped, the trees of both are compared, and the
 * segments that differ are copied again. For each segment size: how many bytes of digests are
 * compared (from the root down, only where they differ), and how many bytes of data are sent again,
 * as parts of the buffer.
 *
 *   cc -o corruption corruption.c $(pkg-config --cflags --libs verity-tree)
 *   ./corruption [MIB [FLIPS [SEED]]]
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucx-verity/tree.h>

enum { kChildren = 32 };

static uint64_t state = 1;
static uint64_t next_random(void) { /* splitmix64 */
  uint64_t z = state += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

static void fail(const char* what) {
  fprintf(stderr, "corruption: %s\n", what);
  exit(1);
}

static verity_tree* build(const void* data, uint64_t length, uint32_t segment) {
  verity_tree* tree = NULL;
  if (verity_tree_build(data, length, segment, &tree) != 0) fail("no tree");
  return tree;
}

static uint64_t node(const verity_tree* tree, unsigned level, uint64_t index) {
  uint64_t digest = 0;
  if (verity_tree_node(tree, level, index, &digest) != 0) fail("no such node");
  return digest;
}

/* Digests that two peers compare who descend into the children of each node that differs. */
static uint64_t digests_compared(const verity_tree* a, const verity_tree* b, unsigned level,
                                 uint64_t index) {
  if (node(a, level, index) == node(b, level, index) || level == 0) return 1;
  const uint64_t first = index * kChildren, all = verity_tree_level_size(a, level - 1);
  uint64_t sum = 1;
  for (uint64_t i = first; i < all && i < first + kChildren; ++i)
    sum += digests_compared(a, b, level - 1, i);
  return sum;
}

static void repair(unsigned char* copy, const unsigned char* right, uint64_t length,
                   uint32_t segment, uint64_t flips) {
  verity_tree* wanted = build(right, length, segment);
  verity_tree* found = build(copy, length, segment);
  const uint64_t digests = digests_compared(wanted, found, verity_tree_level_count(wanted) - 1, 0);
  uint64_t* leaves = malloc((flips + 1) * sizeof(*leaves));
  size_t damaged = 0;
  uint64_t bytes = 0;
  if (leaves == NULL || verity_tree_diff(wanted, found, leaves, flips, &damaged) != 0)
    fail("the trees cannot be compared");
  for (size_t i = 0; i < damaged; ++i) {
    const uint64_t begin = leaves[i] * segment,
                   end = begin + segment < length ? begin + segment : length;
    memcpy(copy + begin, right + begin, end - begin);
    if (verity_tree_update(found, copy, begin, end - begin) != 0)
      fail("the tree cannot be updated");
    bytes += end - begin;
  }
  if (verity_tree_root(found) != verity_tree_root(wanted) || memcmp(copy, right, length) != 0)
    fail("the copy is still wrong");
  printf("%8" PRIu32 " %9zu %12" PRIu64 " %12" PRIu64 "   1/%.0f\n", segment, damaged, digests * 8,
         bytes, bytes == 0 ? 0.0 : (double)length / (double)(bytes + digests * 8));
  free(leaves);
  verity_tree_free(found);
  verity_tree_free(wanted);
}

int main(int argc, char** argv) {
  const uint64_t length = (uint64_t)((argc > 1 ? atof(argv[1]) : 64) * 1048576) + 1000;
  const uint64_t flips = argc > 2 ? strtoull(argv[2], NULL, 10) : 100;
  if (argc > 3) state = strtoull(argv[3], NULL, 10);
  unsigned char *right = malloc(length), *copy = malloc(length);
  uint64_t* places = malloc((flips + 1) * sizeof(*places));
  if (right == NULL || copy == NULL || places == NULL) fail("no memory");
  for (uint64_t i = 0; i < length; ++i)
    right[i] = (unsigned char)(i % 8 == 0 ? next_random() : right[i - 1] * 5u + 1u);
  for (uint64_t i = 0; i < flips; ++i) places[i] = next_random() % (length * 8);

  printf("%" PRIu64 " bytes, %" PRIu64 " bits flipped\n", length, flips);
  printf(" segment   damaged      digests   sent again   of the buffer\n");
  for (uint32_t segment = 256; segment <= 65536; segment *= 4) {
    memcpy(copy, right, length);
    for (uint64_t i = 0; i < flips; ++i)
      copy[places[i] / 8] ^= (unsigned char)(1u << places[i] % 8);
    repair(copy, right, length, segment, flips);
  }
  free(places);
  free(copy);
  free(right);
  return 0;
}
