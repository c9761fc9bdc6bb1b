// SPDX-License-Identifier: BSD-3-Clause
// Sends that have returned and whose first active message has not been transmitted, by their
// requests and in the order of their calls.
//
// The requests of some are released, and nothing shows that these are complete. Where too many of
// them pile up, checking of their tags is disabled; where too many sends are pending, checking of
// all tags.
//
// Others have their request in memory of the caller's (Open MPI's blocking sends: on the stack),
// and nothing need show that these are complete either: a caller that polls is seen to do so, but
// it may read the status otherwise. Such memory is used again from any address on.
#ifndef VERITY_MPI_MATCHING_PENDING_SENDS_H
#define VERITY_MPI_MATCHING_PENDING_SENDS_H

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <tuple>
#include <unordered_set>
#include <utility>

#include "mpi/matching/message.h"
#include "mpi/matching/send_numbering.h"
#include "mpi/matching/stamp.h"

namespace verity::mpi {

struct Send {
  const void* endpoint = nullptr;
  const void* buffer = nullptr;
  uint64_t tag = 0;
  SendNumber number{0, 0};
  uint64_t order = 0;  // of the calls of those that are pending, whose numbers wrap; 0: not yet one
  size_t length = 0;   // 0: no signature
  bool transmitted = false;
  bool ambiguous = false;  // one of several was transmitted, and it is not known which
  bool released = false;
  bool in_own_memory = false;  // the request, in the caller's: see PendingSends
  const void* head = nullptr;  // the caller's, while the call lasts; else `bytes`
  const uint8_t* tail = nullptr;
  uint8_t bytes[kMaxSignature];
  static_assert(kMaxSignature % util::kWord == 0);

  Send() noexcept {}  // `bytes` as they are
  void copy_signature(uint8_t* out, const Stamp& stamp) const noexcept {
    copy_stamped(out, head != nullptr ? head : bytes, head != nullptr ? tail : bytes + kHead,
                 length, stamp);
  }
  // It may have ended, as its completion need not show.
  [[nodiscard]] bool may_have_ended() const noexcept { return released || in_own_memory; }
};

class PendingSends {
 public:
  using ByRequest = std::map<uintptr_t, Send>;
  using Entry = ByRequest::value_type;

  // Released sends of a tag that is still checked, and tags that are not; most pending sends.
  static constexpr size_t kMostReleased = 64;
  static constexpr size_t kMostInOwnMemory = 1024;  // as many; one thread has one, as a rule
  static constexpr size_t kMostDisabled = 1024;
  static constexpr size_t kMost = 1 << 16;

  // Bytes of a UCP request in front of the address that the user sees; 0: not known, then
  // find_by_origin() finds nothing.
  void set_request_size(size_t bytes) noexcept { request_size_ = bytes; }
  [[nodiscard]] bool knows_requests() const noexcept { return request_size_ != 0; }

  [[nodiscard]] bool empty() const noexcept { return sends_.empty(); }
  [[nodiscard]] size_t size() const noexcept { return sends_.size(); }
  [[nodiscard]] bool any_disabled() const noexcept { return disabled_ != Disabled::kNone; }
  [[nodiscard]] bool is_disabled(uint64_t tag) const noexcept {
    return any_disabled() && (disabled_ == Disabled::kAll || disabled_tags_.contains(tag));
  }

  // The send's signature is copied. Takes the place of an older one of the same request; one that
  // was removed before has its old place in the order.
  void add(uintptr_t request, const Send& send) noexcept;
  // The request is complete, or reused.
  void remove(const void* request) noexcept;
  void remove(const Entry& entry) noexcept;
  // The request is released while the send is under way: its completion will not show.
  void release(const void* request) noexcept;
  // A request of the caller's is made there: those that were in this memory are complete.
  void reuse(const void* request) noexcept;

  [[nodiscard]] bool any_in_own_memory() const noexcept {
    return in_own_memory_.load(std::memory_order_relaxed) != 0;
  }

  // The send with that tag whose request holds the address, or the one that is the first word of
  // the struct there. nullptr: none.
  // `is_certain`: false where the memory may be another send's by now.
  [[nodiscard]] Entry* find_by_origin(uint64_t tag, const void* origin, bool* is_certain) noexcept;
  // The send with that tag whose request holds the address, which is not read. nullptr: none.
  [[nodiscard]] Entry* find_around(uint64_t tag, uintptr_t address) noexcept;
  // Of those with that tag to that endpoint the one called first. nullptr: none.
  [[nodiscard]] Entry* find_first(const void* endpoint, uint64_t tag) noexcept;

  // Calls `visit` with each send of that tag.
  template <typename Visit>
  void for_each(uint64_t tag, Visit&& visit) {
    for (auto& [request, send] : sends_) {
      if (send.tag == tag) visit(send);
    }
  }

 private:
  using Order = std::tuple<const void*, uint64_t, uint64_t>;  // endpoint, tag, order

  [[nodiscard]] static Order order_of(const Send& send) noexcept {
    return {send.endpoint, send.tag, send.order};
  }
  ByRequest::iterator erase(ByRequest::const_iterator place) noexcept;
  template <typename Predicate>
  void disable_tags_of(Predicate&& is_one) noexcept;
  void disable_all() noexcept;

  size_t request_size_ = 0;
  ByRequest sends_;
  std::map<Order, uintptr_t> in_order_;
  uint64_t last_order_ = 0;
  size_t released_ = 0;
  std::atomic<size_t> in_own_memory_ = 0;  // changed under the caller's lock
  enum class Disabled : uint8_t { kNone, kSome, kAll } disabled_ = Disabled::kNone;
  std::unordered_set<uint64_t> disabled_tags_;
};

}  // namespace verity::mpi

#endif
