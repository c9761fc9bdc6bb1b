// SPDX-License-Identifier: BSD-3-Clause
#include "uct/compat/md_ops.h"

namespace verity::uct {
namespace {

MemoryDomain& of(uct_md_h md) noexcept { return static_cast<MemoryDomain&>(*md); }

void close_op(uct_md_h md) noexcept { delete &of(md); }

ucs_status_t query_op(uct_md_h md, UcxMdAttr* attr) noexcept {
  MdAttr mapped;
  const ucs_status_t status = query_md(of(md).lower(), &mapped);
  if (status != UCS_OK) return status;
  of(md).map_attr(mapped);
#if VERITY_UCX_AT_LEAST(1, 14)
  // UCX itself writes these two.
  mapped.ucx.field_mask = attr->field_mask;
  std::memcpy(mapped.ucx.component_name, attr->component_name, sizeof(attr->component_name));
#endif
  *attr = mapped.ucx;
  return UCS_OK;
}

#if VERITY_UCX_AT_LEAST(1, 19)
ucs_status_t mem_alloc_op(uct_md_h md, size_t* length_p, void** address_p,
                          ucs_memory_type_t mem_type, ucs_sys_device_t device, unsigned flags,
                          const char* name, uct_mem_h* memh_p) noexcept {
  return uct_md_mem_alloc(of(md).lower(), length_p, address_p, mem_type, device, flags, name,
                          memh_p);
}
#else
ucs_status_t mem_alloc_op(uct_md_h md, size_t* length_p, void** address_p,
                          ucs_memory_type_t mem_type, unsigned flags, const char* name,
                          uct_mem_h* memh_p) noexcept {
  return uct_md_mem_alloc(of(md).lower(), length_p, address_p, mem_type, flags, name, memh_p);
}
#endif

ucs_status_t mem_free_op(uct_md_h md, uct_mem_h memh) noexcept {
  return uct_md_mem_free(of(md).lower(), memh);
}

ucs_status_t mem_advise_op(uct_md_h md, uct_mem_h memh, void* address, size_t length,
                           unsigned advice) noexcept {
  return of(md).mem_advise(memh, address, length, advice);
}

#if VERITY_UCX_AT_LEAST(1, 14)
ucs_status_t mem_reg_op(uct_md_h md, void* address, size_t length,
                        const uct_md_mem_reg_params_t* params, uct_mem_h* memh_p) noexcept {
  const bool given = (params->field_mask & UCT_MD_MEM_REG_FIELD_FLAGS) != 0;
  return of(md).mem_reg(address, length, {given ? params->flags : 0, params}, memh_p);
}

ucs_status_t mem_attach_op(uct_md_h, const void*, uct_md_mem_attach_params_t*,
                           uct_mem_h*) noexcept {
  return UCS_ERR_UNSUPPORTED;
}
#else
ucs_status_t mem_reg_op(uct_md_h md, void* address, size_t length, unsigned flags,
                        uct_mem_h* memh_p) noexcept {
  return of(md).mem_reg(address, length, {flags, nullptr}, memh_p);
}
#endif

ucs_status_t mem_dereg_op(uct_md_h md, const uct_md_mem_dereg_params_t* params) noexcept {
  return of(md).mem_dereg(*params);
}

#if VERITY_UCX_AT_LEAST(1, 22)
ucs_status_t mem_query_op(uct_md_h md, const void* address, size_t length,
                          uct_md_mem_attr_v2_t* attr) noexcept {
  return uct_md_mem_query_v2(of(md).lower(), address, length, attr);
}
#else
ucs_status_t mem_query_op(uct_md_h md, const void* address, size_t length,
                          uct_md_mem_attr_t* attr) noexcept {
  return uct_md_mem_query(of(md).lower(), address, length, attr);
}
#endif

#if VERITY_UCX_AT_LEAST(1, 16)
ucs_status_t mkey_pack_op(uct_md_h md, uct_mem_h memh, void* address, size_t length,
                          const uct_md_mkey_pack_params_t* params, void* buffer) noexcept {
  return of(md).mkey_pack(memh, {params, address, length}, static_cast<char*>(buffer));
}
#else
ucs_status_t mkey_pack_op(uct_md_h md, uct_mem_h memh, const uct_md_mkey_pack_params_t* params,
                          void* buffer) noexcept {
  return of(md).mkey_pack(memh, {params}, static_cast<char*>(buffer));
}

int is_sockaddr_accessible_op(uct_md_h, const ucs_sock_addr_t*,
                              uct_sockaddr_accessibility_t) noexcept {
  return 0;
}
#endif

ucs_status_t detect_memory_type_op(uct_md_h md, const void* address, size_t length,
                                   ucs_memory_type_t* mem_type_p) noexcept {
  return uct_md_detect_memory_type(of(md).lower(), address, length, mem_type_p);
}

// Memory elements of accelerators; the parameters differ within 1.22.
#if VERITY_UCX_AT_LEAST(1, 21)
template <typename... Args>
ucs_status_t mem_elem_pack_op(Args...) noexcept {
  return UCS_ERR_UNSUPPORTED;
}
#endif

// mem_elem_release came with a patch release: seen in the headers, not by the version.
template <typename Table>
constexpr void fill_elem_release([[maybe_unused]] Table& ops) noexcept {
  if constexpr (requires { ops.mem_elem_release; })
    ops.mem_elem_release = [](uct_md_h, void*) noexcept {};
}

constexpr uct_md_ops_t make_table() noexcept {
  uct_md_ops_t ops{};
  ops.close = close_op;
  ops.query = query_op;
  ops.mem_alloc = mem_alloc_op;
  ops.mem_free = mem_free_op;
  ops.mem_advise = mem_advise_op;
  ops.mem_reg = mem_reg_op;
  ops.mem_dereg = mem_dereg_op;
  ops.mem_query = mem_query_op;
  ops.mkey_pack = mkey_pack_op;
  ops.detect_memory_type = detect_memory_type_op;
#if VERITY_UCX_AT_LEAST(1, 14)
  ops.mem_attach = mem_attach_op;
#endif
#if !VERITY_UCX_AT_LEAST(1, 16)
  ops.is_sockaddr_accessible = is_sockaddr_accessible_op;
#endif
#if VERITY_UCX_AT_LEAST(1, 21)
  ops.mem_elem_pack = mem_elem_pack_op;
#endif
  fill_elem_release(ops);
  return ops;
}

constinit uct_md_ops_t table = make_table();

}  // namespace

void MdAttr::withdraw_exports() noexcept {
#if VERITY_UCX_AT_LEAST(1, 14)
  withdraw(UCT_MD_FLAG_EXPORTED_MKEY);
  ucx.exported_mkey_packed_size = 0;
#endif
}

void MdAttr::restrict_newer_types([[maybe_unused]] uint64_t types) noexcept {
#if VERITY_UCX_AT_LEAST(1, 14)
  ucx.cache_mem_types &= types;
  ucx.dmabuf_mem_types &= types;
#endif
#if VERITY_UCX_AT_LEAST(1, 15)
  ucx.reg_nonblock_mem_types &= types;
#endif
#if VERITY_UCX_AT_LEAST(1, 18)
  ucx.gva_mem_types = 0;  // one key for all memory: a registration without bounds
#endif
}

void MdAttr::allow_caching([[maybe_unused]] uint64_t types) noexcept {
#if VERITY_UCX_AT_LEAST(1, 14)
  ucx.cache_mem_types |= types;
#endif
}

MemoryDomain::MemoryDomain() noexcept : uct_md_t{} { ops = &table; }

ucs_status_t query_md(uct_md_h md, MdAttr* attr) noexcept {
#if VERITY_UCX_AT_LEAST(1, 14)
  attr->ucx.field_mask = UINT64_MAX;
  return uct_md_query_v2(md, &attr->ucx);
#else
  return uct_md_query(md, &attr->ucx);
#endif
}

ucs_status_t register_memory(uct_md_h md, void* address, size_t length, const RegArgs& args,
                             uct_mem_h* memh_p) noexcept {
#if VERITY_UCX_AT_LEAST(1, 14)
  return uct_md_mem_reg_v2(md, address, length,
                           static_cast<const uct_md_mem_reg_params_t*>(args.params), memh_p);
#else
  return uct_md_mem_reg(md, address, length, static_cast<unsigned>(args.flags), memh_p);
#endif
}

ucs_status_t pack_key(uct_md_h md, uct_mem_h memh, const KeyArgs& args, char* buffer) noexcept {
#if VERITY_UCX_AT_LEAST(1, 16)
  return uct_md_mkey_pack_v2(md, memh, args.address, args.length, args.params, buffer);
#else
  return uct_md_mkey_pack_v2(md, memh, args.params, buffer);
#endif
}

}  // namespace verity::uct
