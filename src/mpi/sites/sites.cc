// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/sites/sites.h"

#include <pthread.h>
#include <unwind.h>

#include <cstdio>
#include <new>

#include "mpi/interpose/modules.h"
#include "mpi/sites/symbolize.h"

namespace verity::mpi {

namespace {

constexpr uint64_t kOffsetMask = (uint64_t{1} << 48) - 1;

struct Walk {
  const void* address;  // of the frame that is searched for
  uintptr_t end = 0;    // once it was found: of the function that it called
  int frame = 0;
};

_Unwind_Reason_Code step(_Unwind_Context* context, void* argument) {
  auto& walk = *static_cast<Walk*>(argument);
  const uintptr_t end = _Unwind_GetCFA(context);
  if (walk.end != 0) {
    // Only where a return address lies at the frame's end, as on x86.
    const auto* slot = reinterpret_cast<const uintptr_t*>(end) - 1;
    if (*slot == _Unwind_GetIP(context)) walk.frame = static_cast<int>(end - walk.end);
    return _URC_END_OF_STACK;
  }
  if (_Unwind_GetIP(context) == reinterpret_cast<uintptr_t>(walk.address)) walk.end = end;
  return _URC_NO_REASON;
}

// A binding's functions have frames of a fixed size: it is found once, by the unwinder. 0: not
// found.
int frame_around(const void* address) noexcept {
  Walk walk{.address = address};
  _Unwind_Backtrace(step, &walk);
  return walk.frame;
}

KnownSite look_up(const void* address) noexcept {
  const auto at = reinterpret_cast<uintptr_t>(address);
  const Module module = module_at(at);
  if (module.end == 0) {
    KnownSite unknown{};
    unknown.plain = unknown.address = address;
    return unknown;
  }
  KnownSite known{};
  known.address = address;
  known.site = {.id = uint64_t{module.id} << 48 | ((at - module.base) & kOffsetMask),
                .library = module.mpi_library};
  known.frame = module.binding ? frame_around(address) : 0;
  if (!known.site.library && known.frame == 0) known.plain = address;
  return known;
}

// nullptr: no memory.
KnownSite* own_sites() noexcept {
  if (thread.known_sites != none_known) [[likely]]
    return thread.known_sites;
  static pthread_key_t key;
  static const bool has_key = pthread_key_create(&key, [](void* sites) {
                                thread.known_sites = none_known;
                                delete[] static_cast<KnownSite*>(sites);
                              }) == 0;
  if (!has_key) return nullptr;  // the program has them all
  auto* made = new (std::nothrow) KnownSite[kKnownSites]();
  if (made == nullptr) return nullptr;
  if (pthread_setspecific(key, made) != 0) {
    delete[] made;
    return nullptr;
  }
  return thread.known_sites = made;
}

struct Place {
  Site site;
  int frame;  // as KnownSite's
};

Place place_at(const void* address, const void* in_use) noexcept {
  const bool has_own = own_sites() != nullptr;
  KnownSite& known = known_site(address);
  if (known.address == address) return {known.site, known.frame};
  const KnownSite found = look_up(address);
  if (has_own && (in_use == nullptr || &known != &known_site(in_use))) known = found;
  return {found.site, found.frame};
}

}  // namespace

Site site_of(const void* address, const void* frame_end, const void* in_use) noexcept {
  Place place = place_at(address, in_use);
  // Fortran's newest binding stands on the older one.
  for (int depth = 0; place.frame != 0 && depth < 4; ++depth) {
    frame_end = static_cast<const char*>(frame_end) + place.frame;
    const void* outer = static_cast<const void* const*>(frame_end)[-1];
    const Place next = place_at(outer, in_use);
    if (next.site.id == 0) break;
    place = next;
  }
  return place.site;
}

std::string site_in_words(uint64_t id) {
  if (id == 0) return "an unknown place";
  const auto module_id = static_cast<uint16_t>(id >> 48);
  const uint64_t offset = id & kOffsetMask;
  char text[64];
  Module module;
  std::string name;
  if (!module_with(module_id, offset, &module, &name)) {
    std::snprintf(text, sizeof(text), "module %04x+0x%llx", module_id,
                  static_cast<unsigned long long>(offset));
    return text;
  }
  // The call itself is before the address that it returns to.
  std::string words = source_of(module.base + offset - 1);
  if (!words.empty()) return words;
  std::snprintf(text, sizeof(text), "+0x%llx", static_cast<unsigned long long>(offset));
  return name + text;
}

}  // namespace verity::mpi
