// SPDX-License-Identifier: BSD-3-Clause
//
// MPI components, recognized by the names of the shared objects in the process.
//
// Open MPI opens every component of a framework before it chooses. Seen with 4.1.4 and pml=ucx,
// osc=ucx,sm: all of btl and coll/sm stay loaded, unused. So btl counts only when something that
// drives it is there, and coll/sm only when its priority was raised from 0, which disables it.
// osc/sm counts unless osc/ucx stands above it: a window goes to the component of the highest
// priority that offers its kind, and both offer MPI_Win_allocate.
#include <link.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "health/report/bypass.h"

namespace verity::health {

namespace {

struct Component {
  std::string framework;
  std::string name;
};

std::string_view file_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);  // npos + 1 is 0
}

// "mca_coll_sm.so" -> {coll, sm}; nothing for other files.
std::optional<Component> parse_component(std::string_view file) {
  constexpr std::string_view kPrefix = "mca_";
  if (!file.starts_with(kPrefix)) return std::nullopt;
  file.remove_prefix(kPrefix.size());
  const std::size_t separator = file.find('_');
  const std::size_t dot = file.find('.');
  if (separator == std::string_view::npos || dot == std::string_view::npos || dot < separator) {
    return std::nullopt;
  }
  return Component{std::string(file.substr(0, separator)),
                   std::string(file.substr(separator + 1, dot - separator - 1))};
}

bool any_of_names(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool is_positive(const std::optional<std::string>& number) {
  return number && std::atoi(number->c_str()) > 0;
}

// Everything of one process that the rules look at.
struct Loaded {
  std::vector<Component> components;
  bool open_mpi = false;
  bool hcoll = false;
  bool ucc = false;         // a build of Open MPI may be linked with it, and leave it alone
  bool ucc_in_use = false;  // it loads its own components when it is first used

  bool has(std::string_view framework, std::string_view name) const {
    return std::any_of(components.begin(), components.end(), [&](const Component& c) {
      return c.framework == framework && c.name == name;
    });
  }
  bool has_framework(std::string_view framework) const {
    return std::any_of(components.begin(), components.end(),
                       [&](const Component& c) { return c.framework == framework; });
  }
};

Loaded classify(const std::vector<std::string>& objects) {
  Loaded loaded;
  for (const std::string& path : objects) {
    const std::string_view file = file_name(path);
    if (auto component = parse_component(file)) loaded.components.push_back(*component);
    loaded.open_mpi |= file.starts_with("libopen-pal.");
    loaded.hcoll |= file.starts_with("libhcoll.");
    loaded.ucc |= file.starts_with("libucc.");
    loaded.ucc_in_use |= file.starts_with("libucc_cl_") || file.starts_with("libucc_tl_");
  }
  return loaded;
}

constexpr int kOscUcxPriority = 60;  // of both, where nothing is set
constexpr int kOscSmPriority = 100;

int number_or(const std::optional<std::string>& number, int otherwise) {
  return number ? std::atoi(number->c_str()) : otherwise;
}

bool osc_carries_payload(const std::string& name, const Loaded& loaded,
                         const MpiSettings& settings) {
  if (name == "sm" && loaded.has("osc", "ucx")) return !osc_ucx_is_above_sm(settings);
  return !any_of_names(name, {"ucx", "monitoring"});
}

bool carries_payload(const Component& component, const Loaded& loaded,
                     const MpiSettings& settings) {
  const std::string& name = component.name;
  if (component.framework == "pml") return !any_of_names(name, {"ucx", "monitoring", "v"});
  if (component.framework == "mtl") return loaded.has("pml", "cm");
  if (component.framework == "osc") return osc_carries_payload(name, loaded, settings);
  if (component.framework == "btl") {
    return name != "self" && (loaded.has("pml", "ob1") || loaded.has("osc", "rdma"));
  }
  if (component.framework == "coll") {
    if (name == "sm") return is_positive(settings.coll_sm_priority);
    return any_of_names(name, {"hcoll", "ucc", "portals4", "fca", "xhc", "acoll", "smdirect"});
  }
  return false;
}

// Builds of Open MPI 5 and later have their components inside libmpi: only the settings show which
// are used.
bool has_built_in(const Loaded& loaded) { return loaded.open_mpi && !loaded.has_framework("pml"); }

bool osc_is_ucx_and_sm(const MpiSettings& settings) {
  return settings.osc == "ucx,sm" || settings.osc == "sm,ucx";
}

void add_built_in(const Loaded& loaded, const MpiSettings& settings, std::set<std::string>* names) {
  if (!has_built_in(loaded)) return;
  if (settings.pml != "ucx") names->insert("pml (OMPI_MCA_pml is not ucx)");
  if (osc_is_ucx_and_sm(settings)) {
    if (!osc_ucx_is_above_sm(settings)) names->insert("osc/sm");
  } else if (settings.osc != "ucx") {
    names->insert("osc (OMPI_MCA_osc is neither ucx nor ucx,sm)");
  }
  if (is_positive(settings.coll_sm_priority)) names->insert("coll/sm");
}

std::optional<std::string> setting(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

}  // namespace

MpiSettings MpiSettings::from_environment() {
  return {.pml = setting("OMPI_MCA_pml"),
          .osc = setting("OMPI_MCA_osc"),
          .coll_sm_priority = setting("OMPI_MCA_coll_sm_priority"),
          .osc_ucx_priority = setting("OMPI_MCA_osc_ucx_priority"),
          .osc_sm_priority = setting("OMPI_MCA_osc_sm_priority"),
          .coll_ucc_enable = setting("OMPI_MCA_coll_ucc_enable")};
}

bool osc_ucx_is_above_sm(const MpiSettings& settings) {
  return number_or(settings.osc_ucx_priority, kOscUcxPriority) >
         number_or(settings.osc_sm_priority, kOscSmPriority);
}

std::vector<std::string> mpi_bypass(const std::vector<std::string>& objects,
                                    const MpiSettings& settings) {
  const Loaded loaded = classify(objects);
  std::set<std::string> names;
  for (const Component& component : loaded.components) {
    if (carries_payload(component, loaded, settings)) {
      names.insert(component.framework + "/" + component.name);
    }
  }
  add_built_in(loaded, settings, &names);
  if (loaded.hcoll) names.insert("coll/hcoll");
  if (loaded.ucc_in_use || (loaded.ucc && is_positive(settings.coll_ucc_enable)))
    names.insert("coll/ucc");
  return {names.begin(), names.end()};
}

bool only_shared_windows(const std::vector<std::string>& objects, const MpiSettings& settings) {
  const Loaded loaded = classify(objects);
  if (has_built_in(loaded)) return osc_is_ucx_and_sm(settings) && osc_ucx_is_above_sm(settings);
  return loaded.has("osc", "sm") && !osc_carries_payload("sm", loaded, settings);
}

bool is_mpi_program(const std::vector<std::string>& objects) {
  return std::any_of(objects.begin(), objects.end(), [](std::string_view path) {
    const std::string_view file = file_name(path);
    return file.starts_with("libmpi.so") || file.starts_with("libmpich.so") ||
           file.starts_with("libmpi_cray.so");
  });
}

bool is_open_mpi(const std::vector<std::string>& objects) { return classify(objects).open_mpi; }

// "ob1", "ucx,ob1", "^ucx".
static bool may_choose_ucx(std::string_view pml) {
  const bool named = pml.find("ucx") != std::string_view::npos;
  return pml.starts_with('^') ? !named : named;
}

std::string unused_reason(bool open_mpi, const MpiSettings& settings, std::string_view ucx_tls) {
  if (open_mpi && settings.pml && !may_choose_ucx(*settings.pml)) {
    return settings.pml->starts_with('^') ? "OMPI_MCA_pml=" + *settings.pml
                                          : "pml/" + *settings.pml + ", not pml/ucx";
  }
  if (!ucx_tls.empty() && !names_wrapper(ucx_tls)) return "UCX_TLS=" + std::string(ucx_tls);
  if (open_mpi && !settings.pml) return "OMPI_MCA_pml is not set to ucx";
  return {};
}

std::vector<std::string> loaded_objects() {
  std::vector<std::string> objects;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* out) {
        if (info->dlpi_name != nullptr && info->dlpi_name[0] != '\0') {
          static_cast<std::vector<std::string>*>(out)->emplace_back(info->dlpi_name);
        }
        return 0;
      },
      &objects);
  return objects;
}

}  // namespace verity::health
