// SPDX-License-Identifier: BSD-3-Clause
#include "uct/wrap/registry.h"

#include <algorithm>
#include <string>

#include "uct/wrap/devices.h"
#include "uct/wrap/lower.h"
#include "uct/wrap/md.h"

namespace verity::uct {
namespace {

ucs_status_t query_md_resources_op(uct_component_t* component, uct_md_resource_desc_t** resources_p,
                                   unsigned* count_p) noexcept {
  return guarded([&] {
    std::vector<uct_md_resource_desc_t> found;
    Component& own = Component::of(component);
    if (own.spec().queried != nullptr) own.spec().queried(component);
    ucs_status_t status = own.list_mds(&found);
    if (status != UCS_OK) { return status; }
    // UCX releases the array with ucs_free.
    const size_t bytes = std::max<size_t>(found.size(), 1) * sizeof(found[0]);
    auto* resources = static_cast<uct_md_resource_desc_t*>(ucs_malloc(bytes, "verity_mds"));
    if (resources == nullptr) { return UCS_ERR_NO_MEMORY; }
    std::copy(found.begin(), found.end(), resources);
    *resources_p = resources;
    *count_p = static_cast<unsigned>(found.size());
    return UCS_OK;
  });
}

ComponentOps component_ops(const WrapSpec& spec) {
  constexpr KeyOps kPlain{WrapMd::rkey_unpack, WrapMd::rkey_ptr, WrapMd::rkey_release,
                          WrapMd::rkey_compare};
  return {query_md_resources_op, WrapMd::open, spec.keys != nullptr ? *spec.keys : kPlain};
}

}  // namespace

Component::Component(const WrapSpec& spec)
    : ComponentBase(spec.component_name, component_ops(spec), spec.md_config), spec_(spec) {}

// "v" + "posix"; cut to what UCX has room for.
std::string Component::wrapped_name(std::string_view lower, size_t room) const {
  if (transparent_) { return std::string(lower); }
  std::string name = spec_.prefix + std::string(lower);
  name.resize(std::min(name.size(), room - 1));
  return name;
}

bool Component::is_candidate(uct_component_h lower, const uct_tl_t& tl) const {
  return (!needs_am(tl.name) || known_active_messages(tl.name) != HasAm::kNo) &&
         spec_.wraps(lower->name, tl.name);
}

bool Component::has_candidates(uct_component_h lower) const {
  uct_tl_t* tl;
  ucs_list_for_each(tl, &lower->tl_list, list) {
    if (is_candidate(lower, *tl)) { return true; }
  }
  return false;
}

void Component::discover_tls(uct_component_h lower) {
  uct_tl_t* tl;
  ucs_list_for_each(tl, &lower->tl_list, list) {
    const auto same = [&](const TlEntry* entry) {
      return entry->lower == lower && std::strcmp(entry->lower_name, tl->name) == 0;
    };
    if (!is_candidate(lower, *tl) || std::any_of(tls_.begin(), tls_.end(), same)) { continue; }
    const std::string name = spec_.tl_name != nullptr ? spec_.tl_name(tl->name)
                                                      : wrapped_name(tl->name, UCT_TL_NAME_MAX);
    tls_.reserve(tls_.size() + 1);
    if (TlEntry* entry = register_tl(*this, lower, *tl, name); entry != nullptr) {
      tls_.push_back(entry);
    }
  }
}

void Component::discover_mds(uct_component_h lower, std::vector<uct_md_resource_desc_t>& found) {
  std::vector<uct_md_resource_desc_t> resources;
  if (query_md_resources(lower, &resources) != UCS_OK) {
    return;  // this component has nothing to offer now; the others still have
  }
  for (const uct_md_resource_desc_t& resource : resources) {
    MdEntry entry{};
    entry.lower = lower;
    std::memcpy(entry.lower_name, resource.md_name, sizeof(entry.lower_name));
    wrapped_name(resource.md_name, sizeof(entry.name)).copy(entry.name, sizeof(entry.name));
    const auto same_name = [&](const MdEntry& other) {
      return std::strcmp(other.name, entry.name) == 0;
    };
    const auto known = std::find_if(mds_.begin(), mds_.end(), same_name);
    if (known == mds_.end()) {
      mds_.push_back(entry);
    } else if (known->lower != lower || std::strcmp(known->lower_name, entry.lower_name) != 0) {
      ucs_diag("%s: memory domain %s not wrapped, the name %s is taken", spec_.component_name,
               entry.lower_name, entry.name);
      continue;
    }
    uct_md_resource_desc_t& out = found.emplace_back();
    std::memcpy(out.md_name, entry.name, sizeof(out.md_name));
  }
}

// After all of them have been discovered: a wrapper may have others below it.
void Component::hide_lowers(const std::vector<uct_component_h>& components) {
  for (uct_component_h lower : components) {
    uct_tl_t* tl;
    if (lower == handle()) { continue; }
    ucs_list_for_each(tl, &lower->tl_list, list) {
      if (spec_.hides(tl->name) && hide_devices(tl)) {
        ucs_debug("%s: %s is hidden", spec_.component_name, tl->name);
      }
    }
  }
}

ucs_status_t Component::list_mds(std::vector<uct_md_resource_desc_t>* resources_p) {
  std::vector<uct_component_h> components;
  const ucs_status_t status = query_components(&components);
  if (status != UCS_OK) { return status; }
  const std::lock_guard lock(mutex_);
  std::vector<uct_md_resource_desc_t> found;
  for (uct_component_h lower : components) {
    // A wrapping component fills its transport list when it is queried for memory domains, so a
    // component that has none yet is queried too, if the spec would take its transports.
    if (lower == handle() || !(ucs_list_is_empty(&lower->tl_list) ? spec_.wraps(lower->name, "")
                                                                  : has_candidates(lower))) {
      continue;
    }
    const size_t before = found.size();
    discover_mds(lower, found);
    if (!has_candidates(lower)) {
      found.resize(before);
      continue;
    }
    if (std::find(lowers_.begin(), lowers_.end(), lower) == lowers_.end()) {
      lowers_.push_back(lower);
    }
    discover_tls(lower);
  }
  if (transparent_) { hide_lowers(components); }
  *resources_p = std::move(found);
  return UCS_OK;
}

TlEntry* Component::find_tl(std::string_view name) {
  const std::lock_guard lock(mutex_);
  const auto it = std::find_if(tls_.begin(), tls_.end(),
                               [&](const TlEntry* entry) { return name == entry->uct.name; });
  return it == tls_.end() ? nullptr : *it;
}

bool Component::find_md(std::string_view name, MdEntry* entry_p) {
  const std::lock_guard lock(mutex_);
  const auto it = std::find_if(mds_.begin(), mds_.end(),
                               [&](const MdEntry& entry) { return name == entry.name; });
  if (it == mds_.end()) { return false; }
  *entry_p = *it;
  return true;
}

uct_component_h Component::find_lower(uint32_t tag) {
  const std::lock_guard lock(mutex_);
  const auto it = std::find_if(lowers_.begin(), lowers_.end(), [&](uct_component_h lower) {
    return component_tag(lower->name) == tag;
  });
  return it == lowers_.end() ? nullptr : *it;
}

uint32_t component_tag(std::string_view name) noexcept {
  uint32_t hash = 2166136261U;  // FNV-1a: a dozen names, any spread will do
  for (const char c : name) { hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U; }
  return hash;
}

ucs_status_t register_component(const WrapSpec& spec) noexcept {
  return guarded([&] {
    Component& made = *std::make_unique<Component>(spec).release();
    uct_component_register(made.handle());
    made.transparent_ = spec.transparent != nullptr && spec.transparent(made.handle());
    // Before UCX looks at the lower ones, they are hidden.
    if (made.transparent_) { place_first(made.handle()); }
    return UCS_OK;
  });
}

}  // namespace verity::uct
