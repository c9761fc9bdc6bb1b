// SPDX-License-Identifier: BSD-3-Clause
// Requests of sends in memory of the caller's, as Open MPI's blocking sends have them on the stack:
// memory is used again from another address on, and not all callers are seen to poll.
#ifndef VERITY_TEST_UCX_OWN_REQUESTS_H
#define VERITY_TEST_UCX_OWN_REQUESTS_H

#include <ucp/api/ucp.h>
#include <ucp/api/ucp_compat.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "association.h"

namespace verity::test {

class OwnRequests {
 public:
  explicit OwnRequests(ucp_context_h context) {
    ucp_context_attr_t attr = {};
    attr.field_mask = UCP_ATTR_FIELD_REQUEST_SIZE;
    check(ucp_context_query(context, &attr), "ucp_context_query");
    size_ = (attr.request_size + kAlign - 1) / kAlign * kAlign;
    memory_.resize(kPlaces * stride());
    for (size_t i = 0; i < kPlaces; ++i) free_.push_back(i);
  }

  // False: none is free.
  bool take(std::mt19937_64& dice, ucp_request_param_t* param) {
    if (free_.empty()) return false;
    const size_t shift = dice() % kShifts * kAlign;
    param->op_attr_mask |= UCP_OP_ATTR_FIELD_REQUEST | UCP_OP_ATTR_FLAG_FAST_CMPL;
    param->request = memory_.data() + free_.back() * stride() + size_ + shift;
    free_.pop_back();
    return true;
  }
  // The interposer sees one of two ways.
  static ucs_status_t status(std::mt19937_64& dice, const Sending& send) {
    if (!send.own || dice() % 2 == 0) return ucp_request_check_status(send.request);
    return ucp_request_is_completed(send.request) != 0 ? UCS_OK : UCS_INPROGRESS;
  }
  // It is complete. `free`: what is done with a request of UCP's.
  void end(const Sending& send, void (*free)(void*)) {
    send.own ? give_back(send.request) : free(send.request);
  }
  void give_back(const void* request) {
    free_.push_back((static_cast<const uint8_t*>(request) - memory_.data() - 1) / stride());
  }

 private:
  static constexpr size_t kAlign = 16, kShifts = 16, kPlaces = 64;
  [[nodiscard]] size_t stride() const { return size_ + kShifts * kAlign; }

  size_t size_ = 0;
  std::vector<uint8_t> memory_;
  std::vector<size_t> free_;
};

}  // namespace verity::test

#endif
