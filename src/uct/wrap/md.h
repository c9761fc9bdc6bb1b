// SPDX-License-Identifier: BSD-3-Clause
//
// Memory domain of a wrapping component: all goes to the lower domain, unless a derived class
// changes it.
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

  // What the domain says about itself; `attr` holds the lower domain's answer.
  virtual void map_attr(uct_md_attr_t& attr) const noexcept;

  // Registration and packed remote keys: by default those of the lower domain, whose handles are
  // then the upper ones too; a key has the lower component's tag in front.
  virtual ucs_status_t mem_reg(void* address, size_t length, unsigned flags, uct_mem_h* memh_p) noexcept;
  virtual ucs_status_t mem_dereg(const uct_md_mem_dereg_params_t& params) noexcept;
  virtual ucs_status_t mem_advise(uct_mem_h memh, void* address, size_t length, unsigned advice) noexcept;
  virtual ucs_status_t mkey_pack(uct_mem_h memh, const uct_md_mkey_pack_params_t* params, char* buffer) noexcept;

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

  // What the lower domain said when it was opened.
  [[nodiscard]] bool lower_registers() const noexcept { return (lower_attr_.cap.flags & UCT_MD_FLAG_REG) != 0; }
  [[nodiscard]] const uct_md_attr_t& lower_attr() const noexcept { return lower_attr_; }

 private:
  ucs_status_t open_lower(const Component::MdEntry& entry);

  uct_md_attr_t lower_attr_{};
  Component* wrapper_ = nullptr;
  LowerMd lower_;
};

}  // namespace verity::uct

#endif
