// SPDX-License-Identifier: BSD-3-Clause
//
// The requests of collective operations: what each start of a persistent one says, and which
// nonblocking ones are not known to be complete.
#ifndef VERITY_MPI_COLLECTIVES_REQUESTS_H
#define VERITY_MPI_COLLECTIVES_REQUESTS_H

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "mpi/process/mpi_api.h"
#include "mpi/ucp/attach.h"

namespace verity::mpi {

// How many operations of a communicator are not known to be complete; of persistent ones, how many
// can be started.
struct IncompleteCalls {
  std::atomic<size_t> nonblocking{0}, persistent{0};
};
using Incomplete = std::shared_ptr<IncompleteCalls>;

// A persistent operation was made, and counted. May throw std::bad_alloc.
void keep_collective(MPI_Request request, const CollectiveAttachment& attachment,
                     const Incomplete& incomplete);
// The request is freed, and so not under way.
void forget_collective(MPI_Request request) noexcept;
// MPI has ended, and with it all requests.
void forget_all_collective_requests() noexcept;

// For the time of MPI_Start, if the request is that of a persistent collective operation.
class StartingCollective {
 public:
  explicit StartingCollective(MPI_Request request) noexcept;
  ~StartingCollective() { attachments.collective.length = 0; }
  StartingCollective(const StartingCollective&) = delete;
  StartingCollective& operator=(const StartingCollective&) = delete;

 private:
  uint8_t bytes_[kMaxSignature];
};

// A nonblocking operation was started, and counted. May throw std::bad_alloc.
void await_collective(MPI_Request request, const Incomplete& incomplete);

// For the time of a call that may complete requests: MPI replaces those by MPI_REQUEST_NULL.
class Completing {
 public:
  Completing(int count, const MPI_Request* requests) noexcept : requests_(requests) {
    if (requests != nullptr) note_awaited(count);
  }
  ~Completing() {
    if (!noted_.empty()) note_complete();
  }
  Completing(const Completing&) = delete;
  Completing& operator=(const Completing&) = delete;

  // False: such a call completes none.
  [[nodiscard]] static bool is_any_awaited() noexcept {
    return awaited.load(std::memory_order_relaxed) != 0;
  }
  static inline constinit std::atomic<size_t> awaited{0};

 private:
  struct Noted {
    int place;  // among the requests
    MPI_Request request;
    uint64_t serial;
  };
  [[gnu::cold, gnu::noinline]] void note_awaited(int count) noexcept;
  [[gnu::cold, gnu::noinline]] void note_complete() noexcept;

  const MPI_Request* requests_;
  std::vector<Noted> noted_;
};

}  // namespace verity::mpi

#endif
