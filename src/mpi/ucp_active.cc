// SPDX-License-Identifier: BSD-3-Clause
//
// UCP's active messages, interposed as the tagged ones are (ucp_calls.cc): the next one that the thread sends takes its ActiveArm.
#include <utility>

#include "mpi/ucp_next.h"
#include "mpi/worker.h"

namespace verity::mpi {

namespace {

// The transport asks for what an active message carries, so that the lock is needed for each.
template <typename Start>
ucs_status_ptr_t send(ucp_ep_h ep, const void* buffer, Start start) noexcept {
  const Locked lock;
  const size_t length = std::exchange(armed.active.length, 0);
  if (length == 0) return start();
  Departures& departures = workers().departures;
  departures.begin(ep, kActiveTag, buffer, armed.active.signature, length);
  const ucs_status_ptr_t request = start();
  departures.end(UCS_PTR_IS_PTR(request) ? request : nullptr);
  return request;
}

}  // namespace

}  // namespace verity::mpi

using namespace verity::mpi;

#define VERITY_EXPORT __attribute__((visibility("default")))

extern "C" {

VERITY_EXPORT ucs_status_ptr_t ucp_am_send_nbx(ucp_ep_h ep, unsigned id, const void* header, size_t header_length, const void* buffer,
                                               size_t count, const ucp_request_param_t* param) {
  const auto next = VERITY_NEXT(ucp_am_send_nbx);
  if (all_workers == nullptr) return next(ep, id, header, header_length, buffer, count, param);
  return send(ep, buffer, [&] { return next(ep, id, header, header_length, buffer, count, param); });
}

VERITY_EXPORT ucs_status_ptr_t ucp_am_send_nb(ucp_ep_h ep, uint16_t id, const void* buffer, size_t count, ucp_datatype_t datatype,
                                              ucp_send_callback_t callback, unsigned flags) {
  const auto next = VERITY_NEXT(ucp_am_send_nb);
  if (all_workers == nullptr) return next(ep, id, buffer, count, datatype, callback, flags);
  return send(ep, buffer, [&] { return next(ep, id, buffer, count, datatype, callback, flags); });
}

}  // extern "C"
