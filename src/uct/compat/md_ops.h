// SPDX-License-Identifier: BSD-3-Clause
//
// A memory domain with operations that are the same for every UCX release. UCX's own table of them,
// its attributes and its ways to register memory and to pack a key change with the release;
// md_ops.cc translates them:
//
//   1.14  attributes in another structure (v2); registration parameters instead of flags;
//         mem_attach before is_sockaddr_accessible
//   1.15  attributes: reg_nonblock_mem_types; invalidation flags for remote access and atomics
//   1.16  mkey_pack with address and length; is_sockaddr_accessible gone; attributes: reg_alignment
//   1.18  attributes: gva_mem_types
//   1.19  mem_alloc with a system device
//   1.21  mem_elem_pack at the end
//   1.22  mem_query with other attributes; attributes: required_mem_flags. On its release branch,
//         after 1.22.0: mem_elem_pack with a handle, mem_elem_release at the end
#ifndef VERITY_UCT_COMPAT_MD_OPS_H
#define VERITY_UCT_COMPAT_MD_OPS_H

#include "uct/compat/ucx.h"

namespace verity::uct {

#if VERITY_UCX_AT_LEAST(1, 14)
using UcxMdAttr = uct_md_attr_v2_t;
#else
using UcxMdAttr = uct_md_attr_t;
#endif

// What a domain says that can take keys back.
#if VERITY_UCX_AT_LEAST(1, 15)
inline constexpr uint64_t kInvalidateFlags = uint64_t{UCT_MD_FLAG_INVALIDATE} |
                                             uint64_t{UCT_MD_FLAG_INVALIDATE_RMA} |
                                             uint64_t{UCT_MD_FLAG_INVALIDATE_AMO};
#else
inline constexpr uint64_t kInvalidateFlags = UCT_MD_FLAG_INVALIDATE;
#endif

// UCX's attributes of a memory domain under names of our own.
class MdAttr {
 public:
#if VERITY_UCX_AT_LEAST(1, 14)
  [[nodiscard]] auto& caps() noexcept { return ucx; }
  [[nodiscard]] const auto& caps() const noexcept { return ucx; }
#else
  [[nodiscard]] auto& caps() noexcept { return ucx.cap; }
  [[nodiscard]] const auto& caps() const noexcept { return ucx.cap; }
#endif
  [[nodiscard]] uint64_t& flags() noexcept { return caps().flags; }
  [[nodiscard]] uint64_t flags() const noexcept { return caps().flags; }
  [[nodiscard]] size_t& packed_key_size() noexcept { return ucx.rkey_packed_size; }
  [[nodiscard]] size_t packed_key_size() const noexcept { return ucx.rkey_packed_size; }
  [[nodiscard]] auto& max_alloc() noexcept { return caps().max_alloc; }
  [[nodiscard]] auto& max_reg() noexcept { return caps().max_reg; }
  [[nodiscard]] auto& reg_mem_types() noexcept { return caps().reg_mem_types; }
  [[nodiscard]] auto& alloc_mem_types() noexcept { return caps().alloc_mem_types; }
  [[nodiscard]] auto& detect_mem_types() noexcept { return caps().detect_mem_types; }
  [[nodiscard]] auto& access_mem_types() noexcept { return caps().access_mem_types; }
  [[nodiscard]] auto& reg_cost() noexcept { return ucx.reg_cost; }

  void withdraw(uint64_t flag) noexcept { flags() &= ~flag; }
  // Keys for other processes of this host, which a wrapper cannot attach to.
  void withdraw_exports() noexcept;
  // The memory types of what came after 1.13: caching, deferred registration and the like.
  void restrict_newer_types(uint64_t types) noexcept;
  // Registrations of these types may stay in UCP's cache.
  void allow_caching(uint64_t types) noexcept;

  UcxMdAttr ucx{};
};

// How memory is to be registered.
struct RegArgs {
  uint64_t flags;
  const void* params;  // UCX's own, with further wishes, from 1.14 on
};

// What a key is packed of besides its registration.
struct KeyArgs {
  const uct_md_mkey_pack_params_t* params;
  void* address = nullptr;  // what the peer may access; null before 1.16
  size_t length = 0;
};

class MemoryDomain : public uct_md_t {
 public:
  MemoryDomain() noexcept;
  virtual ~MemoryDomain() = default;
  MemoryDomain(const MemoryDomain&) = delete;
  MemoryDomain& operator=(const MemoryDomain&) = delete;

  [[nodiscard]] virtual uct_md_h lower() const noexcept = 0;
  // `attr` holds the lower domain's answer.
  virtual void map_attr(MdAttr& attr) const noexcept = 0;
  virtual ucs_status_t mem_reg(void* address, size_t length, const RegArgs& args,
                               uct_mem_h* memh_p) noexcept = 0;
  virtual ucs_status_t mem_dereg(const uct_md_mem_dereg_params_t& params) noexcept = 0;
  virtual ucs_status_t mem_advise(uct_mem_h memh, void* address, size_t length,
                                  unsigned advice) noexcept = 0;
  virtual ucs_status_t mkey_pack(uct_mem_h memh, const KeyArgs& args, char* buffer) noexcept = 0;
};

// The same of a lower domain.
[[nodiscard]] ucs_status_t query_md(uct_md_h md, MdAttr* attr) noexcept;
[[nodiscard]] ucs_status_t register_memory(uct_md_h md, void* address, size_t length,
                                           const RegArgs& args, uct_mem_h* memh_p) noexcept;
[[nodiscard]] ucs_status_t pack_key(uct_md_h md, uct_mem_h memh, const KeyArgs& args,
                                    char* buffer) noexcept;

}  // namespace verity::uct

#endif
