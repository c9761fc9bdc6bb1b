// SPDX-License-Identifier: BSD-3-Clause
//
// Parameters of UCX's newer functions: a mask says which members hold something. Bits and members
// keep their places, new ones are added at the end:
//
//   1.14  memory: registration. Endpoints: connection with lengths
//   1.15  reachability: scope
//   1.16  endpoints: whether one is connected. Remote keys: comparison
//   1.18  reachability: lengths
//   1.19  remote keys: unpacking
//   1.21  endpoints: invalidation
//   1.22  memory: registration with the memory type
//   1.23  endpoints: tokens in their attributes
#ifndef VERITY_UCT_COMPAT_INTERNAL_PARAMS_H
#define VERITY_UCT_COMPAT_INTERNAL_PARAMS_H

#include "uct/compat/internal/installed.h"

extern "C" {
// ---- memory ----------------------------------------------------------------------------------

#if VERITY_UCX_AT_LEAST(1, 14)
enum : uint64_t { UCT_MD_MEM_REG_FIELD_FLAGS = 1 };

typedef struct uct_md_mem_reg_params {
  uint64_t field_mask;
  uint64_t flags;
  int dmabuf_fd;
  size_t dmabuf_offset;
#if VERITY_UCX_AT_LEAST(1, 22)
  ucs_memory_type_t mem_type;
#endif
} uct_md_mem_reg_params_t;

// Keys of other processes, which the plugin does not attach to.
typedef struct uct_md_mem_attach_params uct_md_mem_attach_params_t;
#endif

enum : uint64_t { UCT_MD_MEM_DEREG_FIELD_FLAGS = 2 };
enum : unsigned { UCT_MD_MEM_DEREG_FLAG_INVALIDATE = 1 };

typedef struct uct_md_mem_dereg_params {
  uint64_t field_mask;
  unsigned flags;
  uct_mem_h memh;
  uct_completion_t* comp;
} uct_md_mem_dereg_params_t;

typedef struct uct_md_mkey_pack_params uct_md_mkey_pack_params_t;

#if VERITY_UCX_AT_LEAST(1, 22)
typedef struct uct_md_mem_attr_v2 uct_md_mem_attr_v2_t;
#endif

// ---- remote keys -----------------------------------------------------------------------------

#if VERITY_UCX_AT_LEAST(1, 16)
typedef struct uct_rkey_compare_params {
  uint64_t field_mask;  // no member has a bit so far
} uct_rkey_compare_params_t;
#endif

#if VERITY_UCX_AT_LEAST(1, 19)
typedef struct uct_rkey_unpack_params uct_rkey_unpack_params_t;
#endif

// ---- endpoints and addresses -----------------------------------------------------------------

#if VERITY_UCX_AT_LEAST(1, 14)
enum : uint64_t {
  UCT_EP_CONNECT_TO_EP_PARAM_FIELD_DEVICE_ADDR_LENGTH = 1,
  UCT_EP_CONNECT_TO_EP_PARAM_FIELD_EP_ADDR_LENGTH = 2,
};

typedef struct uct_ep_connect_to_ep_params {
  uint64_t field_mask;
  size_t device_addr_length;
  size_t ep_addr_length;
} uct_ep_connect_to_ep_params_t;
#endif

// 1.13 and 1.14 have it, too, but no operation of an interface takes it.
#if VERITY_UCX_AT_LEAST(1, 15)
enum : uint64_t {
  UCT_IFACE_IS_REACHABLE_FIELD_DEVICE_ADDR = 1,
  UCT_IFACE_IS_REACHABLE_FIELD_IFACE_ADDR = 2,
};

typedef struct uct_iface_is_reachable_params {
  uint64_t field_mask;
  const uct_device_addr_t* device_addr;
  const uct_iface_addr_t* iface_addr;
  char* info_string;
  size_t info_string_length;
  int scope;
#if VERITY_UCX_AT_LEAST(1, 18)
  size_t device_addr_length;
  size_t iface_addr_length;
#endif
} uct_iface_is_reachable_params_t;
#endif

#if VERITY_UCX_AT_LEAST(1, 16)
enum : uint64_t {
  UCT_EP_IS_CONNECTED_FIELD_DEVICE_ADDR = 1,
  UCT_EP_IS_CONNECTED_FIELD_IFACE_ADDR = 2,
  UCT_EP_IS_CONNECTED_FIELD_EP_ADDR = 4,
};

typedef struct uct_ep_is_connected_params {
  uint64_t field_mask;
  const uct_device_addr_t* device_addr;
  const uct_iface_addr_t* iface_addr;
  const uct_ep_addr_t* ep_addr;
} uct_ep_is_connected_params_t;
#endif

#if VERITY_UCX_AT_LEAST(1, 21)
typedef struct {
  uint64_t field_mask;
} uct_ep_invalidate_params_t;
#endif

// The rest of an endpoint's attributes only lower transports see.
#if VERITY_UCX_AT_LEAST(1, 23)
enum : uint64_t { UCT_EP_ATTR_FIELD_TX_TOKEN = 4 };
#endif
}

#endif
