/* SPDX-License-Identifier: BSD-3-Clause
 *
 * libverity_autolink: linked structures (lists, trees, graphs with shared nodes and cycles, arrays
 * of pointers, pointers into arrays and elements) as a sequence of messages, and back. Which
 * pointers there are and where they lead comes from a schema that `verity-types automap` generates
 * from the program's headers. Needs neither MPI nor UCX (pkg-config: verity-autolink);
 * ucx-verity/autolink_mpi.h sends structures over MPI, ucx-verity/autolink_ucp.h over UCX.
 *
 * All that owned pointers reach from the root is sent, each element once. References lead to such
 * elements, or become null. Pointers that the schema leaves out become null, except in unions and
 * in what is mapped as bytes. Elements travel as they lie in memory: peers whose schemas have
 * another hash (another compiler, another processor, other headers) are refused.
 *
 * Functions return 0 or a number of <errno.h>: EINVAL (arguments, or a structure that cannot be
 * sent), EPROTO (a message is damaged, foreign or does not fit), ENOMEM, EIO (files).
 * verity_autolink_error() has the reason in words. Outputs are set only with 0. An object is used
 * by one thread at a time; different ones by any.
 */
#ifndef UCX_VERITY_AUTOLINK_H
#define UCX_VERITY_AUTOLINK_H

#include <stddef.h>
#include <stdint.h>

#include "ucx-verity/automap.h"

#ifdef __cplusplus
extern "C" {
#endif

struct verity_autolink_options {
  uint64_t packet_bytes; /* of the elements in one packet, at least one element; 0: 65536 */
  uint64_t most_bytes;   /* receivers refuse structures of more bytes; 0: as many as fit the address
                            space */
};

/* What is the same in all calls over MPI (autolink_mpi.h) and UCX (autolink_ucp.h). `options` may
 * be NULL. */
struct verity_autolink_type {
  const verity_automap_schema* schema;
  int type; /* of the root, its number in the schema */
  const struct verity_autolink_options* options;
};

/* Why the last call of this thread failed; "" when it did not. Valid until the next one. */
const char* verity_autolink_error(void);

/* ---- a structure that was received ---- */

/* The elements of a received structure belong to it, and are freed together. */
typedef struct verity_autolink_structure verity_autolink_structure;
/* The first element at the root; NULL when a null pointer was sent, and of a NULL structure. Until
 * the structure is freed. */
void* verity_autolink_root(const verity_autolink_structure* structure);
/* Elements at the root; of a NULL structure 0. */
uint64_t verity_autolink_root_count(const verity_autolink_structure* structure);
/* NULL is allowed. */
void verity_autolink_free(verity_autolink_structure* structure);

/* ---- over any channel: aggregate at one side, expand at the other ---- */

typedef struct verity_autolink_source verity_autolink_source;
/* Prepares `count` elements of type `type` (its number in the schema) at `root`, and all that they
 * lead to. `options` may be NULL. The structure must not change until the source is freed. */
int verity_autolink_aggregate(const verity_automap_schema* schema, int type, const void* root,
                              uint64_t count, const struct verity_autolink_options* options,
                              verity_autolink_source** source);
/* The next message: *data is NULL after the last one. Until the next call. The first one must be
 * expanded first, the others in any order. */
int verity_autolink_next(verity_autolink_source* source, const void** data, size_t* size);
/* Bytes of all messages, but for places inside of elements. */
uint64_t verity_autolink_bytes(const verity_autolink_source* source);
void verity_autolink_source_free(verity_autolink_source* source);

typedef struct verity_autolink_sink verity_autolink_sink;
int verity_autolink_expand(const verity_automap_schema* schema, int type,
                           const struct verity_autolink_options* options,
                           verity_autolink_sink** sink);
/* Takes one message, which is copied. *is_complete becomes 1 when nothing is missing any more, else
 * 0. A message that is refused (EPROTO) changes nothing: it may be sent again. */
int verity_autolink_feed(verity_autolink_sink* sink, const void* data, size_t size,
                         int* is_complete);
/* The complete structure, once; EINVAL before that. EPROTO: a link leads nowhere. */
int verity_autolink_take(verity_autolink_sink* sink, verity_autolink_structure** structure);
void verity_autolink_sink_free(verity_autolink_sink* sink);

/* ---- memory and files ---- */

/* All messages in one block of memory, which the caller frees with free(). */
int verity_autolink_pack(const verity_automap_schema* schema, int type, const void* root,
                         uint64_t count, const struct verity_autolink_options* options, void** data,
                         size_t* size);
int verity_autolink_unpack(const verity_automap_schema* schema, int type, const void* data,
                           size_t size, const struct verity_autolink_options* options,
                           verity_autolink_structure** structure);
/* The same to a file, which is replaced, and from it. */
int verity_autolink_save(const verity_automap_schema* schema, int type, const void* root,
                         uint64_t count, const struct verity_autolink_options* options,
                         const char* path);
int verity_autolink_load(const verity_automap_schema* schema, int type, const char* path,
                         const struct verity_autolink_options* options,
                         verity_autolink_structure** structure);

#ifdef __cplusplus
}
#endif

#endif
