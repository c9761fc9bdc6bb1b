/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What automap refuses: the test looks for a line about each, by its number. */
#include <complex.h>
struct bits { int a; unsigned flag : 1; };
struct pointer { int* p; };
struct callback { void (*call)(int); };
struct flexible { int n; int tail[]; };
struct old_flexible { int n; int tail[0]; };
struct either { union { int i; float f; } u; };
struct wide { __int128 x; };
struct opaque_target { struct opaque* p; /*~ AM owned */ };
struct contains { struct bits b; };
struct no_count { int* p; /*~ AM owned, count = n */ };
struct misspelt { int* p; /*~ AM ownde */ };
struct frozen { int* const p; /*~ AM owned */ };
struct nothing { };
struct vector { float v __attribute__((vector_size(16))); };
struct good { int i; };
