// SPDX-License-Identifier: BSD-3-Clause
//
// Memory domain of a wrapping component: registration goes to the lower domain and handles are
// the lower domain's own, so they can be given to the lower transport as they are.
#ifndef VERITY_UCT_WRAP_MD_H
#define VERITY_UCT_WRAP_MD_H

#include "uct/wrap/lower.h"
#include "uct/wrap/registry.h"

namespace verity::uct {

class WrapMd : public uct_md_t {
 public:
  WrapMd() : uct_md_t{} {}
  virtual ~WrapMd() = default;
  WrapMd(const WrapMd&) = delete;
  WrapMd& operator=(const WrapMd&) = delete;

  static WrapMd& of(uct_md_h md) noexcept { return static_cast<WrapMd&>(*md); }

  [[nodiscard]] uct_md_h lower() const noexcept { return lower_.get(); }
  [[nodiscard]] Component& wrapper() const noexcept { return *wrapper_; }
  [[nodiscard]] const WrapSpec& spec() const noexcept { return wrapper_->spec(); }

  // What the domain says about itself; `attr` holds the lower domain's answer. By default, unless
  // the spec passes remote memory access: registration of host memory only, nothing remote.
  // Registration is offered even above a lower domain without it (posix, sysv), as a no-op: a UCT
  // client needs either that or allocation to get a buffer at all (uct_iface_mem_alloc).
  virtual void map_attr(uct_md_attr_t& attr) const noexcept;

  // Last step of opening, lower() is open. An error refuses the domain.
  virtual ucs_status_t opened(const uct_md_config_t* config);

  // Component functions for UCX's table.
  static ucs_status_t open(uct_component_t* component, const char* name,
                           const uct_md_config_t* config, uct_md_h* md_p) noexcept;
  static ucs_status_t rkey_unpack(uct_component_t* component, const void* buffer,
                                  uct_rkey_t* rkey_p, void** handle_p) noexcept;
  static ucs_status_t rkey_ptr(uct_component_t* component, uct_rkey_t rkey, void* handle,
                               uint64_t remote_addr, void** local_addr_p) noexcept;
  static ucs_status_t rkey_release(uct_component_t* component, uct_rkey_t rkey,
                                   void* handle) noexcept;

  // False when mem_reg is that no-op.
  [[nodiscard]] bool lower_registers() const noexcept { return lower_registers_; }

 private:
  ucs_status_t open_lower(const Component::MdEntry& entry);

  bool lower_registers_ = false;
  Component* wrapper_ = nullptr;
  LowerMd lower_;
};

}  // namespace verity::uct

#endif
