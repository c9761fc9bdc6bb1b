// SPDX-License-Identifier: BSD-3-Clause
// Which ucp_ep_h a transport's endpoint belongs to, as far as its messages have shown.
// Direct-mapped.
#ifndef VERITY_MPI_MATCHING_ENDPOINT_CACHE_H
#define VERITY_MPI_MATCHING_ENDPOINT_CACHE_H

#include <cstddef>
#include <cstdint>
#include <memory>

namespace verity::mpi {

class EndpointCache {
 public:
  EndpointCache() : entries_(std::make_unique<Entry[]>(kEntries)) {}

  // `serial`: of the transport's endpoint, from 1 on.
  void put(uint64_t serial, const void* endpoint) noexcept {
    entries_[serial % kEntries] = {serial, endpoint};
  }
  // nullptr: it is not known.
  [[nodiscard]] const void* find(uint64_t serial) const noexcept {
    const Entry& entry = entries_[serial % kEntries];
    return entry.serial == serial ? entry.endpoint : nullptr;
  }

 private:
  struct Entry {
    uint64_t serial;
    const void* endpoint;
  };
  static constexpr size_t kEntries = 4096;

  std::unique_ptr<Entry[]> entries_;
};

}  // namespace verity::mpi

#endif
