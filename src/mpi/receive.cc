// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/receive.h"

#include <pthread.h>

#include <mutex>
#include <new>
#include <utility>

#include "mpi/digest.h"
#include "mpi/findings.h"
#include "mpi/landings.h"
#include "mpi/state.h"
#include "signature/rules.h"

namespace verity::mpi {

namespace {

struct List {
  PostedReceive* first = nullptr;
  unsigned length = 0;
  bool watched = false;
};

}  // namespace

// Receives that are not in use: a few with each thread, the others in a list for all.
class ReceivePool {
 public:
  static PostedReceive* take() noexcept {
    if (own_.first == nullptr) refill();
    PostedReceive* taken = own_.first;
    if (taken == nullptr) return new (std::nothrow) PostedReceive;
    own_.first = taken->next_;
    --own_.length;
    return taken;
  }
  static void give(PostedReceive* receive) noexcept {
    if (own_.length == kMost) {
      const std::lock_guard lock(mutex_);
      receive->next_ = std::exchange(all_, receive);
      return;
    }
    watch_thread();
    receive->next_ = std::exchange(own_.first, receive);
    ++own_.length;
  }

 private:
  static constexpr unsigned kMost = 256;

  static void refill() noexcept {
    const std::lock_guard lock(mutex_);
    while (all_ != nullptr && own_.length < kMost / 2) {
      PostedReceive* moved = std::exchange(all_, all_->next_);
      moved->next_ = std::exchange(own_.first, moved);
      ++own_.length;
    }
  }
  // What a thread has when it ends goes to the others.
  static void watch_thread() noexcept {
    if (own_.watched) [[likely]] return;
    static const pthread_key_t key = [] {
      pthread_key_t made{};
      pthread_key_create(&made, [](void*) { thread_ends(); });
      return made;
    }();
    pthread_setspecific(key, &own_);
    own_.watched = true;
  }
  static void thread_ends() noexcept {
    const std::lock_guard lock(mutex_);
    while (own_.first != nullptr) {
      PostedReceive* moved = std::exchange(own_.first, own_.first->next_);
      moved->next_ = std::exchange(all_, moved);
    }
    own_ = {};
  }

  static inline constinit std::mutex mutex_;
  static inline constinit PostedReceive* all_ = nullptr;
  static inline constinit thread_local List own_ __attribute__((tls_model("initial-exec"))) = {};
};

PostedReceive* PostedReceive::make(TypeInfo* type, MPI_Count count, CommInfo* comm, Envelope envelope, uint64_t site,
                                   const char* call) noexcept {
  PostedReceive* made = ReceivePool::take();
  if (made == nullptr) return nullptr;
  Facts& facts = made->facts_;
  facts.type = TypeRef(type);
  facts.comm = CommRef(comm);
  facts.count = static_cast<uint64_t>(count);
  facts.envelope = envelope;
  facts.site = site;
  facts.call = call;
  return made;
}

void PostedReceive::want_data(const void* address) noexcept {
  const uint64_t bytes = facts_.type->digestible(facts_.count);
  if (bytes == 0) return;
  address_ = address;
  wants_data = Landings::begin(this, facts_.type->layout, address, facts_.count);
}

// What the program does with the buffer later plays no part, even if it is certain only then what should be in it.
void PostedReceive::landed(size_t received) noexcept {
  wants_data = false;
  const bool alone = Landings::end(this);
  const uint64_t room = facts_.type->digestible(facts_.count);
  if (alone && received != 0 && received <= room) digest_ = digest_of(facts_.type->layout, address_, received);
}

void PostedReceive::resolved(const uint8_t* signature, size_t length, size_t received) noexcept {
  signature::Record own;
  const bool same = length != 0 && facts_.type->checkable && signature::says(signature, length, facts_.type->record(facts_.count, &own));
  if (same) [[likely]] {
    count_checked();
    if (digest_) [[unlikely]] check_data(signature, length, received);
  } else {
    check(signature, length, received);
  }
  end();
}

void PostedReceive::dropped() noexcept { end(); }

inline void PostedReceive::end() noexcept {
  if (wants_data) [[unlikely]] (void)Landings::end(this);
  wants_data = false;
  digest_.reset();
  facts_.type.reset();
  facts_.comm.reset();
  ReceivePool::give(this);
}

void PostedReceive::check(const uint8_t* bytes, size_t length, size_t received) noexcept {
  if (bytes == nullptr) return count_unchecked(Unchecked::kUnsigned);
  if (!facts_.type->checkable) return count_unchecked(Unchecked::kUndecoded);
  if (agrees(bytes, length, received) && digest_) check_data(bytes, length, received);
}

// Counts and tells what it finds of the types. True: what arrived are the bytes of the sender's elements, in their order.
bool PostedReceive::agrees(const uint8_t* bytes, size_t length, size_t received) noexcept {
  signature::Record record;
  std::span<const uint8_t> description;
  if (signature::read_record(bytes, length, &record, &description) != nullptr) {
    count_unchecked(Unchecked::kUnreadable);
    return false;
  }
  if (find_digest(bytes, length, received)) description = description.first(description.size() - kDigestSize);
  const uint64_t room = signature::multiply_counts(facts_.type->type.bytes(), facts_.count);
  const signature::Received posted{.type = facts_.type->type,
                                   .copies = facts_.count,
                                   .bytes = received > room ? room : signature::kWhole};
  const signature::Verdict verdict = signature::compare(record, description, posted, settings().level);
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
  add_data_finding(record, description.first(description.size() - kDigestSize), received, std::move(facts_));
}

Receiving::Receiving(const void* address, MPI_Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm) noexcept {
  if (source == MPI_PROC_NULL || count < 0 || !mpi_runs()) return;
  CommInfo* known = find_comm(comm);
  TypeInfo* type = known != nullptr ? find_type(datatype) : nullptr;
  if (type != nullptr) arm(type, address, count, settings().digest, known, {source, tag}, thread.site);
}

Receiving::Receiving(TypeInfo* type, Data data, CommInfo* comm, Envelope envelope, uint64_t site) noexcept {
  arm(type, data.address, data.count, settings().digest && data.digested, comm, envelope, site);
}

inline void Receiving::arm(TypeInfo* type, const void* address, MPI_Count count, bool digested, CommInfo* comm, Envelope envelope,
                           uint64_t site) noexcept {
  if (comm->filter.mask == 0) return;
  PostedReceive* receive = PostedReceive::make(type, count, comm, envelope, site, thread.name);
  if (digested && receive != nullptr) [[unlikely]] receive->want_data(address);
  armed.receive.filter = comm->filter;
  armed.receive.receive = receive;
}

}  // namespace verity::mpi
