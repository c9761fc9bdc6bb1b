// SPDX-License-Identifier: BSD-3-Clause
#include "uct/memory/verity_md.h"

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <climits>
#include <thread>

#include "uct/process/fault_guard.h"
#include "uct/process/options.h"

namespace verity::uct {

namespace {

// In front of the lower domain's key, if it has one.
struct PackedKey {
  uint64_t token;
  uint32_t component;  // tag of the lower one; 0: no lower key follows
  uint32_t zero;
};
static_assert(sizeof(PackedKey) == 16);

struct Registration {
  uct_mem_h lower = UCT_MEM_HANDLE_NULL;
  uint64_t base = 0;
  uint64_t length = 0;
  unsigned access = 0;
  std::atomic<uint64_t> token = 0;  // 0: no key was given out
};

Registration& registration(uct_mem_h memh) noexcept { return *static_cast<Registration*>(memh); }

// Atomic operations come as active messages; the program may read and write what it uses for them.
unsigned access_of(uint64_t flags) noexcept {
  const bool get = (flags & (UCT_MD_MEM_ACCESS_REMOTE_GET | UCT_MD_MEM_ACCESS_REMOTE_ATOMIC)) != 0;
  const bool put = (flags & (UCT_MD_MEM_ACCESS_REMOTE_PUT | UCT_MD_MEM_ACCESS_REMOTE_ATOMIC)) != 0;
  return (get ? unsigned{rma::kRead} : 0) | (put ? unsigned{rma::kWrite} : 0);
}

}  // namespace

// A child made by fork() begins anew: what the parent's threads hold or read would never be
// released, and it serves no peer.
namespace {

rma::Regions* all_regions = nullptr;

// The user may be waiting for this core.
void give_way(unsigned looks) noexcept {
  constexpr unsigned kYields = 64;
  looks < kYields ? std::this_thread::yield()
                  : std::this_thread::sleep_for(std::chrono::microseconds(50));
}

bool begin_regions() noexcept {
  all_regions = new rma::Regions(give_way);
  return pthread_atfork(nullptr, nullptr, [] { all_regions = new rma::Regions(give_way); }) == 0;
}

}  // namespace

rma::Regions& regions() noexcept {
  [[maybe_unused]] static const bool begun = begin_regions();
  return *all_regions;
}

uct_mem_h VerityMd::lower_handle(uct_mem_h memh) noexcept {
  return memh == UCT_MEM_HANDLE_NULL ? UCT_MEM_HANDLE_NULL : registration(memh).lower;
}

bool VerityMd::has_lower_keys() const noexcept {
  return lower_registers() && lower_attr().packed_key_size() != 0;
}

void VerityMd::map_attr(MdAttr& attr) const noexcept {
  constexpr uint64_t kHost = UCS_BIT(UCS_MEMORY_TYPE_HOST);
  if (lower_registers()) {
    attr.flags() &= UCT_MD_FLAG_REG | UCT_MD_FLAG_NEED_MEMH | UCT_MD_FLAG_ADVISE | kInvalidateFlags;
  } else {
    attr.flags() = UCT_MD_FLAG_REG | kInvalidateFlags;
    attr.max_reg() = ULONG_MAX;
    attr.reg_mem_types() = kHost;
    attr.reg_cost() = ucs_linear_func_make(0, 0);
    // UCP registers what it reads for every domain whose keys a peer may need, and its assertions
    // want such a domain's registrations to be cacheable. cma's own domain has none at all.
    if (lower_reads()) attr.allow_caching(kHost);
  }
  attr.flags() |= UCT_MD_FLAG_NEED_RKEY;
  attr.max_alloc() = 0;
  attr.alloc_mem_types() = 0;
  attr.detect_mem_types() = 0;
  attr.access_mem_types() &= kHost;
  attr.reg_mem_types() &= kHost;
  attr.restrict_newer_types(kHost);
  attr.withdraw_exports();
  attr.packed_key_size() = sizeof(PackedKey) + (has_lower_keys() ? attr.packed_key_size() : 0);
}

ucs_status_t VerityMd::mem_reg(void* address, size_t length, const RegArgs& args,
                               uct_mem_h* memh_p) noexcept {
  return guarded([&] {
    auto made = std::make_unique<Registration>();
    made->base = reinterpret_cast<uint64_t>(address);
    made->length = length;
    made->access = access_of(args.flags);
    const ucs_status_t status =
        lower_registers() ? register_memory(lower(), address, length, args, &made->lower) : UCS_OK;
    if (status == UCS_OK) *memh_p = made.release();
    return status;
  });
}

// From here on every request of a peer for this memory is refused, and none is at work on it.
ucs_status_t VerityMd::mem_dereg(const uct_md_mem_dereg_params_t& params) noexcept {
  const std::unique_ptr<Registration> memory(&registration(params.memh));
  if (memory->token != 0) regions().revoke(memory->token);
  if (lower_registers()) {
    uct_md_mem_dereg_params_t lower_params = params;
    lower_params.memh = memory->lower;
    return uct_md_mem_dereg_v2(lower(), &lower_params);
  }
  const bool has_flags = (params.field_mask & UCT_MD_MEM_DEREG_FIELD_FLAGS) != 0;
  if (has_flags && (params.flags & UCT_MD_MEM_DEREG_FLAG_INVALIDATE) != 0) {
    invoke_completion(params.comp, UCS_OK);
  }
  return UCS_OK;
}

ucs_status_t VerityMd::mem_advise(uct_mem_h memh, void* address, size_t length,
                                  unsigned advice) noexcept {
  return uct_md_mem_advise(lower(), registration(memh).lower, address, length,
                           static_cast<uct_mem_advice_t>(advice));
}

ucs_status_t VerityMd::mkey_pack(uct_mem_h memh, const KeyArgs& args, char* buffer) noexcept {
  return guarded([&] {
    Registration& memory = registration(memh);
    if (memory.token == 0) {
      start_guarding();
      uint64_t none = 0;
      const uint64_t token = regions().add(memory.base, memory.length, memory.access);
      if (!memory.token.compare_exchange_strong(none, token))
        regions().revoke(token);  // another thread was faster
    }
    PackedKey key{memory.token, 0, 0};
    if (has_lower_keys()) key.component = component_tag(lower()->component->name);
    std::memcpy(buffer, &key, sizeof(key));
    return has_lower_keys() ? pack_key(lower(), memory.lower, args, buffer + sizeof(key)) : UCS_OK;
  });
}

namespace {

ucs_status_t unpack_key(uct_component_t* component, const void* buffer, const UnpackArgs& args,
                        uct_rkey_t* rkey_p, void** handle_p) noexcept {
  return guarded([&] {
    PackedKey packed;
    std::memcpy(&packed, buffer, sizeof(packed));
    auto key = std::make_unique<RemoteKey>();
    key->token = packed.token;
    if (packed.component != 0) {
      key->lower = Component::of(component).find_lower(packed.component);
      if (key->lower == nullptr) return UCS_ERR_UNREACHABLE;
      const ucs_status_t status = unpack_lower_key(
          key->lower, static_cast<const char*>(buffer) + sizeof(packed), args, &key->bundle);
      if (status != UCS_OK) return status;
    }
    *rkey_p = reinterpret_cast<uct_rkey_t>(key.get());
    *handle_p = key.release();
    return UCS_OK;
  });
}

// A pointer to the peer's memory would go past every check.
ucs_status_t key_pointer(uct_component_t*, uct_rkey_t, void*, uint64_t, void**) noexcept {
  return UCS_ERR_UNSUPPORTED;
}

ucs_status_t release_key(uct_component_t*, uct_rkey_t, void* handle) noexcept {
  const std::unique_ptr<RemoteKey> key(static_cast<RemoteKey*>(handle));
  return key->lower != nullptr ? uct_rkey_release(key->lower, &key->bundle) : UCS_OK;
}

// A registration has one token, which no other has.
int compare_keys(uct_rkey_t a, uct_rkey_t b) noexcept {
  if (a == UCT_INVALID_RKEY || b == UCT_INVALID_RKEY) return (a > b) - (a < b);
  const uint64_t one = RemoteKey::of(a).token;
  const uint64_t other = RemoteKey::of(b).token;
  return (one > other) - (one < other);
}

}  // namespace

const KeyOps kVerityKeys{unpack_key, key_pointer, release_key, compare_keys};

}  // namespace verity::uct
