// SPDX-License-Identifier: BSD-3-Clause
#include "uct/compat/md_ops.h"

namespace verity::uct {
namespace {

MemoryDomain& of(uct_md_h md) noexcept { return static_cast<MemoryDomain&>(*md); }

void close_op(uct_md_h md) noexcept { delete &of(md); }

ucs_status_t query_op(uct_md_h md, uct_md_attr_t* attr) noexcept {
  MdAttr mapped;
  const ucs_status_t status = query_md(of(md).lower(), &mapped);
  if (status != UCS_OK) return status;
  of(md).map_attr(mapped);
  *attr = mapped.ucx;
  return UCS_OK;
}

ucs_status_t mem_alloc_op(uct_md_h md, size_t* length_p, void** address_p,
                          ucs_memory_type_t mem_type, unsigned flags, const char* name,
                          uct_mem_h* memh_p) noexcept {
  return uct_md_mem_alloc(of(md).lower(), length_p, address_p, mem_type, flags, name, memh_p);
}

ucs_status_t mem_free_op(uct_md_h md, uct_mem_h memh) noexcept {
  return uct_md_mem_free(of(md).lower(), memh);
}

ucs_status_t mem_advise_op(uct_md_h md, uct_mem_h memh, void* address, size_t length,
                           unsigned advice) noexcept {
  return of(md).mem_advise(memh, address, length, advice);
}

ucs_status_t mem_reg_op(uct_md_h md, void* address, size_t length, unsigned flags,
                        uct_mem_h* memh_p) noexcept {
  return of(md).mem_reg(address, length, flags, memh_p);
}

ucs_status_t mem_dereg_op(uct_md_h md, const uct_md_mem_dereg_params_t* params) noexcept {
  return of(md).mem_dereg(*params);
}

ucs_status_t mem_query_op(uct_md_h md, const void* address, size_t length,
                          uct_md_mem_attr_t* attr) noexcept {
  return uct_md_mem_query(of(md).lower(), address, length, attr);
}

ucs_status_t mkey_pack_op(uct_md_h md, uct_mem_h memh, const uct_md_mkey_pack_params_t* params,
                          void* buffer) noexcept {
  return of(md).mkey_pack(memh, {params}, static_cast<char*>(buffer));
}

int is_sockaddr_accessible_op(uct_md_h, const ucs_sock_addr_t*,
                              uct_sockaddr_accessibility_t) noexcept {
  return 0;
}

ucs_status_t detect_memory_type_op(uct_md_h md, const void* address, size_t length,
                                   ucs_memory_type_t* mem_type_p) noexcept {
  return uct_md_detect_memory_type(of(md).lower(), address, length, mem_type_p);
}

uct_md_ops_t table = {
    .close = close_op,
    .query = query_op,
    .mem_alloc = mem_alloc_op,
    .mem_free = mem_free_op,
    .mem_advise = mem_advise_op,
    .mem_reg = mem_reg_op,
    .mem_dereg = mem_dereg_op,
    .mem_query = mem_query_op,
    .mkey_pack = mkey_pack_op,
    .is_sockaddr_accessible = is_sockaddr_accessible_op,
    .detect_memory_type = detect_memory_type_op,
};

}  // namespace

MemoryDomain::MemoryDomain() noexcept : uct_md_t{} { ops = &table; }

ucs_status_t query_md(uct_md_h md, MdAttr* attr) noexcept { return uct_md_query(md, &attr->ucx); }

ucs_status_t pack_key(uct_md_h md, uct_mem_h memh, const KeyArgs& args, char* buffer) noexcept {
  return uct_md_mkey_pack_v2(md, memh, args.params, buffer);
}

}  // namespace verity::uct
