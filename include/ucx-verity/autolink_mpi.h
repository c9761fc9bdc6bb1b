/* SPDX-License-Identifier: BSD-3-Clause
 *
 * libverity_autolink_mpi: linked structures over MPI. One library for each MPI library's binary
 * interface (pkg-config: verity-autolink-openmpi, verity-autolink-mpich), with libverity_autolink
 * (autolink.h), which has the schema's and structures' rules.
 *
 * A structure travels as one initial message and packets, on the communicator and tag of the call.
 * Structures to one destination with one tag arrive in the order in which their sends were started,
 * and receives match in the order in which they were started, blocking ones and others, also with
 * MPI_ANY_SOURCE and MPI_ANY_TAG. Other messages of the program with the same tag must not come
 * between them. While several sends are under way, a structure may overtake one with another tag.
 * A receive that fails does not remove what is left of its structure. A send to MPI_PROC_NULL sends
 * nothing; a receive from it ends at once, with *structure NULL and the status that MPI_Recv has.
 *
 * Functions return MPI_SUCCESS, MPI_ERR_ARG, MPI_ERR_NO_MEM, MPI_ERR_TRUNCATE (the structure cannot
 * be sent, or what came is none: with verity_autolink_error()), or the error of an MPI call, for
 * which the communicator's error handler has been called. Threads: as MPI. `count` elements at
 * `root`; `root` may be NULL with a count of 0. Structures that are received are freed with
 * verity_autolink_free().
 */
#ifndef UCX_VERITY_AUTOLINK_MPI_H
#define UCX_VERITY_AUTOLINK_MPI_H

#include <mpi.h>

#include "ucx-verity/autolink.h"

#ifdef __cplusplus
extern "C" {
#endif

int verity_autolink_send(const struct verity_autolink_type* type, const void* root, uint64_t count,
                         int dest, int tag, MPI_Comm comm);
/* MPI_ANY_SOURCE and MPI_ANY_TAG are allowed; `status` may be MPI_STATUS_IGNORE, and has source and
 * tag. */
int verity_autolink_recv(const struct verity_autolink_type* type, int source, int tag,
                         MPI_Comm comm, MPI_Status* status, verity_autolink_structure** structure);

/* Without blocking. The structure must not change, and `structure` stays in use, until a test or
 * wait has set *request to NULL. Packets of all requests are sent and received during calls of
 * these functions and of the blocking ones above: while a request is under way, a program must not
 * wait for the peer by other means (MPI_Barrier(), the collective functions below). Requests whose
 * communicator is freed before their last packet has been sent or received end with MPI_ERR_COMM.
 */
typedef struct verity_autolink_request verity_autolink_request;
int verity_autolink_isend(const struct verity_autolink_type* type, const void* root, uint64_t count,
                          int dest, int tag, MPI_Comm comm, verity_autolink_request** request);
int verity_autolink_irecv(const struct verity_autolink_type* type, int source, int tag,
                          MPI_Comm comm, verity_autolink_structure** structure,
                          verity_autolink_request** request);
int verity_autolink_test(verity_autolink_request** request, int* flag);
int verity_autolink_wait(verity_autolink_request** request);

/* Collective. At the root *structure is NULL. */
int verity_autolink_bcast(const struct verity_autolink_type* type, const void* root, uint64_t count,
                          int from, MPI_Comm comm, verity_autolink_structure** structure);
/* `roots` and `counts`, of as many entries as ranks, matter at `from`. Each rank receives its own,
 * `from` too. */
int verity_autolink_scatter(const struct verity_autolink_type* type, const void* const roots[],
                            const uint64_t counts[], int from, MPI_Comm comm,
                            verity_autolink_structure** structure);
/* Each rank sends its own; `structures` has room for as many as ranks, and matters at `to`. */
int verity_autolink_gather(const struct verity_autolink_type* type, const void* root,
                           uint64_t count, int to, MPI_Comm comm,
                           verity_autolink_structure* structures[]);
int verity_autolink_allgather(const struct verity_autolink_type* type, const void* root,
                              uint64_t count, MPI_Comm comm,
                              verity_autolink_structure* structures[]);
/* Merges structures pairwise, in the order of the ranks, beginning with `to`: `merge` changes
 * `mine` so that it holds what both held, and returns its root (the same or another one). `theirs`
 * is valid during the call only: what is to stay must be copied. At `to` *result is the root of
 * all, elsewhere NULL; the roots that `merge` returns are the program's own. A null root takes part
 * as it is. A rank whose structure cannot be sent returns its error, and leaves those that wait for
 * it waiting. */
typedef void* (*verity_autolink_merge)(void* mine, const void* theirs, void* context);
int verity_autolink_reduce(const struct verity_autolink_type* type, void* root,
                           verity_autolink_merge merge, void* context, int to, MPI_Comm comm,
                           void** result);

#ifdef __cplusplus
}
#endif

#endif
