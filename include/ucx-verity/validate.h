/* SPDX-License-Identifier: BSD-3-Clause
 *
 * libverity_validate: comparing and repairing buffers that reached another process in some other
 * way than by verified messages: through files, copies between devices, unverified transports. Both
 * sides hash their buffer into a Merkle tree of XXH3; the trees are compared from the root, and
 * only segments that differ are sent again, all of them in one round (the calls of Merkle-MPI, with
 * segments sized by the caller and a protocol that survives damage to its own messages).
 *
 * One library for each MPI library's binary interface: libverity_validate_openmpi,
 * libverity_validate_mpich (pkg-config: verity-validate-openmpi, verity-validate-mpich). It needs
 * neither UCX nor the rest of this project.
 *
 * What is compared is the sequence of the data bytes in the order in which MPI packs them: both
 * sides may describe them with different datatypes. The sender's bytes are taken as right. The
 * padding of a long double (x86: 6 of 16 bytes) counts as zero, as MPI need not transfer it.
 * Buffers must be in host memory, and not be changed from the call to its end.
 *
 * Messages travel on the communicator and the tag of the call, which must carry nothing else
 * between these two processes meanwhile. Several validations between the same processes, in either
 * direction, may share one tag: the n-th send is matched with the n-th receive.
 *
 * Threads: as MPI's own calls; from several threads at once only after MPI_Init_thread with
 * MPI_THREAD_MULTIPLE. Every rank has to make progress in one of these calls until both sides have
 * ended. verity_validate_send(), _recv(), _test(), _wait() and _waitall() make progress on all
 * validations between two ranks, over all communicators; the collective functions do not.
 *
 * Damage to the messages of a validation costs a round, and both sides end. The receiver's last
 * message carries its contents three times; where all of them are damaged, the sender returns
 * MPI_ERR_OTHER although the buffers may be equal (of several validations with one tag, when the
 * others have ended). Where nothing in a message shows that it belongs to a validation, its
 * receiver returns MPI_ERR_TAG and the other side MPI_ERR_OTHER. After damage to messages, some may
 * be left on a tag that several validations shared, and after MPI_ERR_TAG on any. The lengths and
 * flags that the collective functions exchange are not protected.
 *
 * Errors. All functions return MPI_SUCCESS, or
 *   MPI_ERR_TRUNCATE  the two buffers have different numbers of bytes
 *   MPI_ERR_OTHER     still different after max_rounds rounds, or the other side gave up: too many
 *                     damaged messages, an error there
 *   MPI_ERR_TAG       another message came on this tag
 *   MPI_ERR_RANK      also for MPI_ANY_SOURCE and the own rank
 *   MPI_ERR_ROOT      no rank of the communicator
 *   MPI_ERR_COMM      no communicator; an intercommunicator in the collective functions
 *   MPI_ERR_COUNT     negative; too many bytes; elements of 2 GiB or more that have to be packed
 *   MPI_ERR_ARG, MPI_ERR_TYPE, MPI_ERR_NO_MEM
 *   or the error of an MPI call, for which the communicator's error handler has been called. They
 *   call no error handler themselves.
 */
#ifndef UCX_VERITY_VALIDATE_H
#define UCX_VERITY_VALIDATE_H

#include <mpi.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct verity_validate_options {
  uint32_t segment_size; /* bytes, a power of two from 256 to 65536; 0: 8192. The sender's (the
                            owner's) counts */
  uint32_t max_rounds;   /* rounds of repairs before giving up; 0: 8 */
};

struct verity_validation {
  uint64_t bytes;            /* of this rank's buffers that were compared */
  uint64_t segments;         /* they have */
  uint64_t damaged;          /* segments that differed here; at a sender: at the receiver */
  uint64_t bytes_sent_again; /* to this rank, or by it, to repair them */
  uint32_t rounds;           /* of repairs; 0: everything was right */
  uint32_t reserved;
};

typedef struct verity_validate_request verity_validate_request;

/* Compares `count` elements at `buf` with the receiver's, and repairs those. `options` may be NULL,
 * `result` too; *result is set when the validation has ended. Blocks until the receiver has ended.
 * MPI_PROC_NULL as `dest` does nothing. */
int verity_validate_send(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                         MPI_Comm comm, const struct verity_validate_options* options,
                         struct verity_validation* result);
/* The other side. MPI_ANY_SOURCE and MPI_ANY_TAG are not allowed. */
int verity_validate_recv(void* buf, MPI_Count count, MPI_Datatype datatype, int source, int tag,
                         MPI_Comm comm, const struct verity_validate_options* options,
                         struct verity_validation* result);

/* The same without blocking. The sender's tree is built in the call, the receiver's when the
 * sender's root has arrived. *request is the caller's until a test or wait has freed it and set it
 * to NULL; `buf` and `result` stay in use until then. */
int verity_validate_isend(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest,
                          int tag, MPI_Comm comm, const struct verity_validate_options* options,
                          struct verity_validation* result, verity_validate_request** request);
int verity_validate_irecv(void* buf, MPI_Count count, MPI_Datatype datatype, int source, int tag,
                          MPI_Comm comm, const struct verity_validate_options* options,
                          struct verity_validation* result, verity_validate_request** request);
/* Sets *flag to 1 when it has ended, else to 0. A NULL request has ended. Returns the error of the
 * validation, when it has ended. */
int verity_validate_test(verity_validate_request** request, int* flag);
int verity_validate_wait(verity_validate_request** request);
/* Waits for all, and returns the first of their errors. */
int verity_validate_waitall(int count, verity_validate_request* requests[]);

/* Collective: compares the buffers of all ranks with the root's, as after MPI_Bcast, and repairs
 * them. `comm` is no intercommunicator, here and below. */
int verity_validate_bcast(void* buf, MPI_Count count, MPI_Datatype datatype, int root,
                          MPI_Comm comm, const struct verity_validate_options* options,
                          struct verity_validation* result);
/* Collective: compares `recvbuf` as after MPI_Allgather, where block i (`count` elements of
 * `datatype` from element i * count on) is right at rank i, and repairs it everywhere else. With
 * the same arguments on all ranks. */
int verity_validate_allgather(void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Comm comm,
                              const struct verity_validate_options* options,
                              struct verity_validation* result);

#ifdef __cplusplus
}
#endif

#endif
