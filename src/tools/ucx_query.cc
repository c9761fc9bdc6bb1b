// SPDX-License-Identifier: BSD-3-Clause
#include "tools/ucx_query.h"

#include <dlfcn.h>
#include <ucp/api/ucp.h>
#include <uct/api/uct.h>

#include "tools/quiet_stdout.h"

namespace verity::tools {

namespace {

void query_md(uct_component_h component, const std::string& component_name, const char* md_name,
              std::vector<Device>* devices) {
  uct_md_config_t* config = nullptr;
  if (uct_md_config_read(component, nullptr, nullptr, &config) != UCS_OK) return;
  uct_md_h md = nullptr;
  const ucs_status_t status = uct_md_open(component, md_name, config, &md);
  uct_config_release(config);
  if (status != UCS_OK) return;
  uct_tl_resource_desc_t* resources = nullptr;
  unsigned count = 0;
  if (uct_md_query_tl_resources(md, &resources, &count) == UCS_OK) {
    for (unsigned i = 0; i < count; ++i) {
      devices->push_back({resources[i].tl_name, resources[i].dev_name, component_name});
    }
    uct_release_tl_resource_list(resources);
  }
  uct_md_close(md);
}

void query_component(uct_component_h component, std::vector<Device>* devices) {
  uct_component_attr_t attr;
  attr.field_mask = UCT_COMPONENT_ATTR_FIELD_NAME | UCT_COMPONENT_ATTR_FIELD_MD_RESOURCE_COUNT;
  if (uct_component_query(component, &attr) != UCS_OK) return;
  const std::string name = attr.name;
  std::vector<uct_md_resource_desc_t> resources(attr.md_resource_count);
  attr.field_mask = UCT_COMPONENT_ATTR_FIELD_MD_RESOURCES;
  attr.md_resources = resources.data();
  if (resources.empty() || uct_component_query(component, &attr) != UCS_OK) return;
  for (const auto& resource : resources) query_md(component, name, resource.md_name, devices);
}

std::string library_of(const void* function) {
  Dl_info info;
  return dladdr(function, &info) != 0 && info.dli_fname != nullptr ? info.dli_fname : "";
}

// UCX takes everything after the first '.' of its own file's name.
std::string module_suffix() {
  const std::string path = library_of(reinterpret_cast<const void*>(&ucs_status_string));
  const std::string file = path.substr(path.rfind('/') + 1);
  const std::size_t dot = file.find('.');
  return dot == std::string::npos ? ".so" : file.substr(dot);
}

}  // namespace

UcxInfo query_ucx() {
  const QuietStdout quiet;
  UcxInfo info;
  info.version = ucp_get_version_string();
  info.version = info.version.substr(0, info.version.find(' '));
  info.library = library_of(reinterpret_cast<const void*>(&ucp_get_version_string));
  info.suffix = module_suffix();
  uct_component_h* components = nullptr;
  unsigned count = 0;
  if (uct_query_components(&components, &count) != UCS_OK) return info;
  for (unsigned i = 0; i < count; ++i) query_component(components[i], &info.devices);
  uct_release_component_list(components);
  return info;
}

}  // namespace verity::tools
