// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/sites.h"

#include <cstdio>

#include "mpi/modules.h"

namespace verity::mpi {

namespace {

constexpr uint64_t kOffsetMask = (uint64_t{1} << 48) - 1;

struct Known {
  const void* address;
  Site site;
};
constexpr size_t kCached = 64;
thread_local constinit Known cache[kCached] __attribute__((tls_model("initial-exec"))) = {};

Site look_up(const void* address) noexcept {
  const auto at = reinterpret_cast<uintptr_t>(address);
  const Module module = module_at(at);
  if (module.end == 0) return {};
  return {.id = uint64_t{module.id} << 48 | ((at - module.base) & kOffsetMask), .library = module.mpi_library};
}

}  // namespace

Site site_of(const void* address) noexcept {
  const auto at = reinterpret_cast<uintptr_t>(address);
  Known& known = cache[(at ^ at >> 7) % kCached];
  if (known.address != address) [[unlikely]] known = {address, look_up(address)};
  return known.site;
}

std::string site_in_words(uint64_t id) {
  if (id == 0) return "an unknown place";
  const auto module_id = static_cast<uint16_t>(id >> 48);
  const uint64_t offset = id & kOffsetMask;
  char text[64];
  Module module;
  std::string name;
  if (!module_with(module_id, offset, &module, &name)) {
    std::snprintf(text, sizeof(text), "module %04x+0x%llx", module_id, static_cast<unsigned long long>(offset));
    return text;
  }
  // The call itself is before the address that it returns to.
  std::string words = source_of(module.base + offset - 1);
  if (!words.empty()) return words;
  std::snprintf(text, sizeof(text), "+0x%llx", static_cast<unsigned long long>(offset));
  return name + text;
}

}  // namespace verity::mpi
