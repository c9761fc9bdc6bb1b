// SPDX-License-Identifier: BSD-3-Clause
//
// Memory domain of a wrapping component: all goes to the lower domain, unless a derived class
// changes it.
#ifndef VERITY_UCT_WRAP_MD_H
#define VERITY_UCT_WRAP_MD_H

#include "uct/compat/md_ops.h"
#include "uct/wrap/lower.h"
#include "uct/wrap/registry.h"

namespace verity::uct {

class WrapMd : public MemoryDomain {
 public:
  static WrapMd& of(uct_md_h md) noexcept { return static_cast<WrapMd&>(*md); }

  [[nodiscard]] uct_md_h lower() const noexcept override { return lower_.get(); }
  [[nodiscard]] Component& wrapper() const noexcept { return *wrapper_; }
  [[nodiscard]] const WrapSpec& spec() const noexcept { return wrapper_->spec(); }

  // What the domain says about itself.
  void map_attr(MdAttr& attr) const noexcept override;

  // Registration and packed remote keys: by default those of the lower domain, whose handles are
  // then the upper ones too; a key has the lower component's tag in front.
  ucs_status_t mem_reg(void* address, size_t length, const RegArgs& args,
                       uct_mem_h* memh_p) noexcept override;
  ucs_status_t mem_dereg(const uct_md_mem_dereg_params_t& params) noexcept override;
  ucs_status_t mem_advise(uct_mem_h memh, void* address, size_t length,
                          unsigned advice) noexcept override;
  ucs_status_t mkey_pack(uct_mem_h memh, const KeyArgs& args, char* buffer) noexcept override;

  // Last step of opening, lower() is open. An error refuses the domain.
  virtual ucs_status_t opened(const uct_md_config_t* config);

  // Component functions for UCX's table.
  static ucs_status_t open(uct_component_t* component, const char* name,
                           const uct_md_config_t* config, uct_md_h* md_p) noexcept;
  static ucs_status_t rkey_unpack(uct_component_t* component, const void* buffer,
                                  const UnpackArgs& args, uct_rkey_t* rkey_p,
                                  void** handle_p) noexcept;
  static ucs_status_t rkey_ptr(uct_component_t* component, uct_rkey_t rkey, void* handle,
                               uint64_t remote_addr, void** local_addr_p) noexcept;
  static ucs_status_t rkey_release(uct_component_t* component, uct_rkey_t rkey,
                                   void* handle) noexcept;
  static int rkey_compare(uct_rkey_t a, uct_rkey_t b) noexcept;

  // What the lower domain said when it was opened.
  [[nodiscard]] bool lower_registers() const noexcept {
    return (lower_attr_.flags() & UCT_MD_FLAG_REG) != 0;
  }
  [[nodiscard]] const MdAttr& lower_attr() const noexcept { return lower_attr_; }
  // It serves a transport that reads other processes' memory, and is named after it.
  [[nodiscard]] bool lower_reads() const noexcept { return lower_reads_; }

 private:
  ucs_status_t open_lower(const Component::MdEntry& entry);

  MdAttr lower_attr_;
  bool lower_reads_ = false;
  Component* wrapper_ = nullptr;
  LowerMd lower_;
};

}  // namespace verity::uct

#endif
