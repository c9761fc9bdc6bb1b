/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Error handlers that throw an exception, as C++ programs have them: it passes the frames of MPI
 * and of what lies in front of it.
 *
 *   throws    on two ranks; each prints 'throws rank R caught N left N', and with MPICH in front of
 *             that 'throws rank R no handles N of N'
 *
 * caught: of the errors that MPI finds, and with UCX_VERITY_TYPECHECK=error on rank 0 of two
 * mismatches. left: threads that an error handler has ended. no handles: of the errors, too, those
 * of what is no communicator or no datatype, and a thread that ended over one. (Open MPI crashes.)
 */
#include <mpi.h>
#include <pthread.h>

#include <cstdio>

namespace {

struct Error {
  int code;
};

bool ends_thread = false;
int left = 0;

void on_error(MPI_Comm*, int* code, ...) {
  if (ends_thread) pthread_exit(nullptr);
  throw Error{*code};
}

template <typename Call>
int caught(Call call) {
  try {
    call();
  } catch (const Error&) { return 1; }
  return 0;
}

constexpr int kNobody = 99;  // no rank

int refused() {
  int data = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  return caught([&] { MPI_Send(&data, 1, MPI_INT, kNobody, 0, MPI_COMM_WORLD); }) +
         caught([&] { MPI_Irecv(&data, -1, MPI_INT, 0, 0, MPI_COMM_WORLD, &request); }) +
         caught([&] { MPI_Send_init(&data, 1, MPI_INT, kNobody, 0, MPI_COMM_WORLD, &request); }) +
         caught([&] { MPI_Start(&request); }) + caught([&] { MPI_Startall(1, &request); }) +
         caught([&] { MPI_Bcast(&data, 1, MPI_INT, kNobody, MPI_COMM_WORLD); });
}

int mismatched(int rank) {
  int number = 0;
  float real = 0;
  if (rank == 0) {
    const int direct =
        caught([&] { MPI_Recv(&real, 1, MPI_FLOAT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE); });
    // The message may be there before its receive, which then finds the mismatch.
    return direct + caught([&] {
             MPI_Request request;
             MPI_Irecv(&real, 1, MPI_FLOAT, 1, 2, MPI_COMM_WORLD, &request);
             MPI_Wait(&request, MPI_STATUS_IGNORE);
           });
  }
  for (int tag = 1; tag <= 2; ++tag) MPI_Ssend(&number, 1, MPI_INT, 0, tag, MPI_COMM_WORLD);
  return 0;
}

void* leave(void* comm) {
  int data = 0;
  MPI_Send(&data, 1, MPI_INT, kNobody, 0, *static_cast<MPI_Comm*>(comm));
  left = -1;
  return nullptr;
}

void leave_by_thread(MPI_Comm comm) {
  pthread_t thread;
  ends_thread = true;
  pthread_create(&thread, nullptr, leave, &comm);
  pthread_join(thread, nullptr);
  ends_thread = false;
  ++left;
}

#ifdef MPICH_VERSION
void use_no_handles(int rank) {
  constexpr int kCalls = 11;
  const auto no_type = static_cast<MPI_Datatype>(0);
  MPI_Comm freed, comm;
  MPI_Message message;
  MPI_Request request;
  int data[2] = {}, all[4] = {}, found, one[2] = {1, 1};
  MPI_Comm_dup(MPI_COMM_WORLD, &freed);
  comm = freed;
  MPI_Comm_free(&freed);
  int errors =
      caught([&] { MPI_Send(data, 1, MPI_INT, 0, 0, comm); }) +
      caught([&] { MPI_Irecv(data, 1, MPI_INT, 0, 0, comm, &request); }) +
      caught([&] { MPI_Recv_init(data, 1, MPI_INT, 0, 0, comm, &request); }) +
      caught([&] { MPI_Improbe(0, 0, comm, &found, &message, MPI_STATUS_IGNORE); }) +
      caught([&] { MPI_Barrier(comm); }) +
      caught([&] { MPI_Gather(data, 1, MPI_INT, all, 1, MPI_INT, 0, comm); }) +
      caught([&] { MPI_Reduce_scatter(data, all, one, MPI_INT, MPI_SUM, comm); }) +
      caught([&] { MPI_Send(data, 1, no_type, 1 - rank, 0, MPI_COMM_WORLD); }) +
      caught([&] { MPI_Irecv(data, 1, no_type, 1 - rank, 0, MPI_COMM_WORLD, &request); }) +
      caught([&] { MPI_Send_init(data, 1, no_type, 1 - rank, 0, MPI_COMM_WORLD, &request); });
  const int before = left;
  leave_by_thread(comm);
  if (left == before + 1) ++errors;
  left = before;
  std::printf("throws rank %d no handles %d of %d\n", rank, errors, kCalls);
}
#endif

}  // namespace

int main(int argc, char** argv) {
  MPI_Errhandler handler;
  int rank, level, sum = 0, one = 1;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_create_errhandler(on_error, &handler);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
  const int errors = refused() + mismatched(rank);
  leave_by_thread(MPI_COMM_WORLD);
#ifdef MPICH_VERSION
  use_no_handles(rank);
#endif
  for (int i = 0; i < 3; ++i) MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  std::printf("throws rank %d caught %d left %d\n", rank, errors, left);
  std::fflush(stdout);
  MPI_Errhandler_free(&handler);
  MPI_Finalize();
  return 0;
}
