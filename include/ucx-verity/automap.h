/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the headers that `verity-types automap` generates are made of: signatures, fields, and links
 * from element to element. Needs neither MPI nor UCX nor a library. C11 and C++17.
 */
#ifndef UCX_VERITY_AUTOMAP_H
#define UCX_VERITY_AUTOMAP_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define VERITY_AUTOMAP_ASSERT(condition, words) static_assert(condition, words)
#define VERITY_AUTOMAP_CONSTANT inline constexpr
#define VERITY_AUTOMAP_FUNCTION inline
#define VERITY_AUTOMAP_NONE nullptr
#else
#define VERITY_AUTOMAP_ASSERT(condition, words) _Static_assert(condition, words)
#define VERITY_AUTOMAP_CONSTANT static const
#define VERITY_AUTOMAP_FUNCTION static inline
#define VERITY_AUTOMAP_NONE NULL
#endif

/* Of the sequence of basic types of one element, as its MPI datatype has it. The hashes are those
 * that `verity-types sig of` prints. */
typedef struct verity_automap_signature {
  uint64_t elements;    /* number of basic types */
  uint64_t layout_hash; /* of their order, by class and size */
  uint64_t names_hash;  /* by name and size */
} verity_automap_signature;

typedef struct verity_automap_field {
  const char* name; /* as C names it within the type; "" where it has no name */
  const char* type; /* "MPI_DOUBLE", "struct vector", or "link" for a pointer */
  int number;       /* of the type in the schema; -1 for a basic type or a link */
  size_t offset;    /* bytes from the beginning of the element */
  size_t size;      /* bytes of one */
  uint64_t copies;  /* elements of an array, all dimensions together; 1 otherwise */
} verity_automap_field;

/* What a pointer is by its directive. */
enum {
  VERITY_AUTOMAP_OWNED = 0, /* the target belongs to the structure */
  VERITY_AUTOMAP_REFERENCE =
      1, /* the target belongs to the structure by another, owned pointer, or not at all */
  VERITY_AUTOMAP_STRING = 2 /* characters that end with a zero */
};

/* One pointer of an element. */
typedef struct verity_automap_link {
  int kind;           /* VERITY_AUTOMAP_OWNED ... */
  int type;           /* number in the schema of what it points to */
  int levels;         /* 1; 2: it points to `count` pointers to such elements */
  uint64_t count;     /* elements there, from the directive count = (negative values are 0); 0 for a
                         string */
  uint64_t number;    /* of the pointer in the element, from 0: for set_link */
  size_t offset;      /* of the pointer in the element, in bytes */
  const void* target; /* its value: nothing looks at what is there, it may be any number */
} verity_automap_link;

/* Returns 0 to go on. */
typedef int (*verity_automap_visitor)(void* context, const verity_automap_link* link);

/* Functions of a type with links. `first` and `offset` are added to the number and offset of each
 * link (0 for a whole element). */
typedef int (*verity_automap_links)(const void* element, uint64_t first, size_t offset,
                                    verity_automap_visitor visit, void* context);
typedef int (*verity_automap_set_link)(void* element, uint64_t link, void* target);

typedef struct verity_automap_type {
  const char* name;
  size_t size;                        /* bytes */
  size_t alignment;                   /* bytes */
  verity_automap_signature values;    /* without links */
  verity_automap_signature linked;    /* each link as MPI_UINT64_T */
  const verity_automap_field* fields; /* null for a basic type */
  uint64_t field_count;
  uint64_t link_count;        /* pointers in one element */
  verity_automap_links links; /* null when it has none */
  verity_automap_set_link set_link;
} verity_automap_type;

typedef struct verity_automap_schema {
  uint64_t hash; /* equal hashes: elements are laid out alike, and links lead to the same types */
  uint64_t count;
  const verity_automap_type* types;
} verity_automap_schema;

/* ---- for generated code ---- */

VERITY_AUTOMAP_FUNCTION uint64_t verity_automap_count(int64_t value) {
  return value > 0 ? (uint64_t)value : 0;
}

VERITY_AUTOMAP_FUNCTION int verity_automap_visit_link(verity_automap_visitor visit, void* context,
                                                      int kind, int type, int levels,
                                                      uint64_t count, uint64_t number,
                                                      size_t offset, const void* target) {
  verity_automap_link link;
  link.kind = kind;
  link.type = type;
  link.levels = levels;
  link.count = count;
  link.number = number;
  link.offset = offset;
  link.target = target;
  return visit(context, &link);
}

#endif
