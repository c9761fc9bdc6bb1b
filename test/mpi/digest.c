/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Buffers that change while they are being sent, of every kind of datatype: what
 * UCX_VERITY_TYPECHECK_DIGEST=y with UCX_VERITY_TYPECHECK=error has to report, and what it must
 * not. With MPI_Pack the program itself compares what arrived with what was there at the send.
 *
 *   digest           rank 1 sends to rank 0; 'digest messages N changed N reported N wrong 0'
 *   digest scribble  one message of bytes, changed before its receive is posted
 *   digest shared    receives into one and the same buffer, as benchmarks have them: nothing may be
 *                    reported of those
 *   digest refused   sends from where no memory is, which MPI refuses; 'digest refused N of N'
 *
 * Messages have to be longer than UCX's eager ones (UCX_RNDV_THRESH): else they leave before they
 * are changed.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { kRoom = 1 << 19, kChanges = 6, kMost = 18, kWindow = 8 };

static char buffer[kRoom], packed[kRoom], before[kRoom];
static int rank, reported, messages, changed, wrong;

struct kind {
  const char* name;
  MPI_Datatype type;
};

static void on_error(MPI_Comm* comm, int* code, ...) {
  (void)comm;
  (void)code;
  ++reported;
}

static int make_kinds(struct kind* kinds) {
  int n = 0;
  const int lengths[3] = {2, 0, 3}, places[3] = {7, 40, 1}, sizes[2] = {9, 8}, parts[2] = {3, 5},
            starts[2] = {2, 1};
  const MPI_Aint bytes[3] = {48, 96, 4};
  const MPI_Datatype fields[3] = {MPI_DOUBLE, MPI_INT, MPI_CHAR};
  MPI_Datatype inner;
#define MAKE(words, call)            \
  do {                               \
    kinds[n].name = words;           \
    call;                            \
    MPI_Type_commit(&kinds[n].type); \
    ++n;                             \
  } while (0)
#define NEW &kinds[n].type
  MAKE("dup", MPI_Type_dup(MPI_INT, NEW));
  MAKE("contiguous", MPI_Type_contiguous(5, MPI_SHORT, NEW));
  MAKE("pairs", MPI_Type_contiguous(3, MPI_DOUBLE_INT, NEW));
  MAKE("short pairs", MPI_Type_contiguous(3, MPI_SHORT_INT, NEW));
  MAKE("vector", MPI_Type_vector(3, 2, 5, MPI_INT, NEW));
  MAKE("hvector", MPI_Type_create_hvector(3, 2, 13, MPI_SHORT, NEW));
  MAKE("indexed", MPI_Type_indexed(3, lengths, places, MPI_INT, NEW));
  MAKE("hindexed", MPI_Type_create_hindexed(3, lengths, bytes, MPI_SHORT, NEW));
  MAKE("indexed block", MPI_Type_create_indexed_block(3, 2, places, MPI_INT, NEW));
  MAKE("hindexed block", MPI_Type_create_hindexed_block(3, 2, bytes, MPI_INT, NEW));
  MAKE("struct", MPI_Type_create_struct(3, lengths, bytes, fields, NEW));
  MAKE("subarray", MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_C, MPI_INT, NEW));
  MAKE("fortran subarray",
       MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_FORTRAN, MPI_SHORT, NEW));
  MPI_Type_vector(2, 1, 3, MPI_INT, &inner);
  MAKE("resized", MPI_Type_create_resized(inner, -4, 28, NEW));
  MAKE("nested", MPI_Type_vector(2, 2, 3, inner, NEW));
  MPI_Type_free(&inner);
  MAKE("many pieces", MPI_Type_vector(100000, 1, 4, MPI_CHAR, NEW));
  MPI_Type_vector(1000, 1, 3, MPI_INT, &inner);
  const MPI_Aint columns[3] = {0, 40000, 4};
  const MPI_Datatype members[3] = {inner, MPI_DOUBLE, inner};
  MAKE("struct of vectors", MPI_Type_create_struct(3, (int[]){1, 2, 1}, columns, members, NEW));
  MPI_Type_free(&inner);
  return n;
}

/* As many copies as fill the middle of the buffer. */
static int copies_of(MPI_Datatype type) {
  MPI_Aint low, extent;
  MPI_Type_get_extent(type, &low, &extent);
  return (int)((kRoom - 2048) / extent);
}

static int pack(char* out, MPI_Datatype type, int count) {
  int length = 0;
  MPI_Pack(buffer + 1024, count, type, out, kRoom, &length, MPI_COMM_WORLD);
  return length;
}

static void fill(unsigned seed) {
  for (int i = 0; i < kRoom; ++i) buffer[i] = (char)((unsigned)i * 2654435761u >> 13 ^ seed);
}

/* Byte `place` changes while the message is on its way; -1: none does. */
static void one(const struct kind* kind, int place, unsigned seed) {
  const int count = copies_of(kind->type);
  MPI_Request request;
  if (rank == 1) {
    fill(seed);
    const int length = pack(packed, kind->type, count);
    MPI_Isend(buffer + 1024, count, kind->type, 0, 1, MPI_COMM_WORLD, &request);
    if (place >= 0) buffer[place] ^= 0x20;
    MPI_Send(packed, length, MPI_BYTE, 0, 2, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else if (rank == 0) {
    MPI_Status status;
    int length;
    MPI_Recv(before, kRoom, MPI_BYTE, 1, 2, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_BYTE, &length);
    memset(buffer, 0, kRoom);
    const int reported_before = reported;
    MPI_Recv(buffer + 1024, count, kind->type, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    const int differs =
        pack(packed, kind->type, count) != length || memcmp(packed, before, (size_t)length) != 0;
    ++messages;
    changed += differs;
    if ((reported != reported_before) == differs) return;
    ++wrong;
    fprintf(stderr, "digest: %s, byte %d: %s\n", kind->name, place,
            differs ? "not reported" : "reported, but the data are right");
  }
}

/* Open MPI says that its extent is 20 bytes, and packs one each 8 of them, or receives into other
 * places than it packs from. Nothing may be reported of such a type. */
static void with_empty_member(void) {
  MPI_Datatype empty, type;
  const int reported_before = reported;
  MPI_Type_contiguous(0, MPI_INT, &empty);
  MPI_Type_create_struct(2, (int[]){2, 1}, (MPI_Aint[]){0, 20}, (MPI_Datatype[]){MPI_INT, empty},
                         &type);
  MPI_Type_commit(&type);
  fill(3u);
  if (rank == 1) MPI_Send(buffer + 1024, copies_of(type), type, 0, 1, MPI_COMM_WORLD);
  if (rank == 0)
    MPI_Recv(buffer + 1024, copies_of(type), type, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (reported != reported_before) {
    ++wrong;
    fprintf(stderr, "digest: a struct with an empty member: reported\n");
  }
  MPI_Type_free(&type);
  MPI_Type_free(&empty);
}

static void each_kind(void) {
  struct kind kinds[kMost];
  const int n = make_kinds(kinds);
  for (int k = 0; k < n; ++k) {
    one(&kinds[k], -1, 3u);
    for (unsigned i = 0; i < kChanges; ++i)
      one(&kinds[k], (int)(1024 + (i * 7919u + (unsigned)k * 31u) % 90000u), i);
    MPI_Type_free(&kinds[k].type);
  }
  with_empty_member();
  if (rank == 0)
    printf("digest messages %d changed %d reported %d wrong %d\n", messages, changed, reported,
           wrong);
}

static void scribble(void) {
  const struct kind bytes = {"bytes", MPI_BYTE};
  one(&bytes, 70000, 1u);
  if (rank == 0) printf("digest scribble changed %d\n", changed);
}

static void shared(void) {
  MPI_Request requests[kWindow];
  char* out = malloc((size_t)kWindow * kRoom);
  for (int round = 0; round < 4; ++round) {
    for (int i = 0; i < kWindow; ++i) {
      if (rank == 0) {
        MPI_Irecv(buffer, kRoom, MPI_CHAR, 1, i, MPI_COMM_WORLD, &requests[i]);
      } else {
        memset(out + (size_t)i * kRoom, i + round, kRoom);
        MPI_Isend(out + (size_t)i * kRoom, kRoom, MPI_CHAR, 0, i, MPI_COMM_WORLD, &requests[i]);
      }
    }
    MPI_Waitall(kWindow, requests, MPI_STATUSES_IGNORE);
  }
  free(out);
  if (rank == 0) printf("digest shared reported %d\n", reported);
}

static void refused(void) {
  void* const nowhere = (void*)16;
  void* const closed = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const int self = rank, no_rank = 1000, no_tag = -7;
  int ends = 0, value = rank, got = -1;
  MPI_Request request;
  MPI_Datatype type;
  MPI_Type_vector(3, 1, -2, MPI_INT, &type);
  MPI_Type_commit(&type);
  ends += MPI_Send(NULL, 5, MPI_INT, self, 1, MPI_COMM_WORLD) != MPI_SUCCESS;
  ends += MPI_Send(nowhere, 5, type, no_rank, 1, MPI_COMM_WORLD) != MPI_SUCCESS;
  ends += MPI_Isend(nowhere, 5, MPI_INT, self, no_tag, MPI_COMM_WORLD, &request) != MPI_SUCCESS;
  ends += MPI_Sendrecv_replace(nowhere, 5, MPI_INT, no_rank, 1, self, 1, MPI_COMM_WORLD,
                               MPI_STATUS_IGNORE) != MPI_SUCCESS;
  ends += MPI_Sendrecv_replace(closed, 5, MPI_INT, no_rank, 1, self, 1, MPI_COMM_WORLD,
                               MPI_STATUS_IGNORE) != MPI_SUCCESS;
  ends += MPI_Sendrecv_replace(closed, 5, type, self, no_tag, self, 1, MPI_COMM_WORLD,
                               MPI_STATUS_IGNORE) != MPI_SUCCESS;
  ends += MPI_Send(closed, 5, MPI_INT, no_rank, 1, MPI_COMM_WORLD) != MPI_SUCCESS;
  ends += MPI_Isend(closed, 5, type, self, no_tag, MPI_COMM_WORLD, &request) != MPI_SUCCESS;
  MPI_Send_init(closed, 5, MPI_INT, self, 1, MPI_COMM_WORLD, &request);
  MPI_Request_free(&request);
  MPI_Type_free(&type);
  MPI_Sendrecv(&value, 1, MPI_INT, 1 - self, 1, &got, 1, MPI_INT, 1 - self, 1, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  if (rank == 0 && got == 1) printf("digest refused %d of 8\n", ends);
}

int main(int argc, char** argv) {
  MPI_Errhandler handler;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_create_errhandler(on_error, &handler);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
  if (argc > 1 && strcmp(argv[1], "scribble") == 0) {
    scribble();
  } else if (argc > 1 && strcmp(argv[1], "shared") == 0) {
    shared();
  } else if (argc > 1 && strcmp(argv[1], "refused") == 0) {
    refused();
  } else {
    each_kind();
  }
  MPI_Errhandler_free(&handler);
  MPI_Finalize();
  return 0;
}
