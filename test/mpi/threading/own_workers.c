/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A program that uses UCP itself, beside MPI: its workers are none of the checks' concern. At the
 * end rank 0 sends MPI_INT where rank 1 receives MPI_FLOAT, which is to be reported.
 *
 *   own_workers before            a worker is made before MPI_Init
 *   own_workers destroyed         and destroyed before it
 *   own_workers thread [LEVEL]    a second thread makes two workers and sends between them, while
 *                                 the main one makes correct MPI calls (LEVEL: MPI's, 0 to 3)
 *   own_workers earlier [LEVEL]   the same, with workers that were made before MPI_Init
 *
 * Two ranks. Prints "own workers done" once. Linked with UCP.
 */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucp/api/ucp.h>
#include <unistd.h>

enum { kBatch = 256, kBytes = 4096, kRounds = 300, kRequests = 128, kElements = 1000 };

static ucp_context_h context;
static ucp_worker_h workers[2];
static volatile int stop, ready;

static void check(ucs_status_t status, const char* what) {
  if (status == UCS_OK) return;
  printf("own workers: %s: %s\n", what, ucs_status_string(status));
  exit(2);
}

static void make_workers(void) {
  ucp_params_t params = {.field_mask = UCP_PARAM_FIELD_FEATURES, .features = UCP_FEATURE_TAG};
  ucp_worker_params_t mode = {.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
                              .thread_mode = UCS_THREAD_MODE_SINGLE};
  check(ucp_init(&params, NULL, &context), "ucp_init");
  for (int i = 0; i < 2; ++i)
    check(ucp_worker_create(context, &mode, &workers[i]), "ucp_worker_create");
}

static void destroy_workers(void) {
  for (int i = 0; i < 2; ++i) ucp_worker_destroy(workers[i]);
  ucp_cleanup(context);
}

static void finish(void* request) {
  if (!UCS_PTR_IS_PTR(request)) return;
  while (ucp_request_check_status(request) == UCS_INPROGRESS) {
    ucp_worker_progress(workers[0]);
    ucp_worker_progress(workers[1]);
  }
  ucp_request_free(request);
}

static void* second(void* unused) {
  static char out[kBytes], in[kBytes];
  ucp_address_t* address;
  size_t length;
  ucp_ep_h ep;
  if (workers[0] == NULL) make_workers();
  check(ucp_worker_get_address(workers[1], &address, &length), "ucp_worker_get_address");
  ucp_ep_params_t to = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS, .address = address};
  check(ucp_ep_create(workers[0], &to, &ep), "ucp_ep_create");
  ucp_worker_release_address(workers[1], address);
  ready = 1;
  while (!stop) {
    ucp_request_param_t plain = {0};
    void *received[kBatch], *sent[kBatch];
    for (int i = 0; i < kBatch; ++i)
      received[i] = ucp_tag_recv_nbx(workers[1], in, kBytes, 7, ~0ull, &plain);
    for (int i = 0; i < kBatch; ++i) sent[i] = ucp_tag_send_nbx(ep, out, kBytes, 7, &plain);
    for (int i = 0; i < kBatch; ++i) finish(sent[i]);
    for (int i = 0; i < kBatch; ++i) finish(received[i]);
  }
  return unused;
}

/* Correct ones. */
static void exchange(int rank) {
  static char bytes[kRequests][kElements * sizeof(int)];
  for (int round = 0; round < kRounds; ++round) {
    MPI_Request requests[kRequests];
    for (int i = 0; i < kRequests; ++i) {
      MPI_Datatype type = (i + round) % 3 != 0 ? MPI_INT : MPI_FLOAT;
      if (rank == 0) MPI_Isend(bytes[i], kElements, type, 1, 3, MPI_COMM_WORLD, &requests[i]);
      if (rank == 1) MPI_Irecv(bytes[i], kElements, type, 0, 3, MPI_COMM_WORLD, &requests[i]);
    }
    MPI_Waitall(kRequests, requests, MPI_STATUSES_IGNORE);
  }
}

int main(int argc, char** argv) {
  const char* how = argc > 1 ? argv[1] : "";
  const int level = argc > 2 ? atoi(argv[2]) : MPI_THREAD_FUNNELED;
  int rank, given, ints[100] = {0};
  float floats[100];
  pthread_t thread;
  alarm(60);
  if (strcmp(how, "thread") != 0) make_workers();
  if (strcmp(how, "destroyed") == 0) destroy_workers();
  MPI_Init_thread(&argc, &argv, level, &given);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (strcmp(how, "thread") == 0 || strcmp(how, "earlier") == 0) {
    pthread_create(&thread, NULL, second, NULL);
    while (!ready) usleep(1000);
    exchange(rank);
    stop = 1;
    pthread_join(thread, NULL);
  }
  if (rank == 0) MPI_Send(ints, 100, MPI_INT, 1, 1, MPI_COMM_WORLD);
  if (rank == 1) MPI_Recv(floats, 100, MPI_FLOAT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) printf("own workers done\n");
  MPI_Finalize();
  return 0;
}
