/* SPDX-License-Identifier: BSD-3-Clause
 *
 * libverity_autolink_ucp: linked structures over UCX's active messages, between workers of programs
 * that use UCP themselves (pkg-config: verity-autolink-ucp), with libverity_autolink (autolink.h),
 * which has the schema's and structures' rules. Where there is no <ucp/api/ucp.h>, this header
 * declares nothing and VERITY_AUTOLINK_UCP is 0.
 *
 * A channel takes one active message number of a worker, whose context was made with
 * UCP_FEATURE_AM; both sides use the same number. A send is offered to the peer, and its packets
 * leave when a receive has accepted it: it ends when the peer has the whole structure or has
 * refused it, so that a peer never holds more than offers for which there is no receive. Two
 * processes that both block in a send to the other wait for ever: use the calls that do not block.
 *
 * Functions return 0 or a number of <errno.h>: EINVAL (arguments, or a structure that cannot be
 * sent), EPROTO (a message was damaged, foreign or did not fit; at the sender: the peer refused the
 * structure), ENOMEM, ENOBUFS (too many sends wait at the peer), ECANCELED, EIO (a call of UCX
 * failed). verity_autolink_ucp_error() has the reason in words.
 *
 * Messages that belong to nothing that is under way are ignored and counted. Damage that UCX did
 * not see is found, and ends the receive and the send with EPROTO; nothing is sent again here: that
 * is what the verified transports of UCX-Verity are for.
 *
 * Threads: a worker, its channel and their requests are used by one thread at a time. All calls
 * that wait or test progress the worker.
 */
#ifndef UCX_VERITY_AUTOLINK_UCP_H
#define UCX_VERITY_AUTOLINK_UCP_H

#if defined(__has_include)
#if __has_include(<ucp/api/ucp.h>)
#define VERITY_AUTOLINK_UCP 1
#endif
#endif
#ifndef VERITY_AUTOLINK_UCP
#define VERITY_AUTOLINK_UCP 0
#endif

#if VERITY_AUTOLINK_UCP
#include <ucp/api/ucp.h>

#include "ucx-verity/autolink.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct verity_autolink_ucp verity_autolink_ucp;
/* Sets the worker's handler of active messages `am_id`. */
int verity_autolink_ucp_open(ucp_worker_h worker, unsigned am_id, verity_autolink_ucp** channel);
/* Takes the handler away. When all requests have ended, and before the worker is destroyed. NULL is
 * allowed. */
void verity_autolink_ucp_close(verity_autolink_ucp* channel);
/* Why the last call or request of this channel failed; "" when none has. Until the next call. */
const char* verity_autolink_ucp_error(const verity_autolink_ucp* channel);
/* Messages of this number that were ignored or refused. */
uint64_t verity_autolink_ucp_refused(const verity_autolink_ucp* channel);

/* `count` elements at `root`, which may be NULL with a count of 0, through an endpoint of the
 * channel's worker, which must not be closed before the call has ended. A receive with the same tag
 * takes them. */
int verity_autolink_ucp_send(verity_autolink_ucp* channel, const struct verity_autolink_type* type,
                             const void* root, uint64_t count, ucp_ep_h ep, uint64_t tag);
/* From whoever sends with this tag. The structure is freed with verity_autolink_free(). */
int verity_autolink_ucp_recv(verity_autolink_ucp* channel, const struct verity_autolink_type* type,
                             uint64_t tag, verity_autolink_structure** structure);

/* Without blocking. The structure must not change, and `structure` stays in use, until a test or
 * wait has set *request to NULL. Sends of one process with one tag are taken in the order in which
 * they were started, receives too. */
typedef struct verity_autolink_ucp_request verity_autolink_ucp_request;
int verity_autolink_ucp_isend(verity_autolink_ucp* channel, const struct verity_autolink_type* type,
                              const void* root, uint64_t count, ucp_ep_h ep, uint64_t tag,
                              verity_autolink_ucp_request** request);
int verity_autolink_ucp_irecv(verity_autolink_ucp* channel, const struct verity_autolink_type* type,
                              uint64_t tag, verity_autolink_structure** structure,
                              verity_autolink_ucp_request** request);
/* *flag becomes 1 when the request has ended, else 0. Returns how it ended. */
int verity_autolink_ucp_test(verity_autolink_ucp_request** request, int* flag);
int verity_autolink_ucp_wait(verity_autolink_ucp_request** request);
/* Ends it with ECANCELED at this side, as soon as UCX lets go of its memory, and at the other side
 * where that takes part already: it is to be tested or waited for all the same. */
void verity_autolink_ucp_cancel(verity_autolink_ucp_request* request);

#ifdef __cplusplus
}
#endif
#endif

#endif
