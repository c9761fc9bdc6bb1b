// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/check/posted_receive.h"

#include <pthread.h>

#include <mutex>
#include <new>
#include <utility>

#include "mpi/check/findings.h"
#include "mpi/digest/digest.h"
#include "mpi/digest/landings.h"
#include "signature/rules.h"

namespace verity::mpi {

// Receives that are not in use: a few with each thread, the others in a list for all.
class ReceivePool {
 public:
  // nullptr: no memory.
  static PostedReceive* take() noexcept {
    PostedReceive* taken = thread.free_receives.first;
    if (taken == nullptr) return take_other();
    PostedReceive::take_first();
    return taken;
  }
  static void give(PostedReceive* receive) noexcept {
    if (thread.free_receives.room == 0) [[unlikely]]
      return give_other(receive);
    receive->next_ = thread.free_receives.first;
    thread.free_receives.first = receive;
    --thread.free_receives.room;
  }

 private:
  static constexpr unsigned kMost = 256;

  [[gnu::cold, gnu::noinline]] static PostedReceive* take_other() noexcept {
    watch_thread();
    {
      const std::lock_guard lock(mutex_);
      while (all_ != nullptr && thread.free_receives.room > kMost / 2)
        give(std::exchange(all_, all_->next_));
      if (thread.free_receives.first == nullptr && all_ != nullptr)
        return std::exchange(all_, all_->next_);
    }
    return thread.free_receives.first != nullptr ? take() : new (std::nothrow) PostedReceive;
  }
  [[gnu::cold, gnu::noinline]] static void give_other(PostedReceive* receive) noexcept {
    watch_thread();
    if (thread.free_receives.room != 0) return give(receive);
    const std::lock_guard lock(mutex_);
    receive->next_ = std::exchange(all_, receive);
  }
  // What a thread has when it ends goes to the others.
  static void watch_thread() noexcept {
    if (thread.free_receives.watched) [[likely]]
      return;
    static pthread_key_t key;
    static const bool has_key = pthread_key_create(&key, [](void*) { thread_ends(); }) == 0;
    thread.free_receives.watched = true;
    // Else nothing would show that the thread ends: the list for all serves it.
    if (has_key && pthread_setspecific(key, &thread.free_receives) == 0)
      thread.free_receives.room = kMost;
  }
  static void thread_ends() noexcept {
    const std::lock_guard lock(mutex_);
    while (thread.free_receives.first != nullptr) {
      PostedReceive* moved =
          std::exchange(thread.free_receives.first, thread.free_receives.first->next_);
      moved->next_ = std::exchange(all_, moved);
    }
    thread.free_receives = {};
  }

  static inline constinit std::mutex mutex_;
  static inline constinit PostedReceive* all_ = nullptr;
};

PostedReceive* PostedReceive::make(TypeInfo* type, MPI_Count count, CommInfo* comm,
                                   Envelope envelope, uint64_t site, const char* call) noexcept {
  PostedReceive* made = ReceivePool::take();
  if (made != nullptr) made->begin(type, count, comm, envelope, site, call);
  return made;
}

void PostedReceive::want_data(const void* address) noexcept {
  const uint64_t bytes = facts_.type->digestible(facts_.count);
  if (bytes == 0) return;
  address_ = address;
  packed_ = nullptr;
  wants_data = Landings::begin(this, facts_.type->layout, address, facts_.count);
}

// What the program does with the buffer later plays no part, even if it is certain only then what
// should be in it.
void PostedReceive::landed(size_t received) noexcept {
  wants_data = false;
  const bool alone = Landings::end(this);
  const uint64_t room = facts_.type->digestible(facts_.count);
  if (!alone || received == 0 || received > room) return;
  digest_ = packed_ != nullptr ? digest_of_packed(packed_, received)
                               : digest_of(facts_.type->layout, address_, received);
}

inline void PostedReceive::end() noexcept {
  if (wants_data) [[unlikely]]
    (void)Landings::end(this);
  wants_data = false;
  facts_.type.reset();
  facts_.comm.reset();
  ReceivePool::give(this);
}

[[gnu::hot]] void PostedReceive::resolved(const uint8_t* signature, size_t length,
                                          size_t received) noexcept {
  const signature::Record* own = facts_.type->kept(TypeInfo::kReceived, facts_.count);
  if (own == nullptr || digest_ || !signature::says(signature, length, *own)) [[unlikely]] {
    return resolved_slow_path(signature, length, received);
  }
  count_checked();
  end();
}

[[gnu::noinline]] void PostedReceive::resolved_slow_path(const uint8_t* signature, size_t length,
                                                         size_t received) noexcept {
  if (has_same_record(signature, length)) {
    count_checked();
    if (digest_) check_data(signature, length, received);
  } else {
    check(signature, length, received);
  }
  digest_.reset();
  end();
}

// By comparing their bytes, without reading the record.
bool PostedReceive::has_same_record(const uint8_t* signature, size_t length) noexcept {
  TypeInfo& type = *facts_.type;
  if (length == 0 || !type.checkable) return false;
  const signature::Record* kept = type.kept(TypeInfo::kReceived, facts_.count);
  if (kept != nullptr) return signature::says(signature, length, *kept);
  const signature::Record own = type.record(facts_.count);
  type.keep(TypeInfo::kReceived, facts_.count, own);
  return signature::can_say(own) && signature::says(signature, length, own);
}

void PostedReceive::dropped() noexcept {
  digest_.reset();
  end();
}

void PostedReceive::check(const uint8_t* bytes, size_t length, size_t received) noexcept {
  if (bytes == nullptr) return count_unchecked(Unchecked::kUnsigned);
  if (!facts_.type->checkable) return count_unchecked(Unchecked::kUndecoded);
  if (agrees(bytes, length, received) && digest_) check_data(bytes, length, received);
}

// Counts and reports what it finds of the types. True: what arrived are the bytes of the sender's
// elements, in their order.
bool PostedReceive::agrees(const uint8_t* bytes, size_t length, size_t received) noexcept {
  signature::Record record;
  std::span<const uint8_t> description;
  if (signature::read_record(bytes, length, &record, &description) != nullptr) {
    count_unchecked(Unchecked::kUnreadable);
    return false;
  }
  if (find_digest(bytes, length, received))
    description = description.first(description.size() - kDigestSize);
  const uint64_t room = signature::multiply_counts(facts_.type->type.bytes(), facts_.count);
  const signature::Received posted{.type = facts_.type->type,
                                   .copies = facts_.count,
                                   .bytes = received > room ? room : signature::kWhole};
  const signature::Verdict verdict =
      signature::compare(record, description, posted, settings().level);
  if (verdict.outcome == signature::Outcome::kNoCheck) {
    count_unchecked(verdict.reason);
    return verdict.reason == signature::Reason::kByte;
  }
  count_checked();
  if (verdict.outcome == signature::Outcome::kEqual) return true;
  add_finding(verdict, record, description, posted, std::move(facts_));
  return false;
}

void PostedReceive::check_data(const uint8_t* bytes, size_t length, size_t received) noexcept {
  const std::optional<uint64_t> sent = find_digest(bytes, length, received);
  if (!sent) return;
  count_data(*sent == *digest_);
  if (*sent == *digest_) return;
  signature::Record record;
  std::span<const uint8_t> description;
  if (signature::read_record(bytes, length, &record, &description) != nullptr) return;
  add_data_finding(record, description.first(description.size() - kDigestSize), received,
                   std::move(facts_));
}

}  // namespace verity::mpi
