/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What automap maps, as a C header that is C++ too. */
#ifndef TEST_AUTOMAP_SHAPES_H
#define TEST_AUTOMAP_SHAPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

enum kind { KIND_INT, KIND_DOUBLE, KIND_NODE };
enum signed_kind { BELOW = -1, ABOVE = 1 };
typedef double vec3[3];
typedef uint16_t port;

struct basics {
  char c;
  signed char sc;
  unsigned char uc;
  short s;
  unsigned short us;
  int i;
  unsigned u;
  long l;
  unsigned long ul;
  long long ll;
  unsigned long long ull;
  float f;
  double d;
  long double ld;
  bool b;
  wchar_t w;
  int8_t i8;
  int16_t i16;
  int32_t i32;
  int64_t i64;
  uint8_t u8;
  port u16;
  uint32_t u32;
  uint64_t u64;
  size_t size;
  ptrdiff_t difference;
  enum kind kind;
  enum signed_kind signed_kind;
};

struct cell {
  struct inner {
    int32_t id;
    short s[2][3];
  } in;
  vec3 pos;
  vec3 moments[2];
};

/* What a typedef names, an array of unnamed structs, one within another. */
typedef struct {
  char name[13];
  struct cell cells[2][2];
  struct {
    float a;
    struct {
      char deep;
      double d;
    } b[2];
  } pair[4];
} box;

/* Directives behind each other on a line. */
struct dense { struct { int t; union { char c[8]; /*~ AM when = 0 */ double d; /*~ AM when = 1 */ } u; /*~ AM tag = t */ } a[2]; };

struct __attribute__((packed)) wire {
  uint8_t version;
  uint32_t length;
  uint64_t checksums[3];
};

/*~ AM bytes */
struct flags {
  unsigned valid : 1;
  unsigned dirty : 1;
  unsigned level : 6;
};

/*~ AM ignore */
struct not_mapped {
  void (*call)(void);
};

struct holder {
  struct flags flags;
  union {
    int i;
    double d;
  } either; /*~ AM bytes */
  struct not_mapped hooks; /*~ AM ignore */
  void* cache; /*~ AM ignore */
  int last;
};

struct node {
  struct node *left, *right; /*~ AM owned */
  /*~ AM reference */
  struct node* parent;
  struct node* child[2][3]; /*~ AM owned */
  int n;
  double* values;       /*~ AM owned, count = n */
  const char* label;    /*~ AM string */
  struct node** others; /*~ AM reference, count = n */
  enum kind kind;
  union value {
    int i;              /*~ AM when = KIND_INT */
    double d;           /*~ AM when = KIND_DOUBLE */
    struct node* node;  /*~ AM when = KIND_NODE | 7, owned */
  } u; /*~ AM tag = kind */
  unsigned char which;
  union {
    long first;         /*~ AM when = 1 */
    struct pair* pair;  /*~ AM when = 2, owned, count = 2 */
  }; /*~ AM tag = which */
  struct {
    struct node* x; /*~ AM owned */
  } wrap[2];
};

struct pair {
  struct node *first, *second; /*~ AM reference */
  //~ AM ignore
  struct node* scratch;
};

#endif
