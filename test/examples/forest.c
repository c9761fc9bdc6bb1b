/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Decision trees that are trained by several ranks, exchanged, compared and merged:
 * libverity_autolink.
 *
 * Each rank trains a tree with samples of its own; two neighbours have the same samples. All ranks
 * get all trees, and compare the equal ones. Then the trees become one forest at rank 0: trees that
 * are equal are merged into one with more votes.
 *
 *   verity-types automap forest.h              # writes forest_automap.h
 *   mpicc -o forest forest.c $(pkg-config --cflags --libs verity-autolink-openmpi)      # or -mpich
 *   mpirun -np 4 ./forest [SAMPLES]
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucx-verity/autolink_mpi.h>

#include "forest_automap.h"

enum { kFeatures = 3, kMostDepth = 8, kFewest = 8, kTests = 4000 };

struct sample {
  double x[kFeatures];
  int label;
};

static const struct verity_autolink_type tree_type = {&forest_schema, forest_number_tree, NULL};

static void* allocate(size_t count, size_t size) {
  void* memory = calloc(count, size);
  if (memory == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  return memory;
}
static void check(int code, const char* what) {
  if (code == MPI_SUCCESS) return;
  fprintf(stderr, "%s: %s\n", what, verity_autolink_error());
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/* From 0 to 1, the same on every machine. */
static double uniform(uint64_t* state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (double)(*state >> 11) / (double)(UINT64_C(1) << 53);
}

/* Points of a checkerboard and a third, useless, value; one label in `noise` is wrong (0: none). */
static struct sample* make_samples(int count, uint64_t seed, int noise) {
  struct sample* all = allocate((size_t)count, sizeof(*all));
  for (int i = 0; i < count; ++i) {
    for (int f = 0; f < kFeatures; ++f) all[i].x[f] = uniform(&seed);
    all[i].label = ((int)(all[i].x[0] * 3) + (int)(all[i].x[1] * 3)) % 2;
    if (noise != 0 && uniform(&seed) * noise < 1) all[i].label ^= 1;
  }
  return all;
}

/* ---- training ---- */

static double impurity(double ones, double count) {
  return count == 0 ? 0 : ones * (count - ones) / count;
}

static int by_feature; /* of the comparison */
static int compare_samples(const void* a, const void* b) {
  const double x = ((const struct sample*)a)->x[by_feature],
               y = ((const struct sample*)b)->x[by_feature];
  return (x > y) - (x < y);
}

/* The split that leaves the purest halves; sorts the samples by its feature. Returns how many go to
 * the first child, 0 when nothing is gained. */
static int best_split(struct sample* all, int count, int ones, struct split* split) {
  double best = impurity(ones, count) - 1e-9;
  int place = 0;
  for (by_feature = 0; by_feature < kFeatures; ++by_feature) {
    int left = 0;
    qsort(all, (size_t)count, sizeof(*all), compare_samples);
    for (int i = 1; i < count; ++i) {
      left += all[i - 1].label;
      const double sum = impurity(left, i) + impurity(ones - left, count - i);
      if (sum >= best || all[i - 1].x[by_feature] == all[i].x[by_feature]) continue;
      best = sum;
      place = i;
      split->feature = by_feature;
      split->threshold = all[i].x[by_feature];
    }
  }
  by_feature = split->feature;
  if (place != 0) qsort(all, (size_t)count, sizeof(*all), compare_samples);
  return place;
}

static struct split* train(struct sample* all, int count, int depth, int32_t* splits) {
  struct split* made = allocate(1, sizeof(*made));
  int ones = 0;
  for (int i = 0; i < count; ++i) ones += all[i].label;
  made->label = 2 * ones > count;
  made->feature = -1;
  ++*splits;
  if (depth == kMostDepth || count < kFewest || ones == 0 || ones == count) return made;
  const int left = best_split(all, count, ones, made);
  if (left == 0) return made;
  made->child[0] = train(all, left, depth + 1, splits);
  made->child[1] = train(all + left, count - left, depth + 1, splits);
  return made;
}

static int classify(const struct split* s, const struct sample* sample) {
  while (s->feature >= 0) s = s->child[sample->x[s->feature] >= s->threshold];
  return s->label;
}

/* Percent of the samples that the trees' votes classify as they are. */
static double accuracy(const struct tree* forest, int is_alone, const struct sample* tests) {
  int right = 0;
  for (int i = 0; i < kTests; ++i) {
    int votes = 0;
    for (const struct tree* t = forest; t != NULL; t = is_alone ? NULL : t->next) {
      votes += classify(t->root, &tests[i]) ? t->weight : -t->weight;
    }
    right += (votes > 0) == tests[i].label;
  }
  return 100.0 * right / kTests;
}

/* ---- comparing and merging ---- */

static int are_equal(const struct split* a, const struct split* b) {
  if (a == NULL || b == NULL) return a == b;
  return a->feature == b->feature && a->label == b->label && a->threshold == b->threshold &&
         are_equal(a->child[0], b->child[0]) && are_equal(a->child[1], b->child[1]);
}

static struct split* copy_of(const struct split* s) {
  if (s == NULL) return NULL;
  struct split* made = allocate(1, sizeof(*made));
  *made = *s;
  for (int side = 0; side < 2; ++side) made->child[side] = copy_of(s->child[side]);
  return made;
}

/* Adds their trees, which go when this returns, to ours. */
static void* merge(void* mine, const void* theirs, void* context) {
  (void)context;
  for (const struct tree* t = theirs; t != NULL; t = t->next) {
    struct tree* same = mine;
    while (!are_equal(same->root, t->root) && same->next != NULL) same = same->next;
    if (are_equal(same->root, t->root)) {
      same->weight += t->weight;
      continue;
    }
    same->next = allocate(1, sizeof(*same));
    *same->next = (struct tree){copy_of(t->root), t->weight, t->splits, NULL};
  }
  return mine;
}

static void release_splits(struct split* s) {
  if (s == NULL) return;
  for (int side = 0; side < 2; ++side) release_splits(s->child[side]);
  free(s);
}
static void release(struct tree* forest) {
  while (forest != NULL) {
    struct tree* next = forest->next;
    release_splits(forest->root);
    free(forest);
    forest = next;
  }
}

int main(int argc, char** argv) {
  int rank, ranks;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int count = argc > 1 && atoi(argv[1]) > 0 ? atoi(argv[1]) : 600;
  struct sample* samples = make_samples(count, (uint64_t)(rank / 2 + 1) * 1000, 5);
  struct sample* tests = make_samples(kTests, 7, 0);
  struct tree* mine = allocate(1, sizeof(*mine));
  mine->weight = 1;
  mine->root = train(samples, count, 0, &mine->splits);

  /* All trees to all ranks. */
  verity_autolink_structure** all = allocate((size_t)ranks, sizeof(*all));
  check(verity_autolink_allgather(&tree_type, mine, 1, MPI_COMM_WORLD, all), "allgather");
  int wrong = !are_equal(((const struct tree*)verity_autolink_root(all[rank]))->root, mine->root),
      total = 0;
  double least = 100, most = 0;
  for (int i = 0; i < ranks; ++i) {
    const struct tree* t = verity_autolink_root(all[i]);
    const struct tree* neighbour = verity_autolink_root(all[(i ^ 1) < ranks ? i ^ 1 : i]);
    const double alone = accuracy(t, 1, tests);
    wrong += !are_equal(t->root, neighbour->root);
    total += t->splits;
    least = alone < least ? alone : least;
    most = alone > most ? alone : most;
  }
  for (int i = 0; i < ranks; ++i) verity_autolink_free(all[i]);
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);

  /* One forest at rank 0. */
  void* forest = NULL;
  check(verity_autolink_reduce(&tree_type, mine, merge, NULL, 0, MPI_COMM_WORLD, &forest),
        "reduce");
  if (rank == 0) {
    int trees = 0, votes = 0;
    for (const struct tree* t = forest; t != NULL; t = t->next) ++trees, votes += t->weight;
    printf("%d trees of %d splits and leaves were exchanged: %d differ from what they should be\n",
           ranks, total, wrong);
    printf("the forest has %d different trees with %d votes\n", trees, votes);
    printf("right: trees alone %.1f%% to %.1f%%, the forest %.1f%%\n", least, most,
           accuracy(forest, 0, tests));
  }
  release(mine);
  free(all);
  free(samples);
  free(tests);
  MPI_Finalize();
  return wrong != 0;
}
