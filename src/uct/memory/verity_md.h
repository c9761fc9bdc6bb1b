// SPDX-License-Identifier: BSD-3-Clause
//
// The verified memory domain: host memory only. A registration is the lower domain's plus, once a
// remote key of it is given out, an entry in the process's table of regions that peers may reach.
// It is offered even above a lower domain without it (posix, tcp): there frames carry what goes to
// and from registered memory.
#ifndef VERITY_UCT_MEMORY_VERITY_MD_H
#define VERITY_UCT_MEMORY_VERITY_MD_H

#include "rma/regions.h"
#include "uct/wrap/md.h"

namespace verity::uct {

// What an operation's rkey points at.
struct RemoteKey {
  uint64_t token = 0;
  uct_component_h lower = nullptr;  // nullptr: the lower transport needs no key
  uct_rkey_bundle_t bundle{.rkey = UCT_INVALID_RKEY, .handle = nullptr, .type = nullptr};

  static const RemoteKey& of(uct_rkey_t rkey) noexcept {
    return *reinterpret_cast<const RemoteKey*>(rkey);
  }
};

class VerityMd final : public WrapMd {
 public:
  void map_attr(MdAttr& attr) const noexcept override;
  ucs_status_t mem_reg(void* address, size_t length, const RegArgs& args,
                       uct_mem_h* memh_p) noexcept override;
  ucs_status_t mem_dereg(const uct_md_mem_dereg_params_t& params) noexcept override;
  ucs_status_t mem_advise(uct_mem_h memh, void* address, size_t length,
                          unsigned advice) noexcept override;
  ucs_status_t mkey_pack(uct_mem_h memh, const KeyArgs& args, char* buffer) noexcept override;

  // What the lower transport knows that memory by.
  [[nodiscard]] static uct_mem_h lower_handle(uct_mem_h memh) noexcept;

 private:
  [[nodiscard]] bool has_lower_keys() const noexcept;
};

extern const KeyOps kVerityKeys;

// Of this process. Never destroyed: registrations may end after static destructors ran.
[[nodiscard]] rma::Regions& regions() noexcept;

}  // namespace verity::uct

#endif
