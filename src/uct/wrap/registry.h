// SPDX-License-Identifier: BSD-3-Clause
//
// A component that offers, for every lower transport, a transport of its own on the same devices.
// One component has one memory domain per lower memory domain. What the wrapper does to the data
// is the business of the WrapSpec: by default nothing, everything goes through.
#ifndef VERITY_UCT_WRAP_REGISTRY_H
#define VERITY_UCT_WRAP_REGISTRY_H

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "uct/compat/component.h"

namespace verity::uct {

class Component;
class WrapIface;
class WrapMd;
struct TlEntry;

// The title of a component's options by which it declares that it damages data on purpose, for
// tests. Not its name or that of its transports: a real one may have any. Faults above it are
// counted as injected and blame no hardware.
inline constexpr const char* kInjectorTitle = "Fault injection for tests of ucx-verity";

// How one component wraps. Must live as long as the process.
struct WrapSpec {
  const char* component_name;  // less than UCT_COMPONENT_NAME_MAX characters
  char prefix;                 // before the names of lower memory domains and transports

  // Whether to wrap that transport. Never asked about the spec's own component. `tl` is empty for
  // a component whose transports are not known yet.
  bool (*wraps)(std::string_view component, std::string_view tl);

  // The wrapping transport's name (less than UCT_TL_NAME_MAX characters); null: prefix + lower.
  std::string (*tl_name)(std::string_view lower) = nullptr;

  // Whether to leave out transports without active messages (cma, memory copies), but for those of
  // which `reads` says true: they are wrapped for what they read of another process's memory.
  bool needs_am = true;
  bool (*reads)(std::string_view tl) = nullptr;

  // True: remote memory access and atomics are offered as the lower does. Otherwise the interface
  // that make_iface() makes says what there is.
  bool passes_rma = false;

  // The component's part of remote keys; null: WrapMd's.
  const KeyOps* keys = nullptr;

  MdConfigTable md_config{};

  // Takes the options when a memory domain opens (each domain, each context: several times per
  // process). An error refuses the domain; say why on stderr before returning it.
  ucs_status_t (*configure)(const uct_md_config_t* config) = nullptr;

  // Wrap under the lower transports' names (transparency.h): asked once, when the component is
  // registered; null: no. `hides`: whether a lower transport is to be hidden, wrapped or not.
  bool (*transparent)(uct_component_t* component) = nullptr;
  bool (*hides)(std::string_view tl) = nullptr;

  // UCX looks for memory domains: it may open some, or none.
  void (*queried)(uct_component_h component) = nullptr;

  // What to make; null: the plain pass-through classes. `lower_tl`: the lower transport's name.
  std::unique_ptr<WrapMd> (*make_md)() = nullptr;
  std::unique_ptr<WrapIface> (*make_iface)(std::string_view lower_tl) = nullptr;
};

// Registers the component with UCX: call once, from a constructor function of the plugin. Lower
// components are looked up later, when UCX asks for memory domains, because constructors run
// under UCX's module load lock. `spec` is kept by reference.
[[nodiscard]] ucs_status_t register_component(const WrapSpec& spec) noexcept;

// One registered wrapping component. Created by register_component() and never freed: UCX keeps
// pointers into it until the very end of the process.
class Component : public ComponentBase {
 public:
  explicit Component(const WrapSpec& spec);
  Component(const Component&) = delete;
  Component& operator=(const Component&) = delete;

  static Component& of(uct_component_h component) noexcept {
    return static_cast<Component&>(ComponentBase::of(component));
  }

  [[nodiscard]] const WrapSpec& spec() const noexcept { return spec_; }
  // Under the lower transports' own names.
  [[nodiscard]] bool is_transparent() const noexcept { return transparent_; }
  [[nodiscard]] bool needs_am(std::string_view tl) const {
    return spec_.needs_am && (spec_.reads == nullptr || !spec_.reads(tl));
  }

  // The three calls below may come from any thread.
  [[nodiscard]] ucs_status_t list_mds(std::vector<uct_md_resource_desc_t>* resources_p);
  // Null when there is no transport of that (wrapping) name.
  [[nodiscard]] TlEntry* find_tl(std::string_view name);
  // The lower component whose packed keys carry `tag`; null when unknown.
  [[nodiscard]] uct_component_h find_lower(uint32_t tag);

  struct MdEntry {
    char name[UCT_MD_NAME_MAX];
    uct_component_h lower;
    char lower_name[UCT_MD_NAME_MAX];
  };
  // False when there is no memory domain of that (wrapping) name.
  [[nodiscard]] bool find_md(std::string_view name, MdEntry* entry_p);

 private:
  friend ucs_status_t register_component(const WrapSpec& spec) noexcept;
  [[nodiscard]] std::string wrapped_name(std::string_view lower, size_t room) const;
  void hide_lowers(const std::vector<uct_component_h>& components);
  void discover_tls(uct_component_h lower);
  void discover_mds(uct_component_h lower, std::vector<uct_md_resource_desc_t>& found);
  [[nodiscard]] bool is_candidate(uct_component_h lower, const uct_tl_t& tl) const;
  [[nodiscard]] bool has_candidates(uct_component_h lower) const;

  const WrapSpec& spec_;
  bool transparent_ = false;
  std::mutex mutex_;
  std::vector<MdEntry> mds_;
  std::vector<TlEntry*> tls_;
  std::vector<uct_component_h> lowers_;
};

// Identifies a lower component in packed remote keys, the same in every process.
[[nodiscard]] uint32_t component_tag(std::string_view name) noexcept;

}  // namespace verity::uct

#endif
