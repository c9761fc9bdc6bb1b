// SPDX-License-Identifier: BSD-3-Clause
//
// Flushes that wait, oldest first. Their completions may do anything with the list: each is called
// when its flush stands in it no more, and the list is looked through anew behind it.
#ifndef VERITY_UCT_LINKS_FLUSH_QUEUE_H
#define VERITY_UCT_LINKS_FLUSH_QUEUE_H

#include <algorithm>
#include <vector>

#include "link/state/link.h"
#include "uct/compat/ucx.h"

namespace verity::uct {

// What was under way when a flush began: what was started since does not keep it waiting.
struct Covered {
  link::Psns psn{};  // behind the newest frames
  uint32_t put_mark = 0;
  uint32_t reads = 0;  // ReadOwner::open_until_now()
};

template <typename Ep>
class FlushQueue {
 public:
  struct Request {
    Ep* ep;  // nullptr: the interface
    unsigned flags;
    uct_completion_t* comp;
    Covered covered{};  // meaningful with an endpoint
  };

  [[nodiscard]] bool empty() const noexcept { return waiting_.empty(); }

  [[nodiscard]] bool has(const Ep* ep) const noexcept {
    return std::any_of(waiting_.begin(), waiting_.end(),
                       [ep](const Request& request) { return request.ep == ep; });
  }

  // UCS_INPROGRESS, or why not. Without a completion the caller tries again.
  [[nodiscard]] ucs_status_t add(const Request& request) noexcept {
    if (request.comp == nullptr) return UCS_INPROGRESS;
    return guarded([&] {
      waiting_.push_back(request);
      return UCS_INPROGRESS;
    });
  }

  // Tries each, with what lock() returns held, as others must while they use the list. What the
  // lower transport completes in an attempt waits (progress/lower_completions.h). But on self one
  // may deliver a message, whose handler adds flushes, or cancels some, this one included.
  // UCS_ERR_NO_RESOURCE: it goes on waiting; UCS_INPROGRESS: the lower transport has taken it over,
  // with its completion. How many went.
  template <typename Lock, typename Try>
  unsigned run(Lock&& lock, Try&& attempt) noexcept {
    unsigned count = 0;
    Request request;
    ucs_status_t status;
    for (size_t i = 0; attempt_one(i, lock, attempt, &request, &status);) {
      if (status == UCS_ERR_NO_RESOURCE) {
        ++i;
        continue;
      }
      ++count;
      if (status == UCS_INPROGRESS) continue;
      invoke_completion(request.comp, status);
      i = 0;
    }
    return count;
  }

  // An endpoint goes, and its flushes end with it, as on the transports of UCX.
  template <typename Lock>
  void cancel(const Ep* ep, Lock&& lock) noexcept {
    while (uct_completion_t* comp = take_of(ep, lock)) invoke_completion(comp, UCS_ERR_CANCELED);
  }

 private:
  void erase(size_t i) noexcept { waiting_.erase(waiting_.begin() + static_cast<ptrdiff_t>(i)); }

  template <typename Lock>
  uct_completion_t* take_of(const Ep* ep, Lock& lock) noexcept {
    [[maybe_unused]] const auto held = lock();
    for (size_t i = 0; i < waiting_.size(); ++i) {
      if (waiting_[i].ep != ep) continue;
      uct_completion_t* comp = waiting_[i].comp;
      erase(i);
      return comp;
    }
    return nullptr;
  }

  // False: there is none at that place.
  template <typename Lock, typename Try>
  bool attempt_one(size_t i, Lock& lock, Try& attempt, Request* request,
                   ucs_status_t* status) noexcept {
    [[maybe_unused]] const auto held = lock();
    if (i >= waiting_.size()) return false;
    *request = waiting_[i];
    *status = attempt(*request);
    if (*status == UCS_ERR_NO_RESOURCE) return true;
    const auto is_it = [&](const Request& r) {
      return r.ep == request->ep && r.comp == request->comp;
    };
    const auto it = std::find_if(waiting_.begin(), waiting_.end(), is_it);
    if (it != waiting_.end()) {
      waiting_.erase(it);
    } else {
      *status = UCS_INPROGRESS;  // it was canceled meanwhile, and is complete
    }
    return true;
  }

  std::vector<Request> waiting_;
};

}  // namespace verity::uct

#endif
