// SPDX-License-Identifier: BSD-3-Clause
//
// What is kept of one ucp_worker_h: its receives, the messages that a removing probe took, the
// interfaces below it. And the calls of the plugin, which know the worker by its uct_worker_h.
#ifndef VERITY_MPI_UCP_WORKER_H
#define VERITY_MPI_UCP_WORKER_H

#include <memory>
#include <unordered_map>
#include <vector>

#include "mpi/matching/active_sends.h"
#include "mpi/matching/open_sends.h"
#include "mpi/matching/receive_matcher.h"
#include "mpi/matching/send_matcher.h"
#include "mpi/ucp/attach.h"
#include "mpi/ucp/lock.h"
#include "util/interposer.h"

namespace verity::mpi {

// A message that a matched probe (ucp_tag_probe_nb) dequeued, until ucp_tag_msg_recv() fetches it:
// its signature may be certain before that, or only after.
class MatchedMessage final : public Receive {
 public:
  void resolved(const uint8_t* signature, size_t length, size_t received) noexcept override;
  void dropped() noexcept override {}
  // It is fetched into this receive (nullptr: none). True: it has been resolved, and the object
  // may go.
  [[nodiscard]] bool fetch(Receive* receive) noexcept;
  [[nodiscard]] bool is_certain() const noexcept { return certain_; }

 private:
  bool certain_ = false, fetched_ = false;
  Receive* receive_ = nullptr;
  size_t length_ = 0, received_ = 0;
  uint8_t bytes_[kMaxSignature];
};

struct Worker {
  const void* handle = nullptr;    // ucp_worker_h
  std::vector<const void*> below;  // uct_worker_h
  ReceiveMatcher receives;
  std::unordered_map<const void*, std::unique_ptr<MatchedMessage>> matched;  // by ucp_tag_message_h
  std::vector<std::unique_ptr<MatchedMessage>> fetched;                      // not certain yet
};

// More than 15 fields: what is shared by all workers, three callbacks included. One lock,
// recursive, taken around each UCP call where several threads may be in MPI: UCP's callbacks run
// inside.
class Workers {
 public:
  explicit Workers(uint32_t uid) : sends(uid) {}

  [[nodiscard]] Worker* find(const void* handle) noexcept {
    return last_ != nullptr && last_->handle == handle ? last_ : last_ = search(handle);
  }
  // nullptr: it is not the one that was found last.
  [[nodiscard]] Worker* last(const void* handle) const noexcept {
    return last_ != nullptr && last_->handle == handle ? last_ : nullptr;
  }
  [[nodiscard]] Worker* find_below(const void* uct_worker) noexcept {
    return uct_worker == last_below_ ? last_above_ : search_below(uct_worker);
  }
  // As last().
  [[nodiscard]] Worker* last_below(const void* uct_worker) const noexcept {
    return uct_worker == last_below_ ? last_above_ : nullptr;
  }
  // Returns nullptr when memory is out: that worker is not checked.
  Worker* create() noexcept;
  void destroy(const void* handle) noexcept;

  SendMatcher sends;
  ActiveSends actives;
  OpenSends open_sends;
  uint64_t attached = 0, arrived = 0;
  uint64_t resolved_before = 0, uncertain_before = 0;  // of workers that are gone
  void (*on_arrival)(const uint8_t* signature, size_t length) noexcept = nullptr;
  size_t receives_under_way = 0;
  unsigned in_progress = 0;                  // calls that run UCP's callbacks, within each other
  size_t least_arrival = kMaxSignature + 1;  // of as many bytes; no signature is longer
  void (*on_change)(const ChangedSend& send) noexcept = nullptr;
  void (*on_collective)() noexcept = nullptr;
  PolledLock lock;
  static inline constinit bool shared = false;  // several threads may be in MPI: the lock is needed

  [[nodiscard]] const std::vector<std::unique_ptr<Worker>>& all() const noexcept {
    return workers_;
  }

 private:
  [[nodiscard, gnu::cold]] Worker* search(const void* handle) const noexcept;
  [[nodiscard]] Worker* search_below(const void* uct_worker) noexcept;

  std::vector<std::unique_ptr<Worker>> workers_;
  // The last answers: most processes have one worker.
  Worker* last_ = nullptr;
  const void* last_below_ = nullptr;
  Worker* last_above_ = nullptr;
};

// Never destroyed: messages may travel until the end of the process.
extern constinit Workers* all_workers __attribute__((visibility("hidden")));
// Before any use of workers(). Again: nothing.
void make_workers() noexcept;
[[nodiscard]] inline Workers& workers() noexcept { return *all_workers; }

// The call that attached a collective operation is at work.
inline void begin_collective() noexcept {
  if (attachments.collective.length == 0 || attachments.collective.begun) [[likely]]
    return;
  attachments.collective.begun = true;
  if (workers().on_collective != nullptr) workers().on_collective();
}

class Locked {
 public:
  Locked() noexcept : lock_(Workers::shared ? &workers().lock : nullptr) {
    if (lock_ != nullptr) [[unlikely]]
      lock_->lock();
  }
  ~Locked() {
    if (lock_ != nullptr) [[unlikely]]
      lock_->unlock();
  }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  PolledLock* lock_;
};

}  // namespace verity::mpi

#endif
