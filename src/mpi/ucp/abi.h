// SPDX-License-Identifier: BSD-3-Clause
//
// What the interposer knows of UCP beyond its documented calls, for UCX 1.13 to 1.23. To follow a
// new UCX release, compare each part with it:
//
//   messages    src/ucp/core/ucp_types.h: UCP_AM_ID_*; the headers of eager messages
//               (src/ucp/tag/eager.h) and of rendezvous requests (src/ucp/rndv/rndv.h)
//   parameters  ucp/api/ucp.h: enum ucp_op_attr_t, struct ucp_request_param_t
//   requests    src/ucp/core/ucp_request.h: what lies in front of the address that the user sees
//   endpoints   src/ucp/core/ucp_ep.h: struct ucp_ep begins with the worker
//
// Functions of UCP are listed in function.h; a new form of sending or receiving needs a wrapper in
// sends.cc or receives.cc.
#ifndef VERITY_MPI_UCP_ABI_H
#define VERITY_MPI_UCP_ABI_H

#include <ucp/api/ucp.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "util/words.h"

namespace verity::mpi::abi {

// The library that the MPI library's UCX component is linked with.
inline constexpr const char* kLibrary = "libucp.so.0";

// ---- messages -----------------------------------------------------------------------------------
//
// UCP's active messages that begin a message, by their ids. All but kActive begin with the tag; a
// rendezvous request names its protocol at kRendezvousOpcode, 0 for a tagged message, and the
// send's request at kRendezvousRequest: by its address, or by an odd number.

enum AmId : uint8_t {
  kEagerOnly = 2,
  kEagerFirst = 3,
  kEagerSyncOnly = 6,
  kEagerSyncFirst = 7,
  kRendezvous = 9,
  kActive = 23,  // an active message of UCP, in one piece: it has no tag
};
inline constexpr uint32_t kFirstMessages = 1u << kEagerOnly | 1u << kEagerFirst |
                                           1u << kEagerSyncOnly | 1u << kEagerSyncFirst |
                                           1u << kRendezvous | 1u << kActive;
inline constexpr size_t kRendezvousRequest = 16;
inline constexpr size_t kRendezvousOpcode = 40;
inline constexpr size_t kActiveHeader = 8;  // bytes; what was sent without a header follows

// A tagged message in one piece: which receive gets it shows while UCP handles it.
[[nodiscard]] constexpr bool is_whole(uint8_t am_id) noexcept {
  return am_id == kEagerOnly || am_id == kEagerSyncOnly;
}

// The tag of a message of is_whole(), of 8 bytes or more.
[[nodiscard]] inline uint64_t tag_of_whole(const void* message) noexcept {
  return util::read_word(message, 0);
}

// The tag of a message whose first active message has one of the ids but kActive. False: it is not
// a tagged message.
[[nodiscard]] inline bool read_tag(uint8_t am_id, const void* message, size_t length,
                                   uint64_t* tag) noexcept {
  if (length < sizeof(*tag)) return false;
  if (am_id == kRendezvous) {
    if (length <= kRendezvousOpcode || static_cast<const uint8_t*>(message)[kRendezvousOpcode] != 0)
      return false;
  }
  std::memcpy(tag, message, sizeof(*tag));
  return true;
}

// Where the send's request begins that the message names; 0: it names none. Precondition:
// read_tag() has read the message's tag.
[[nodiscard]] inline uintptr_t named_request(uint8_t am_id, const void* message) noexcept {
  if (am_id != kRendezvous) return 0;
  const uint64_t request = util::read_word(message, kRendezvousRequest);
  return request % 2 == 0 ? request : 0;
}

// What an active message of UCP without a header of the user's was sent as.
[[nodiscard]] inline std::string_view sent_in(const void* message, size_t length) noexcept {
  if (length <= kActiveHeader) return {};
  return {static_cast<const char*>(message) + kActiveHeader, length - kActiveHeader};
}

// ---- parameters ---------------------------------------------------------------------------------

// Fields and flags of a receive whose effect on its completion is known. Any other one is of a
// newer UCX, and may be another way of receiving.
inline constexpr uint32_t kKnownReceiveFields =
    UCP_OP_ATTR_FIELD_REQUEST | UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA |
    UCP_OP_ATTR_FIELD_DATATYPE | UCP_OP_ATTR_FIELD_FLAGS | UCP_OP_ATTR_FIELD_REPLY_BUFFER |
    UCP_OP_ATTR_FIELD_MEMORY_TYPE | UCP_OP_ATTR_FIELD_RECV_INFO | UCP_OP_ATTR_FIELD_MEMH |
    UCP_OP_ATTR_FLAG_NO_IMM_CMPL | UCP_OP_ATTR_FLAG_FAST_CMPL | UCP_OP_ATTR_FLAG_MULTI_SEND;

// Those that a receive usually has.
inline constexpr uint32_t kUsualReceiveFields =
    UCP_OP_ATTR_FIELD_REQUEST | UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA |
    UCP_OP_ATTR_FIELD_DATATYPE | UCP_OP_ATTR_FLAG_NO_IMM_CMPL;

[[nodiscard]] inline bool is_known_receive(const ucp_request_param_t& param) noexcept {
  return (param.op_attr_mask & ~kKnownReceiveFields) == 0;
}

// A copy of a receive's parameters with another callback, which UCP calls in any case: never does
// it complete the receive by returning from the call. Field by field, as the caller has just
// written them.
inline void redirect_receive(const ucp_request_param_t& param, ucp_tag_recv_nbx_callback_t callback,
                             void* user_data, ucp_request_param_t* out) noexcept {
  constexpr size_t kFirst = offsetof(ucp_request_param_t, request);
  out->op_attr_mask = param.op_attr_mask | UCP_OP_ATTR_FIELD_CALLBACK |
                      UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FLAG_NO_IMM_CMPL;
  if ((param.op_attr_mask & ~kUsualReceiveFields) == 0) [[likely]] {
    out->request = param.request;
    out->datatype = param.datatype;
  } else {
    out->flags = param.flags;
    util::copy_words<sizeof(param) - kFirst>(&out->request, &param.request);
  }
  out->cb.recv = callback;
  out->user_data = user_data;
}

// What the older forms of a call say.
[[nodiscard]] inline ucp_request_param_t param_of(ucp_datatype_t datatype,
                                                  uint32_t other_fields) noexcept {
  ucp_request_param_t param = {};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_DATATYPE | other_fields;
  param.datatype = datatype;
  return param;
}
// Their callbacks have fewer parameters: those that come after these they do not read.
[[nodiscard]] inline ucp_request_param_t send_param(ucp_datatype_t datatype,
                                                    ucp_send_callback_t callback) noexcept {
  ucp_request_param_t param = param_of(datatype, UCP_OP_ATTR_FIELD_CALLBACK);
  param.cb.send = reinterpret_cast<ucp_send_nbx_callback_t>(reinterpret_cast<void*>(callback));
  return param;
}
[[nodiscard]] inline ucp_request_param_t receive_param(ucp_datatype_t datatype,
                                                       ucp_tag_recv_callback_t callback) noexcept {
  ucp_request_param_t param =
      param_of(datatype, UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FLAG_NO_IMM_CMPL);
  param.cb.recv = reinterpret_cast<ucp_tag_recv_nbx_callback_t>(reinterpret_cast<void*>(callback));
  return param;
}

// Bytes of what is sent or received; 0 where they do not lie in one piece.
[[nodiscard]] inline size_t bytes_of(size_t count, const ucp_request_param_t& param) noexcept {
  if ((param.op_attr_mask & UCP_OP_ATTR_FIELD_DATATYPE) == 0) return count;
  const bool in_one_piece = (param.datatype & UCP_DATATYPE_CLASS_MASK) == UCP_DATATYPE_CONTIG;
  return in_one_piece ? count * (param.datatype >> UCP_DATATYPE_SHIFT) : 0;
}

// ---- requests -----------------------------------------------------------------------------------

// The request lies in memory of the caller, who informs UCP neither of its completion nor of its
// end.
[[nodiscard]] inline bool has_own_request(const ucp_request_param_t& param) noexcept {
  return (param.op_attr_mask & UCP_OP_ATTR_FIELD_REQUEST) != 0;
}

// Bytes of a request in front of the address that the user sees. 0: not known.
template <typename Query>
[[nodiscard]] size_t request_size(Query query, ucp_context_h context) noexcept {
  ucp_context_attr_t attr = {};
  attr.field_mask = UCP_ATTR_FIELD_REQUEST_SIZE;
  return query(context, &attr) == UCS_OK ? attr.request_size : 0;
}

// ---- endpoints ----------------------------------------------------------------------------------

// To be compared with the workers that are known.
[[nodiscard]] inline ucp_worker_h worker_of(ucp_ep_h ep) noexcept {
  ucp_worker_h worker;
  std::memcpy(&worker, static_cast<const void*>(ep), sizeof(worker));
  return worker;
}

}  // namespace verity::mpi::abi

#endif
