/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef VERITY_TEST_EXAMPLES_AUTOMAP_AUTOTOOLS_PARTICLES_H
#define VERITY_TEST_EXAMPLES_AUTOMAP_AUTOTOOLS_PARTICLES_H

enum { PARTICLES_NAME = 12 };

struct vector {
  double x, y, z;
};

struct particle {
  int id;
  char name[PARTICLES_NAME];
  struct vector position;
  struct vector velocity;
  struct particle* nearest; /*~ AM ignore */
};

#endif
