// SPDX-License-Identifier: BSD-3-Clause
//
// A memory domain with operations that are the same for every UCX release. UCX's own table of them,
// its attributes and its way to pack a key change with the release. md_ops.cc is the place to
// translate them; so far it does so for 1.13 alone. Known differences to come:
//
//   1.14  attributes in another structure; registration parameters; mem_attach
//   1.16  mkey_pack with address and length; is_sockaddr_accessible gone
//   1.21  mem_elem_pack; on the 1.22.x branch mem_elem_release, which a patch release added
#ifndef VERITY_UCT_COMPAT_MD_OPS_H
#define VERITY_UCT_COMPAT_MD_OPS_H

#include "uct/compat/ucx.h"

namespace verity::uct {

// UCX's attributes of a memory domain under names of our own.
class MdAttr {
 public:
  [[nodiscard]] uint64_t& flags() noexcept { return ucx.cap.flags; }
  [[nodiscard]] uint64_t flags() const noexcept { return ucx.cap.flags; }
  [[nodiscard]] size_t& packed_key_size() noexcept { return ucx.rkey_packed_size; }
  [[nodiscard]] size_t packed_key_size() const noexcept { return ucx.rkey_packed_size; }
  [[nodiscard]] auto& max_alloc() noexcept { return ucx.cap.max_alloc; }
  [[nodiscard]] auto& max_reg() noexcept { return ucx.cap.max_reg; }
  [[nodiscard]] auto& reg_mem_types() noexcept { return ucx.cap.reg_mem_types; }
  [[nodiscard]] auto& alloc_mem_types() noexcept { return ucx.cap.alloc_mem_types; }
  [[nodiscard]] auto& detect_mem_types() noexcept { return ucx.cap.detect_mem_types; }
  [[nodiscard]] auto& access_mem_types() noexcept { return ucx.cap.access_mem_types; }
  [[nodiscard]] auto& reg_cost() noexcept { return ucx.reg_cost; }

  uct_md_attr_t ucx{};
};

// What a key is packed of besides its registration.
struct KeyArgs {
  const uct_md_mkey_pack_params_t* params;
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
  virtual ucs_status_t mem_reg(void* address, size_t length, unsigned flags,
                               uct_mem_h* memh_p) noexcept = 0;
  virtual ucs_status_t mem_dereg(const uct_md_mem_dereg_params_t& params) noexcept = 0;
  virtual ucs_status_t mem_advise(uct_mem_h memh, void* address, size_t length,
                                  unsigned advice) noexcept = 0;
  virtual ucs_status_t mkey_pack(uct_mem_h memh, const KeyArgs& args, char* buffer) noexcept = 0;
};

// The same of a lower domain.
[[nodiscard]] ucs_status_t query_md(uct_md_h md, MdAttr* attr) noexcept;
[[nodiscard]] ucs_status_t pack_key(uct_md_h md, uct_mem_h memh, const KeyArgs& args,
                                    char* buffer) noexcept;

}  // namespace verity::uct

#endif
