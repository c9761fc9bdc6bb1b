// SPDX-License-Identifier: BSD-3-Clause
// The handles that calls of any thread are about to end. Callbacks of such a call may use its
// handle, in other threads too, and another thread may get the same handle for something new before
// the call returns.
//
// A plain array, as calls may be left without returning from them, and threads may run when the
// process ends. Its user holds a lock.
#ifndef VERITY_MPI_HANDLES_ENDING_HANDLES_H
#define VERITY_MPI_HANDLES_ENDING_HANDLES_H

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace verity::mpi {

template <typename Handle>
class EndingHandles {
 public:
  static constexpr size_t kMost = 256;

  // A thread's calls that end a handle, within each other.
  struct Calls {
    uint64_t thread = 0;  // no other thread has it, nor one that ended before; 0: not yet known
    size_t count = 0;
  };

  // A further call of the thread, within its others.
  void add(Calls& calls, Handle handle) noexcept {
    if (calls.thread == 0) calls.thread = ++last_thread_;
    const size_t depth = calls.count++;
    if (count_ == kMost) {
      ++unknown_;
    } else {
      all_[count_++] = {handle, calls.thread, depth};
    }
  }
  // Of the thread's calls the first `depth` ones remain.
  void keep(Calls& calls, size_t depth) noexcept {
    if (calls.count <= depth) return;
    const auto end = all_.begin() + count_;
    const auto rest = std::remove_if(all_.begin(), end, [&](const One& one) {
      return one.thread == calls.thread && one.depth >= depth;
    });
    unknown_ -= calls.count - depth - static_cast<size_t>(end - rest);
    count_ = static_cast<size_t>(rest - all_.begin());
    calls.count = depth;
  }
  // The handle of a call of the thread, unless there was no room for it.
  [[nodiscard]] std::optional<Handle> handle_of(const Calls& calls, size_t depth) const noexcept {
    const auto end = all_.begin() + count_;
    const auto found = std::find_if(all_.begin(), end, [&](const One& one) {
      return one.thread == calls.thread && one.depth == depth;
    });
    return found != end ? std::optional(found->handle) : std::nullopt;
  }
  // Each handle may be one of those that there was no room for.
  [[nodiscard]] bool may_hold(Handle handle) const noexcept {
    return unknown_ != 0 || std::any_of(all_.begin(), all_.begin() + count_,
                                        [&](const One& one) { return one.handle == handle; });
  }

 private:
  struct One {
    Handle handle;
    uint64_t thread;
    size_t depth;  // calls of the thread around this one
  };
  std::array<One, kMost> all_{};
  size_t count_ = 0;
  size_t unknown_ = 0;  // further calls, whose handles there was no room for
  uint64_t last_thread_ = 0;
};

}  // namespace verity::mpi

#endif
