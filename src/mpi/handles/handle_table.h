// SPDX-License-Identifier: BSD-3-Clause
// What is known about MPI handles (datatypes, communicators): a table for the process, and before
// it a small one for each thread.
//
// An Info is counted by reference and its memory is never freed, only reused: so a thread may
// read one from its cache without a lock. As long as the Info's key is that of the handle looked
// up, it is the right one.
#ifndef VERITY_MPI_HANDLES_HANDLE_TABLE_H
#define VERITY_MPI_HANDLES_HANDLE_TABLE_H

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <mutex>
#include <optional>
#include <type_traits>
#include <unordered_map>
#include <utility>

#include "mpi/handles/ending_handles.h"
#include "mpi/process/counting.h"

namespace verity::mpi {

// Base of what a HandleTable keeps.
template <typename Handle>
struct HandleInfo {
  // Never 0: a handle is an int or the address of something.
  [[nodiscard]] static uint64_t key_of(Handle handle) noexcept {
    if constexpr (std::is_pointer_v<Handle>) {
      return reinterpret_cast<uintptr_t>(handle) + 1;
    } else {
      return static_cast<uint64_t>(int64_t{handle} - std::numeric_limits<Handle>::min()) + 1;
    }
  }
  [[nodiscard]] bool current() const noexcept { return key.load(std::memory_order_acquire) != 0; }
  // Hidden by one's own where handles are doubted.
  [[nodiscard]] static bool is_like(const HandleInfo&) noexcept { return false; }

  std::atomic<uint64_t> key{0};  // while the table has it under its handle, and does not doubt it
  std::atomic<Handle> handle{};
  std::atomic<unsigned> references{0};
  bool permanent = false;  // its handle is never freed: nothing is counted
};

// Info: derived from HandleInfo<Handle>, default constructible, with void clear() noexcept, which
// frees what it holds.
template <typename Handle, typename Info>
class HandleTable {
 public:
  // A reference that outlives the handle.
  class Ref {
   public:
    Ref() noexcept = default;
    explicit Ref(Info* info) noexcept { set(info); }
    // Precondition: it refers to nothing.
    void set(Info* info) noexcept {
      info_ = info;
      if (!info->permanent) add(info->references, 1u);
    }
    Ref(Ref&& other) noexcept : info_(std::exchange(other.info_, nullptr)) {}
    Ref& operator=(Ref&& other) noexcept {
      std::swap(info_, other.info_);
      return *this;
    }
    ~Ref() { reset(); }
    void reset() noexcept {
      if (info_ != nullptr) give_back(std::exchange(info_, nullptr));
    }
    static void give_back(Info* info) noexcept {
      if (!info->permanent && add(info->references, ~0u) == 1) [[unlikely]]
        recycle(info);
    }
    [[nodiscard]] Info* operator->() const noexcept { return info_; }
    [[nodiscard]] Info& operator*() const noexcept { return *info_; }
    [[nodiscard]] explicit operator bool() const noexcept { return info_ != nullptr; }

   private:
    Info* info_ = nullptr;
  };

  // For the time of a call that ends a handle, which has been dropped: what it is is not entered
  // again, by any thread, as no call would drop it.
  class Ending {
   public:
    explicit Ending(Handle handle) noexcept : depth_(own_calls_.count) {
      const std::lock_guard lock(mutex());
      ending_.add(own_calls_, handle);
    }
    ~Ending() { keep(depth_); }
    Ending(const Ending&) = delete;
    Ending& operator=(const Ending&) = delete;
    // All such calls of this thread have been left without returning from them.
    static void forget_all() noexcept {
      if (own_calls_.count != 0) keep(0);
    }
    // The same where the handles may be in use still: those that are known, and any others.
    static void abandon(void (*each)(Handle), void (*others)()) noexcept {
      for (size_t depth = 0; depth < own_calls_.count; ++depth) {
        if (const std::optional<Handle> handle = handle_of(depth)) {
          each(*handle);
        } else {
          others();
        }
      }
      forget_all();
    }

   private:
    static void keep(size_t depth) noexcept {
      const std::lock_guard lock(mutex());
      ending_.keep(own_calls_, depth);
    }
    static std::optional<Handle> handle_of(size_t depth) noexcept {
      const std::lock_guard lock(mutex());
      return ending_.handle_of(own_calls_, depth);
    }

    size_t depth_;
  };

  // What this thread's cache has of a handle that is in use, or nullptr.
  [[nodiscard]] static Info* recall(Handle handle) noexcept {
    Info* cached = cache_[index(handle)];
    const bool right =
        cached != nullptr && cached->key.load(std::memory_order_acquire) == Info::key_of(handle);
    return right ? cached : nullptr;
  }

  // What is known about a handle that is in use; made by fill(Info*), with no lock held, at first
  // sight. Valid until drop(). nullptr: it is ending.
  template <typename Fill>
  [[nodiscard]] static Info* find(Handle handle, Fill&& fill) {
    Info* remembered = recall(handle);
    return remembered != nullptr
               ? remembered
               : cache_[index(handle)] = look_up(handle, std::forward<Fill>(fill));
  }

  // Of a handle that find() says is ending: another thread ends it, and this one uses it in a
  // callback, or has the same one for something new. In no table, for this use alone.
  template <typename Fill>
  [[nodiscard]] static Ref make_unshared(Fill&& fill) {
    Info* made = filled(std::forward<Fill>(fill));
    made->permanent = false;
    made->references.store(0, std::memory_order_relaxed);
    return Ref(made);
  }

  // The same without making it: nullptr when the handle was never seen.
  [[nodiscard]] static Info* known(Handle handle) {
    const std::lock_guard lock(mutex());
    const auto it = map().find(handle);
    return it == map().end() ? nullptr : it->second;
  }

  // The handle is freed: it may come again for something else.
  static void drop(Handle handle) noexcept {
    Info* info = nullptr;
    {
      const std::lock_guard lock(mutex());
      const auto it = map().find(handle);
      if (it == map().end() || it->second->permanent) return;
      info = it->second;
      map().erase(it);
      info->key.store(0, std::memory_order_release);
      this_process.handle_generation.fetch_add(1, std::memory_order_release);
    }
    release(info);
  }

  // The handle may have been freed, and come again for something else: what is known of it is
  // compared with what it is, when it is next looked up. Threads that use it go on.
  static void doubt(Handle handle) noexcept {
    const std::lock_guard lock(mutex());
    const auto it = map().find(handle);
    if (it == map().end() || it->second->permanent) return;
    it->second->key.store(0, std::memory_order_release);
    this_process.handle_generation.fetch_add(1, std::memory_order_release);
  }

  // MPI has ended, and with it all handles but the predefined ones; it may begin again.
  static void drop_all() noexcept {
    while (const std::optional<Handle> handle = any_handle()) drop(*handle);
  }

  static void release(Info* info) noexcept {
    if (add(info->references, ~0u) == 1) recycle(info);
  }
  // Nobody refers to it.
  [[gnu::cold, gnu::noinline]] static void recycle(Info* info) noexcept {
    info->clear();
    const std::lock_guard lock(mutex());
    put_free(info);
  }

 private:
  static constexpr size_t kCached = 64;

  static size_t index(Handle handle) noexcept {
    const auto bits = static_cast<uint64_t>((uintptr_t)handle);
    return bits * 0x9e3779b97f4a7c15ull >> 58;
  }

  // Never destroyed: threads may still run when the process ends.
  static std::mutex& mutex() noexcept {
    static auto& made = *new std::mutex;
    return made;
  }
  static std::unordered_map<Handle, Info*>& map() noexcept {
    static auto& made = *new std::unordered_map<Handle, Info*>;
    return made;
  }

  // One that may be freed.
  static std::optional<Handle> any_handle() noexcept {
    const std::lock_guard lock(mutex());
    for (const auto& [handle, info] : map()) {
      if (!info->permanent) return handle;
    }
    return std::nullopt;
  }

  // A new one, which is not lost where an error handler of the program throws through `fill`.
  template <typename Fill>
  static Info* filled(Fill&& fill) {
    struct Made {
      Info* info = take();
      ~Made() {
        if (info == nullptr) return;
        const std::lock_guard lock(mutex());
        put_back(info);
      }
    } made;
    fill(made.info);
    return std::exchange(made.info, nullptr);
  }

  template <typename Fill>
  static Info* look_up(Handle handle, Fill&& fill) {
    {
      const std::lock_guard lock(mutex());
      const auto it = map().find(handle);
      if (it != map().end() && it->second->current()) return it->second;
      if (ending_.may_hold(handle)) return nullptr;
    }
    Info* made = filled(std::forward<Fill>(fill));
    Info* other = nullptr;  // which had the handle before
    Info* const entered = enter(handle, made, &other);
    if (other != nullptr) release(other);
    return entered;
  }
  static Info* enter(Handle handle, Info* made, Info** other_p) {
    const std::lock_guard lock(mutex());
    const auto [it, added] = map().try_emplace(handle, made);
    Info* const known = it->second;
    if (!added && known->current()) {  // another thread was faster
      put_back(made);
      return known;
    }
    if (ending_.may_hold(handle)) {  // since it was filled
      if (added) map().erase(it);
      put_back(made);
      return nullptr;
    }
    if (!added && known->is_like(*made)) {
      put_back(made);
      known->key.store(Info::key_of(handle), std::memory_order_release);
      return known;
    }
    if (!added) *other_p = std::exchange(it->second, made);
    made->references.store(1, std::memory_order_relaxed);
    made->handle.store(handle, std::memory_order_relaxed);
    made->key.store(Info::key_of(handle), std::memory_order_release);
    return made;
  }

  // Under the mutex.
  static void put_free(Info* info) noexcept {
    info->next_free = free_;
    free_ = info;
  }
  static void put_back(Info* never_used) noexcept {
    never_used->clear();
    put_free(never_used);
  }
  static Info* take() {
    const std::lock_guard lock(mutex());
    if (free_ == nullptr) return new Info;
    return std::exchange(free_, free_->next_free);
  }

  static inline constinit thread_local std::array<Info*, kCached> cache_
      __attribute__((tls_model("initial-exec"))) = {};
  static inline constinit thread_local typename EndingHandles<Handle>::Calls own_calls_
      __attribute__((tls_model("initial-exec"))) = {};
  static inline constinit EndingHandles<Handle> ending_;  // of all threads
  static inline constinit Info* free_ = nullptr;
};

}  // namespace verity::mpi

#endif
