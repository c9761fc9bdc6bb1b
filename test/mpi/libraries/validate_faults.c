/* SPDX-License-Identifier: BSD-3-Clause
 *
 * verity_validate_*() where it is used wrongly, and where its own messages are damaged.
 *
 * Usage: validate_faults MODE
 *
 *   arguments    roots that are none, and intercommunicators
 *   counts       buffers of too many bytes
 *   damage       between two ranks: messages of the library are damaged where it sends them
 *   several      the same, among several validations of one tag
 *   random       in both directions with one tag, a byte of every tenth message is damaged
 *   collective   the same as damage in collective calls
 *   two_comms    two ranks wait for validations over two communicators in different orders
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucx-verity/validate.h>

enum { kTag = 5, kRoot = 1, kGood, kDigests, kLastSegments = 6, kUnequal = 9, kGivenUp };
enum { kSize = 100000, kOneByte = 1, kLine = 64, kAll = 1 << 20 };

static int rank, ranks;
static int wrong;

static void expect(int is_right, const char* what) {
  if (is_right) return;
  ++wrong;
  printf("rank %d: WRONG: %s\n", rank, what);
}

/* What is damaged: bytes [first, first + count) of the first messages of a kind. */
static struct { int kind, first, count, messages; } fault;

static int damages_at_random;

static void damage_message(unsigned char* message, int size) {
  if (damages_at_random && size > 0 && rand() % 10 == 0) message[rand() % size] ^= 1 << rand() % 8;
  if (size < 48 || message[5] != fault.kind || fault.messages == 0) return;
  --fault.messages;
  for (int i = fault.first; i < size && i < fault.first + fault.count; ++i) message[i] ^= 0x5a;
}

/* What the library calls. The copy is left to MPI. */
int MPI_Isend(const void* buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
              MPI_Request* request) {
  unsigned char* copy = malloc((size_t)count + 1);
  memcpy(copy, buf, (size_t)count);
  damage_message(copy, count);
  return PMPI_Isend(copy, count, type, dest, tag, comm, request);
}

int MPI_Alltoallv(const void* sent, const int* counts, const int* places, MPI_Datatype type,
                  void* got, const int* got_counts, const int* got_places, MPI_Datatype got_type,
                  MPI_Comm comm) {
  for (int i = 0; i < ranks; ++i) damage_message((unsigned char*)sent + places[i], counts[i]);
  return PMPI_Alltoallv(sent, counts, places, type, got, got_counts, got_places, got_type, comm);
}

static unsigned char right_byte(int i, int which) {
  return (unsigned char)(i * 7 + i / 251 + which);
}
static void fill(unsigned char* buf, int which, int is_damaged) {
  for (int i = 0; i < kSize; ++i) buf[i] = right_byte(i, which);
  for (int i = 0; is_damaged && i < kSize; i += 30011) buf[i] ^= 1;
}
static int is_right(const unsigned char* buf, int which) {
  for (int i = 0; i < kSize; ++i) {
    if (buf[i] != right_byte(i, which)) return 0;
  }
  return 1;
}

/* The first rank alone, and all others. */
static MPI_Comm intercommunicator(void) {
  MPI_Comm half, inter;
  MPI_Comm_split(MPI_COMM_WORLD, rank == 0, 0, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank == 0 ? 1 : 0, kTag, &inter);
  MPI_Comm_free(&half);
  return inter;
}

static void arguments(void) {
  static char buf[4096];
  const int roots[] = {-1, MPI_ROOT, MPI_PROC_NULL, MPI_ANY_SOURCE, ranks, ranks + 1000};
  struct verity_validation v;
  MPI_Comm inter = intercommunicator();
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
  for (size_t i = 0; i < sizeof roots / sizeof *roots; ++i) {
    expect(verity_validate_bcast(buf, 64, MPI_CHAR, roots[i], MPI_COMM_WORLD, NULL, &v) ==
               MPI_ERR_ROOT,
           "a root that is none");
  }
  expect(verity_validate_bcast(buf, 64, MPI_CHAR, 0, inter, NULL, &v) == MPI_ERR_COMM,
         "bcast over an intercommunicator");
  expect(verity_validate_bcast(buf, 64, MPI_CHAR, MPI_ROOT, inter, NULL, &v) == MPI_ERR_COMM,
         "bcast from MPI_ROOT");
  expect(verity_validate_allgather(buf, 64, MPI_CHAR, inter, NULL, &v) == MPI_ERR_COMM,
         "allgather over an intercommunicator");
  MPI_Comm_free(&inter);
}

/* More bytes than can be counted; nothing of the buffer is read. */
static void counts(void) {
  const int size = 1 << 30, distribution = MPI_DISTRIBUTE_BLOCK, processes = 1;
  const int argument = MPI_DISTRIBUTE_DFLT_DARG;
  char byte = 0;
  MPI_Datatype large;
  MPI_Type_create_darray(1, 0, 1, &size, &distribution, &argument, &processes, MPI_ORDER_C, MPI_INT,
                         &large);
  MPI_Type_commit(&large);
  expect(verity_validate_bcast(&byte, 1, large, 0, MPI_COMM_WORLD, NULL, NULL) == MPI_ERR_COUNT,
         "4 GiB to be packed at once");
  MPI_Type_free(&large);
  expect(verity_validate_bcast(&byte, (MPI_Count)1 << 62, MPI_INT, 0, MPI_COMM_WORLD, NULL, NULL) ==
             MPI_ERR_COUNT,
         "2^64 bytes");
}

static void damage(void) {
  static const struct {
    int kind, first, count, messages, differs, length, sender, receiver;
    const char* what;
  } all[] = {
      {kRoot, 20, kOneByte, 1, 1, kSize, MPI_SUCCESS, MPI_SUCCESS, "the header of ROOT"},
      {kRoot, 0, 4, 1, 1, kSize, MPI_SUCCESS, MPI_SUCCESS, "the magic of ROOT"},
      {kRoot, 0, kAll, 1, 1, kSize, MPI_ERR_OTHER, MPI_ERR_TAG, "all of ROOT"},
      {kDigests, 1, 2, 1, 1, kSize, MPI_SUCCESS, MPI_SUCCESS, "the magic of DIGESTS"},
      {kDigests, 0, kAll, 1, 1, kSize, MPI_ERR_TAG, MPI_ERR_OTHER, "all of DIGESTS"},
      {kLastSegments, 500, kOneByte, 1, 1, kSize, MPI_SUCCESS, MPI_SUCCESS, "LAST_SEGMENTS"},
      {kLastSegments, 500, kOneByte, 99, 1, kSize, MPI_ERR_OTHER, MPI_ERR_OTHER,
       "all LAST_SEGMENTS"},
      {kDigests, 20, kOneByte, 99, 1, kSize, MPI_ERR_OTHER, MPI_ERR_OTHER, "all DIGESTS"},
      {kGood, 0, kLine, 1, 0, kSize, MPI_SUCCESS, MPI_SUCCESS, "GOOD"},
      {kGood, 30, kLine, 1, 1, kSize, MPI_SUCCESS, MPI_SUCCESS, "GOOD after a repair"},
      {kGood, 6, kAll, 1, 1, kSize, MPI_ERR_OTHER, MPI_SUCCESS, "all of GOOD"},
      {kUnequal, 20, kLine, 1, 0, kSize - 9, MPI_ERR_TRUNCATE, MPI_ERR_TRUNCATE, "UNEQUAL"},
  };
  static unsigned char buf[kSize];
  struct verity_validation v;
  for (size_t i = 0; i < sizeof all / sizeof *all && rank < 2; ++i) {
    fill(buf, 0, rank == 1 && all[i].differs);
    fault.kind = all[i].kind;
    fault.first = all[i].first;
    fault.count = all[i].count;
    fault.messages = all[i].messages;
    /* A tag of its own: after an error messages may be left. */
    const int tag = kTag + (int)i;
    const int code =
        rank == 0
            ? verity_validate_send(buf, kSize, MPI_BYTE, 1, tag, MPI_COMM_WORLD, NULL, &v)
            : verity_validate_recv(buf, all[i].length, MPI_BYTE, 0, tag, MPI_COMM_WORLD, NULL, &v);
    expect(code == (rank == 0 ? all[i].sender : all[i].receiver), all[i].what);
    expect(code != MPI_SUCCESS || is_right(buf, 0), all[i].what);
    if (rank == 0) printf("damage to %s: ended\n", all[i].what);
  }
}

/* The last message of the first validation is lost: only that one fails. */
static void several(void) {
  enum { kEach = 4 };
  static unsigned char buf[kEach][kSize];
  verity_validate_request* requests[kEach];
  int failed = 0;
  if (rank > 1) return;
  fault.kind = kGood;
  fault.first = 6;
  fault.count = kAll;
  fault.messages = 1;
  for (int i = 0; i < kEach; ++i) {
    fill(buf[i], i, rank == 1 && i % 2 == 0);
    if (rank == 0)
      verity_validate_isend(buf[i], kSize, MPI_BYTE, 1, kTag, MPI_COMM_WORLD, NULL, NULL,
                            &requests[i]);
    else
      verity_validate_irecv(buf[i], kSize, MPI_BYTE, 0, kTag, MPI_COMM_WORLD, NULL, NULL,
                            &requests[i]);
  }
  for (int i = 0; i < kEach; ++i) failed += verity_validate_wait(&requests[i]) != MPI_SUCCESS;
  expect(failed == (rank == 0), "one sender does not know");
  for (int i = 0; i < kEach; ++i) expect(is_right(buf[i], i), "the buffers are right");
}

static void at_random(void) {
  enum { kTurns = 40, kEach = 3 };
  static unsigned char buf[2 * kEach][kSize];
  verity_validate_request* requests[2 * kEach];
  unsigned right = 0;
  if (rank > 1) return;
  srand((unsigned)rank + 1);
  damages_at_random = 1;
  for (int turn = 0; turn < kTurns; ++turn) {
    for (int i = 0; i < 2 * kEach; ++i) {
      const int sends = (i + rank) % 2 == 0, which = turn + i / 2 + (sends ? rank : 1 - rank);
      fill(buf[i], which, !sends && rand() % 2 == 0);
      if (sends)
        verity_validate_isend(buf[i], kSize, MPI_BYTE, 1 - rank, kTag, MPI_COMM_WORLD, NULL, NULL,
                              &requests[i]);
      else
        verity_validate_irecv(buf[i], kSize, MPI_BYTE, 1 - rank, kTag, MPI_COMM_WORLD, NULL, NULL,
                              &requests[i]);
    }
    for (int i = 0; i < 2 * kEach; ++i) {
      const int sends = (i + rank) % 2 == 0, which = turn + i / 2 + (sends ? rank : 1 - rank);
      const int code = verity_validate_wait(&requests[i]);
      expect(code == MPI_SUCCESS || code == MPI_ERR_OTHER, "the code of a damaged validation");
      expect(code != MPI_SUCCESS || is_right(buf[i], which), "a repair among damaged messages");
      right += code == MPI_SUCCESS;
    }
  }
  printf("random rank %d: %u of %d succeeded\n", rank, right, kTurns * 2 * kEach);
  expect(right > kTurns * kEach, "most validations succeed");
}

static void collective(void) {
  static const struct {
    int kind, first, count, messages, code;
    const char* what;
  } all[] = {
      {kDigests, 0, kLine, 1, MPI_SUCCESS, "DIGESTS"},
      {kLastSegments, 4, 9, 1, MPI_SUCCESS, "LAST_SEGMENTS"},
      {kGood, 0, kLine, 99, MPI_SUCCESS, "GOOD"},
      {kGood, 6, kAll, 1, MPI_ERR_OTHER, "all of GOOD"},
      {kLastSegments, 500, kOneByte, 99, MPI_ERR_OTHER, "all LAST_SEGMENTS"},
  };
  static unsigned char buf[8 * kSize];
  for (size_t i = 0; i < sizeof all / sizeof *all; ++i) {
    fault.kind = all[i].kind;
    fault.first = all[i].first;
    fault.count = all[i].count;
    for (int gathers = 0; gathers < 2; ++gathers) {
      fault.messages = all[i].messages;
      for (int block = 0; block < (gathers ? ranks : 1); ++block)
        fill(buf + block * kSize, block, rank != block && (rank + block) % 2 != 0);
      const int code =
          gathers ? verity_validate_allgather(buf, kSize, MPI_BYTE, MPI_COMM_WORLD, NULL, NULL)
                  : verity_validate_bcast(buf, kSize, MPI_BYTE, 0, MPI_COMM_WORLD, NULL, NULL);
      expect(code == all[i].code, all[i].what);
      for (int block = 0; code == MPI_SUCCESS && block < (gathers ? ranks : 1); ++block)
        expect(is_right(buf + block * kSize, block), all[i].what);
      if (rank == 0) printf("collective, damage to %s: ended\n", all[i].what);
    }
  }
}

static void two_comms(void) {
  static unsigned char buf[2][kSize];
  verity_validate_request* requests[2];
  MPI_Comm comms[2];
  for (int i = 0; i < 2; ++i) MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
  for (int i = 0; i < 2 && rank < 2; ++i) {
    fill(buf[i], i, rank == 1);
    if (rank == 0)
      verity_validate_isend(buf[i], kSize, MPI_BYTE, 1, kTag, comms[i], NULL, NULL, &requests[i]);
    else
      expect(verity_validate_recv(buf[i], kSize, MPI_BYTE, 0, kTag, comms[i], NULL, NULL) ==
                 MPI_SUCCESS,
             "received over two communicators");
  }
  for (int i = 1; i >= 0 && rank == 0; --i)
    expect(verity_validate_wait(&requests[i]) == MPI_SUCCESS, "sent over two communicators");
  for (int i = 0; i < 2; ++i) {
    expect(rank > 1 || is_right(buf[i], i), "repaired over two communicators");
    MPI_Comm_free(&comms[i]);
  }
}

int main(int argc, char** argv) {
  const char* mode = argc > 1 ? argv[1] : "";
  int all = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (strcmp(mode, "arguments") == 0) arguments();
  if (strcmp(mode, "counts") == 0) counts();
  if (strcmp(mode, "damage") == 0) damage();
  if (strcmp(mode, "several") == 0) several();
  if (strcmp(mode, "random") == 0) at_random();
  if (strcmp(mode, "collective") == 0) collective();
  if (strcmp(mode, "two_comms") == 0) two_comms();
  MPI_Reduce(&wrong, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%s: %d wrong expectations\n", mode, all);
  MPI_Finalize();
  return 0;
}
