// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/collectives/requests.h"

#include <cstring>
#include <mutex>
#include <new>
#include <unordered_map>

#include "mpi/process/library.h"

namespace verity::mpi {

namespace {

struct Started {
  TagFilter filter;
  std::vector<uint8_t> bytes;
  Incomplete incomplete;
};
// A handle comes again once its operation is complete: the serial says which one it is.
struct Awaited {
  uint64_t serial;
  Incomplete incomplete;
};

struct Requests {
  std::mutex mutex;
  std::unordered_map<MPI_Request, Started> started;  // persistent operations
  std::unordered_map<MPI_Request, Awaited> awaited;  // nonblocking ones
  uint64_t last_serial = 0;
};
Requests& all() noexcept {  // never destroyed: threads may still run when the process ends
  static auto& made = *new Requests;
  return made;
}

}  // namespace

void keep_collective(MPI_Request request, const CollectiveAttachment& attachment,
                     const Incomplete& incomplete) {
  const std::lock_guard lock(all().mutex);
  all().started.insert_or_assign(
      request, Started{attachment.filter,
                       {attachment.signature, attachment.signature + attachment.length},
                       incomplete});
}

void forget_collective(MPI_Request request) noexcept {
  const std::lock_guard lock(all().mutex);
  const auto found = all().started.find(request);
  if (found == all().started.end()) return;
  --found->second.incomplete->persistent;
  all().started.erase(found);
}

void forget_all_collective_requests() noexcept {
  const std::lock_guard lock(all().mutex);
  all().started.clear();
  all().awaited.clear();
  Completing::awaited.store(0, std::memory_order_relaxed);
}

StartingCollective::StartingCollective(MPI_Request request) noexcept {
  const std::lock_guard lock(all().mutex);
  const auto found = all().started.find(request);
  if (found == all().started.end()) return;
  const auto& bytes = found->second.bytes;
  std::memcpy(bytes_, bytes.data(), bytes.size());
  attachments.collective = {found->second.filter, bytes_, bytes.size()};
}

// An older operation with this handle is complete. MPICH has one handle for all that are complete
// when their call returns.
void await_collective(MPI_Request request, const Incomplete& incomplete) {
  Requests& requests = all();
  const std::lock_guard lock(requests.mutex);
  const auto [place, is_new] = requests.awaited.try_emplace(request);
  if (!is_new) --place->second.incomplete->nonblocking;
  place->second = {++requests.last_serial, incomplete};
  Completing::awaited.store(requests.awaited.size(), std::memory_order_relaxed);
}

// Without memory they stay incomplete.
void Completing::note_awaited(int count) noexcept {
  const std::lock_guard lock(all().mutex);
  for (int place = 0; place < count; ++place) {
    const auto found = all().awaited.find(requests_[place]);
    if (found == all().awaited.end()) continue;
    try {
      noted_.push_back({place, found->first, found->second.serial});
    } catch (const std::bad_alloc&) { return; }
  }
}

void Completing::note_complete() noexcept {
  Requests& requests = all();
  const std::lock_guard lock(requests.mutex);
  for (const Noted& one : noted_) {
    if (requests_[one.place] != handles().request_null) continue;
    const auto found = requests.awaited.find(one.request);
    if (found == requests.awaited.end() || found->second.serial != one.serial) continue;
    --found->second.incomplete->nonblocking;
    requests.awaited.erase(found);
  }
  awaited.store(requests.awaited.size(), std::memory_order_relaxed);
}

}  // namespace verity::mpi
