// SPDX-License-Identifier: BSD-3-Clause
// What is remembered between two MPI calls: persistent requests from their making to each start,
// messages from a removing probe to their receive.
#ifndef VERITY_MPI_PMPI_REQUESTS_H
#define VERITY_MPI_PMPI_REQUESTS_H

#include <optional>

#include "mpi/pmpi/receiving.h"
#include "mpi/pmpi/sending.h"

namespace verity::mpi {

// A send or receive that MPI_Start begins.
struct Persistent {
  SendFamily family;  // kUnknownFamily: it receives
  TypeRef type;
  CommRef comm;
  Data data;
  Envelope envelope;  // of a send: the destination, and its tag
  uint64_t site;      // of the call that made it, which reports name: it has the datatype
  const char* call;
};

// A request was made: *request when call.rc says so. For the time of the call that makes it.
class Making {
 public:
  Making(Call& call, SendFamily family, Buffer buffer, Envelope envelope, MPI_Comm comm,
         MPI_Request* request);
  ~Making();
  Making(const Making&) = delete;
  Making& operator=(const Making&) = delete;

 private:
  Call& call_;
  MPI_Request* request_;
  std::optional<Persistent> made_;
};

// Starts the request as MPI_Start does, with what it sends or receives attached. Returns what
// PMPI_Start does, and throws what its error handler does. The wrapper's own next function does the
// start.
[[nodiscard]] int start_attached(MPI_Request* request, int (*start)(MPI_Request*));
// The request is freed.
void forget_request(MPI_Request request) noexcept;
// MPI has ended, and with it all requests and messages.
void forget_all_requests() noexcept;

// A message that a removing probe found, until it is received. For the time of the call that
// probes: `found` may be nullptr, for calls that always find one.
class Probing {
 public:
  Probing(Call& call, int source, MPI_Comm comm, const int* found, MPI_Message* message,
          MPI_Status** status) noexcept;
  ~Probing();
  Probing(const Probing&) = delete;
  Probing& operator=(const Probing&) = delete;

 private:
  Call& call_;
  MPI_Comm comm_;
  const int* found_;
  MPI_Message* message_;
  MPI_Status* status_;
  MPI_Status own_;
};

struct MatchedProbe {
  CommRef comm;
  Envelope envelope;
};

// The receive of such a message, for the time of its call. MPI may refuse it: another one may come.
class ReceivingMessage {
 public:
  ReceivingMessage(const Call& call, Buffer buffer, const MPI_Message* message);
  ~ReceivingMessage();
  ReceivingMessage(const ReceivingMessage&) = delete;
  ReceivingMessage& operator=(const ReceivingMessage&) = delete;

 private:
  const Call& call_;
  const MPI_Message* message_;
  MPI_Message handle_{};
  std::optional<MatchedProbe> probed_;
  std::optional<Receiving> receive_;
};

}  // namespace verity::mpi

#endif
