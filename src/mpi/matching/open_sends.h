// SPDX-License-Identifier: BSD-3-Clause
// Sends that have returned and whose buffer is not the program's again, by their memory: to name
// the one that the program wrote to.
#ifndef VERITY_MPI_MATCHING_OPEN_SENDS_H
#define VERITY_MPI_MATCHING_OPEN_SENDS_H

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "mpi/matching/message.h"

namespace verity::mpi {

struct ChangedSend {
  Caller caller;
  size_t bytes;   // of the buffer
  size_t offset;  // in it, where the change lies, which may be shorter than `length`
  size_t length;
};

// Any thread: changes are detected where progress is made.
class OpenSends {
 public:
  // Smaller ones are copied before the call returns.
  static constexpr size_t kLeast = 1024;

  void open(const void* request, const void* buffer, size_t bytes, const Caller& caller) noexcept;
  // The request is complete, or gone.
  void close(const void* request) noexcept {
    if (count_.load(std::memory_order_relaxed) != 0) [[unlikely]]
      close_one(request);
  }
  // How many there were.
  [[nodiscard]] uint64_t opened() const noexcept { return opened_.load(std::memory_order_relaxed); }
  // Whether [address, address + length) touches the buffer of one of the first `opened` sends,
  // which has not ended since. `first`: that send, unless it was returned before.
  [[nodiscard]] bool changed(const void* address, size_t length, uint64_t opened,
                             std::optional<ChangedSend>* first) noexcept;

 private:
  struct Send {
    uintptr_t begin;
    size_t bytes;
    Caller caller;
    uint64_t number;
    bool reported;
  };
  // Those whose completion never shows must not pile up.
  static constexpr size_t kMost = 1 << 16;

  void close_one(const void* request) noexcept;

  std::mutex mutex_;
  std::atomic<size_t> count_{0};
  std::atomic<uint64_t> opened_{0};
  std::unordered_map<const void*, Send> sends_;  // by request
};

}  // namespace verity::mpi

#endif
