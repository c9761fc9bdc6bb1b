// SPDX-License-Identifier: BSD-3-Clause
//
// Structures from one rank to another.
#include <sched.h>

#include "autolink/mpi_requests.h"

using namespace verity::autolink;

void verity::autolink::finish(verity_autolink_request& request) {
  while (!request.test()) sched_yield();
}

EXPORTED int verity_autolink_send(const verity_autolink_type* type, const void* root,
                                  uint64_t count, int dest, int tag, MPI_Comm comm) {
  return guarded([&] {
    check_type(type);
    Sending sending(aggregate(*type, root, count), dest, tag, comm);
    finish(sending);
  });
}

EXPORTED int verity_autolink_recv(const verity_autolink_type* type, int source, int tag,
                                  MPI_Comm comm, MPI_Status* status,
                                  verity_autolink_structure** structure) {
  return guarded([&] {
    check_type(type);
    Receiving receiving(expand(*type), source, tag, comm, structure);
    finish(receiving);
    if (status != MPI_STATUS_IGNORE) *status = receiving.status();
  });
}

EXPORTED int verity_autolink_isend(const verity_autolink_type* type, const void* root,
                                   uint64_t count, int dest, int tag, MPI_Comm comm,
                                   verity_autolink_request** request) {
  return guarded([&] {
    check_type(type);
    auto made = std::make_unique<Sending>(aggregate(*type, root, count), dest, tag, comm);
    (void)made->test();
    *request = made.release();
  });
}

EXPORTED int verity_autolink_irecv(const verity_autolink_type* type, int source, int tag,
                                   MPI_Comm comm, verity_autolink_structure** structure,
                                   verity_autolink_request** request) {
  return guarded([&] {
    check_type(type);
    *request = std::make_unique<Receiving>(expand(*type), source, tag, comm, structure).release();
  });
}

EXPORTED int verity_autolink_test(verity_autolink_request** request, int* flag) {
  bool has_ended = *request == nullptr;
  const int code = has_ended ? MPI_SUCCESS : guarded([&] { has_ended = (*request)->test(); });
  *flag = has_ended || code != MPI_SUCCESS;
  if (*flag != 0) {
    delete *request;
    *request = nullptr;
  }
  return code;
}

EXPORTED int verity_autolink_wait(verity_autolink_request** request) {
  int has_ended = 0;
  for (;; sched_yield()) {
    const int code = verity_autolink_test(request, &has_ended);
    if (has_ended != 0) return code;
  }
}
