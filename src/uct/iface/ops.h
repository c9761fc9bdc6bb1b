// SPDX-License-Identifier: BSD-3-Clause
//
// Entries of UCX's operation tables: am_ops.cc active messages, rma_ops.cc remote memory access,
// control_ops.cc all others.
#ifndef VERITY_UCT_IFACE_OPS_H
#define VERITY_UCT_IFACE_OPS_H

#include "uct/compat/internal_ops.h"

namespace verity::uct {

// One function for each entry of UCX's table. Public so that their addresses can be taken.
struct Ops {
  static ucs_status_t am_short(uct_ep_h ep, uint8_t id, uint64_t header, const void* payload,
                               unsigned length) noexcept;
  static ucs_status_t am_short_iov(uct_ep_h ep, uint8_t id, const uct_iov_t* iov,
                                   size_t iovcnt) noexcept;
  static ssize_t am_bcopy(uct_ep_h ep, uint8_t id, uct_pack_callback_t pack, void* arg,
                          unsigned flags) noexcept;
  static ucs_status_t am_zcopy(uct_ep_h ep, uint8_t id, const void* header, unsigned header_length,
                               const uct_iov_t* iov, size_t iovcnt, unsigned flags,
                               uct_completion_t* comp) noexcept;
  static ucs_status_t put_short(uct_ep_h ep, const void* buffer, unsigned length, uint64_t address,
                                uct_rkey_t rkey) noexcept;
  static ssize_t put_bcopy(uct_ep_h ep, uct_pack_callback_t pack, void* arg, uint64_t address,
                           uct_rkey_t rkey) noexcept;
  static ucs_status_t get_bcopy(uct_ep_h ep, uct_unpack_callback_t unpack, void* arg, size_t length,
                                uint64_t address, uct_rkey_t rkey, uct_completion_t* comp) noexcept;
  static ucs_status_t get_zcopy(uct_ep_h ep, const uct_iov_t* iov, size_t iovcnt, uint64_t address,
                                uct_rkey_t rkey, uct_completion_t* comp) noexcept;
  static ucs_status_t atomic32_post(uct_ep_h ep, unsigned op, uint32_t value, uint64_t address,
                                    uct_rkey_t rkey) noexcept;
  static ucs_status_t atomic64_post(uct_ep_h ep, unsigned op, uint64_t value, uint64_t address,
                                    uct_rkey_t rkey) noexcept;
  static ucs_status_t atomic32_fetch(uct_ep_h ep, unsigned op, uint32_t value, uint32_t* result,
                                     uint64_t address, uct_rkey_t rkey,
                                     uct_completion_t* comp) noexcept;
  static ucs_status_t atomic64_fetch(uct_ep_h ep, unsigned op, uint64_t value, uint64_t* result,
                                     uint64_t address, uct_rkey_t rkey,
                                     uct_completion_t* comp) noexcept;
  static ucs_status_t atomic_cswap32(uct_ep_h ep, uint32_t compare, uint32_t swap, uint64_t address,
                                     uct_rkey_t rkey, uint32_t* result,
                                     uct_completion_t* comp) noexcept;
  static ucs_status_t atomic_cswap64(uct_ep_h ep, uint64_t compare, uint64_t swap, uint64_t address,
                                     uct_rkey_t rkey, uint64_t* result,
                                     uct_completion_t* comp) noexcept;
  static ucs_status_t pending_add(uct_ep_h ep, uct_pending_req_t* request, unsigned flags) noexcept;
  static void pending_purge(uct_ep_h ep, uct_pending_purge_callback_t callback, void* arg) noexcept;
  static ucs_status_t ep_flush(uct_ep_h ep, unsigned flags, uct_completion_t* comp) noexcept;
  static ucs_status_t ep_fence(uct_ep_h ep, unsigned flags) noexcept;
  static ucs_status_t ep_check(uct_ep_h ep, unsigned flags, uct_completion_t* comp) noexcept;
  static ucs_status_t ep_get_address(uct_ep_h ep, uct_ep_addr_t* address) noexcept;
  static ucs_status_t ep_connect(uct_ep_h ep, const uct_device_addr_t* device,
                                 const uct_ep_addr_t* address,
                                 const AddressLengths& lengths) noexcept;
  static bool ep_is_connected(uct_ep_h ep, const PeerAddress& peer) noexcept;
  static ucs_status_t ep_query(uct_ep_h ep, uct_ep_attr_t* attr) noexcept;
  static ucs_status_t ep_invalidate(uct_ep_h ep, unsigned flags) noexcept;
  static ucs_status_t iface_flush(uct_iface_h iface, unsigned flags,
                                  uct_completion_t* comp) noexcept;
  static ucs_status_t iface_fence(uct_iface_h iface, unsigned flags) noexcept;
  static void progress_enable(uct_iface_h iface, unsigned flags) noexcept;
  static void progress_disable(uct_iface_h iface, unsigned flags) noexcept;
  static unsigned iface_progress(uct_iface_h iface) noexcept;
  static ucs_status_t event_fd_get(uct_iface_h iface, int* fd_p) noexcept;
  static ucs_status_t event_arm(uct_iface_h iface, unsigned events) noexcept;
  static bool is_reachable(uct_iface_h iface, const PeerAddress& peer) noexcept;
  static ucs_status_t estimate_perf(uct_iface_h iface, uct_perf_attr_t* attr) noexcept;
};

}  // namespace verity::uct

#endif
