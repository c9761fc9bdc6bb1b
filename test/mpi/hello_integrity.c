/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Two processes exchange messages whose every byte is known in advance, and count the wrong ones.
 * An ordinary MPI program: it knows nothing of UCX or of the plugin.
 *
 * Usage: mpirun -np 2 hello_integrity [MESSAGES [LARGEST-SIZE]]
 *
 * Prints one line: 'N messages, M bytes: W messages wrong, B bytes wrong'. Exit status 0 when it
 * ran to its end, wrong bytes or not: what they mean is the caller's to say.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { kTag = 7, kReplyTag = 8, kDefaultMessages = 2000, kDefaultLargest = 256 * 1024 };

struct tally {
  long long messages, bytes, wrong_messages, wrong_bytes;
};

static uint64_t scramble(uint64_t x) {
  x ^= x >> 33;
  x *= UINT64_C(0xff51afd7ed558ccd);
  x ^= x >> 33;
  return x;
}

/* The byte at `offset` of message `number`: no two messages or places look alike. */
static unsigned char expected_byte(int number, int offset) {
  uint64_t word = scramble(((uint64_t)number << 32) + (uint64_t)(offset / 8) + 1);
  return (unsigned char)(word >> (8 * (offset % 8)));
}

/* Sizes of all magnitudes from 0 to `largest`, the same on both sides. */
static int message_size(int number, int largest) {
  uint64_t random = scramble((uint64_t)number + 1000003);
  int limit = largest >> (random % 16);
  return (int)((random >> 20) % ((uint64_t)limit + 1));
}

static void fill(unsigned char* buffer, int number, int size) {
  int i;
  for (i = 0; i < size; i++) { buffer[i] = expected_byte(number, i); }
}

static void compare(const unsigned char* buffer, int number, int received, int size,
                    struct tally* tally) {
  long long wrong = received < size ? size - received : received - size;
  int i;
  for (i = 0; i < size && i < received; i++) { wrong += buffer[i] != expected_byte(number, i); }
  tally->messages++;
  tally->bytes += size;
  tally->wrong_bytes += wrong;
  tally->wrong_messages += wrong != 0;
}

/* Rank 0 sends the even messages and receives the odd ones, rank 1 the other way round. */
static void exchange(int rank, int messages, int largest, struct tally* tally) {
  unsigned char* buffer = malloc((size_t)largest + 1);
  int number, received;

  if (buffer == NULL) { MPI_Abort(MPI_COMM_WORLD, 1); }
  for (number = 0; number < messages; number++) {
    int size = message_size(number, largest);
    if (number % 2 == rank) {
      fill(buffer, number, size);
      MPI_Send(buffer, size, MPI_BYTE, 1 - rank, kTag, MPI_COMM_WORLD);
    } else {
      MPI_Status status;
      MPI_Recv(buffer, largest, MPI_BYTE, 1 - rank, kTag, MPI_COMM_WORLD, &status);
      MPI_Get_count(&status, MPI_BYTE, &received);
      compare(buffer, number, received, size, tally);
    }
  }
  free(buffer);
}

/* Rank 1 hands its counts to rank 0 as text: the digits of a damaged number would be seen. */
static void report(int rank, struct tally* mine) {
  char text[128];
  struct tally other;

  if (rank == 1) {
    snprintf(text, sizeof(text), "%lld %lld %lld %lld", mine->messages, mine->bytes,
             mine->wrong_messages, mine->wrong_bytes);
    MPI_Send(text, sizeof(text), MPI_CHAR, 0, kReplyTag, MPI_COMM_WORLD);
    return;
  }
  MPI_Recv(text, sizeof(text), MPI_CHAR, 1, kReplyTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  text[sizeof(text) - 1] = '\0';
  if (sscanf(text, "%lld %lld %lld %lld", &other.messages, &other.bytes, &other.wrong_messages,
             &other.wrong_bytes) != 4) {
    printf("the other process's counts arrived unreadable\n");
    other = (struct tally){0, 0, 1, sizeof(text)};
  }
  printf("%lld messages, %lld bytes: %lld messages wrong, %lld bytes wrong\n",
         mine->messages + other.messages, mine->bytes + other.bytes,
         mine->wrong_messages + other.wrong_messages, mine->wrong_bytes + other.wrong_bytes);
}

int main(int argc, char** argv) {
  struct tally tally = {0, 0, 0, 0};
  int rank, size;
  int messages = argc > 1 ? atoi(argv[1]) : kDefaultMessages;
  int largest = argc > 2 ? atoi(argv[2]) : kDefaultLargest;

  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size != 2 || messages < 0 || largest < 0) {
    fprintf(stderr, "usage: mpirun -np 2 %s [MESSAGES [LARGEST-SIZE]]\n", argv[0]);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  exchange(rank, messages, largest, &tally);
  report(rank, &tally);
  MPI_Finalize();
  return 0;
}
