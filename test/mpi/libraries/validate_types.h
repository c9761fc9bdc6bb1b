/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the parts of the program `validate` share.
 */
#ifndef VERITY_TEST_MPI_LIBRARIES_VALIDATE_TYPES_H
#define VERITY_TEST_MPI_LIBRARIES_VALIDATE_TYPES_H

#include <stddef.h>

enum { kTag = 5 };

extern int rank;

void expect(int is_right, const char* what);
/* Byte `i` of the data that rank `owner` has. */
unsigned char right_byte(size_t i, int owner);

/* The mode of that name. */
void types(void);

#endif
