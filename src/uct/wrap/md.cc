// SPDX-License-Identifier: BSD-3-Clause
#include "uct/wrap/md.h"

#include <memory>

namespace verity::uct {
namespace {

// A packed key says which lower component can unpack it: with one component for all lower ones,
// only the key can say.
struct PackedKey {
  static constexpr size_t kPrefix = sizeof(uint32_t);
};

struct UnpackedKey {
  uct_component_h lower;
  uct_rkey_bundle_t bundle;
};

}  // namespace

void WrapMd::map_attr(MdAttr& attr) const noexcept {
  attr.packed_key_size() += PackedKey::kPrefix;
  attr.withdraw(UCT_MD_FLAG_SOCKADDR);
  attr.withdraw_exports();
}

ucs_status_t WrapMd::mem_reg(void* address, size_t length, const RegArgs& args,
                             uct_mem_h* memh_p) noexcept {
  return register_memory(lower(), address, length, args, memh_p);
}

ucs_status_t WrapMd::mem_dereg(const uct_md_mem_dereg_params_t& params) noexcept {
  return uct_md_mem_dereg_v2(lower(), &params);
}

ucs_status_t WrapMd::mem_advise(uct_mem_h memh, void* address, size_t length,
                                unsigned advice) noexcept {
  return uct_md_mem_advise(lower(), memh, address, length, static_cast<uct_mem_advice_t>(advice));
}

ucs_status_t WrapMd::mkey_pack(uct_mem_h memh, const KeyArgs& args, char* buffer) noexcept {
  const uint32_t tag = component_tag(lower()->component->name);
  std::memcpy(buffer, &tag, sizeof(tag));
  return pack_key(lower(), memh, args, buffer + PackedKey::kPrefix);
}

ucs_status_t WrapMd::opened(const uct_md_config_t*) { return UCS_OK; }

ucs_status_t WrapMd::open_lower(const Component::MdEntry& entry) {
  const ucs_status_t status = open_lower_md(entry.lower, entry.lower_name, &lower_);
  if (status != UCS_OK) { return status; }
  lower_reads_ = spec().reads != nullptr && spec().reads(entry.lower_name);
  return query_md(lower(), &lower_attr_);
}

ucs_status_t WrapMd::open(uct_component_t* component, const char* name,
                          const uct_md_config_t* config, uct_md_h* md_p) noexcept {
  return guarded([&] {
    Component& wrapper = Component::of(component);
    Component::MdEntry entry;
    if (!wrapper.find_md(name, &entry)) { return UCS_ERR_NO_DEVICE; }
    const WrapSpec& spec = wrapper.spec();
    ucs_status_t status = spec.configure != nullptr ? spec.configure(config) : UCS_OK;
    if (status != UCS_OK) { return status; }
    auto md = spec.make_md != nullptr ? spec.make_md() : std::make_unique<WrapMd>();
    md->component = component;
    md->wrapper_ = &wrapper;
    status = md->open_lower(entry);
    if (status == UCS_OK) { status = md->opened(config); }
    if (status == UCS_OK) { *md_p = md.release(); }
    return status;
  });
}

ucs_status_t WrapMd::rkey_unpack(uct_component_t* component, const void* buffer,
                                 const UnpackArgs& args, uct_rkey_t* rkey_p,
                                 void** handle_p) noexcept {
  return guarded([&] {
    Component& wrapper = Component::of(component);
    uint32_t tag;
    std::memcpy(&tag, buffer, sizeof(tag));
    uct_component_h lower = wrapper.find_lower(tag);
    if (lower == nullptr) { return UCS_ERR_UNREACHABLE; }
    auto key = std::make_unique<UnpackedKey>();
    key->lower = lower;
    const ucs_status_t status = unpack_lower_key(
        lower, static_cast<const char*>(buffer) + PackedKey::kPrefix, args, &key->bundle);
    if (status == UCS_OK) {
      *rkey_p = key->bundle.rkey;
      *handle_p = key.release();
    }
    return status;
  });
}

ucs_status_t WrapMd::rkey_ptr(uct_component_t*, uct_rkey_t, void* handle, uint64_t remote_addr,
                              void** local_addr_p) noexcept {
  if (handle == nullptr) { return UCS_ERR_UNSUPPORTED; }
  auto* key = static_cast<UnpackedKey*>(handle);
  return uct_rkey_ptr(key->lower, &key->bundle, remote_addr, local_addr_p);
}

ucs_status_t WrapMd::rkey_release(uct_component_t*, uct_rkey_t, void* handle) noexcept {
  if (handle == nullptr) { return UCS_OK; }
  const std::unique_ptr<UnpackedKey> key(static_cast<UnpackedKey*>(handle));
  return uct_rkey_release(key->lower, &key->bundle);
}

// The keys are the lower ones, whose component is not known here.
int WrapMd::rkey_compare(uct_rkey_t a, uct_rkey_t b) noexcept { return (a > b) - (a < b); }

}  // namespace verity::uct
