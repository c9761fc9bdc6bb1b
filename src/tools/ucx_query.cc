// SPDX-License-Identifier: BSD-3-Clause
#include "tools/ucx_query.h"

#include <dlfcn.h>
#include <ucp/api/ucp.h>
#include <uct/api/uct.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <sstream>

#include "tools/quiet_stdout.h"

namespace verity::tools {

namespace {

// The plugin writes what the site's files lock or limit into the configuration that it is opened
// by.
void read_settings(uct_md_config_t* config, std::vector<Variable>* settings) {
  if (!settings->empty()) return;  // alike in all its memory domains
  for (const char* name : {"MODE", "TRANSPARENT"}) {
    std::array<char, 32> value{};
    if (uct_config_get(config, name, value.data(), value.size()) == UCS_OK)
      settings->push_back({std::string("UCX_VERITY_") + name, value.data()});
  }
}

void query_md(uct_component_h component, const std::string& component_name, const char* md_name,
              UcxInfo* info) {
  uct_md_config_t* config = nullptr;
  if (uct_md_config_read(component, nullptr, nullptr, &config) != UCS_OK) return;
  uct_md_h md = nullptr;
  const ucs_status_t status = uct_md_open(component, md_name, config, &md);
  if (status == UCS_OK && component_name == "verity") read_settings(config, &info->settings);
  uct_config_release(config);
  if (status != UCS_OK) return;
  uct_tl_resource_desc_t* resources = nullptr;
  unsigned count = 0;
  if (uct_md_query_tl_resources(md, &resources, &count) == UCS_OK) {
    for (unsigned i = 0; i < count; ++i) {
      info->devices.push_back({resources[i].tl_name, resources[i].dev_name, component_name,
                               resources[i].dev_type == UCT_DEVICE_TYPE_NET});
    }
    uct_release_tl_resource_list(resources);
  }
  uct_md_close(md);
}

void query_component(uct_component_h component, UcxInfo* info) {
  uct_component_attr_t attr;
  attr.field_mask = UCT_COMPONENT_ATTR_FIELD_NAME | UCT_COMPONENT_ATTR_FIELD_MD_RESOURCE_COUNT;
  if (uct_component_query(component, &attr) != UCS_OK) return;
  const std::string name = attr.name;
  std::vector<uct_md_resource_desc_t> resources(attr.md_resource_count);
  attr.field_mask = UCT_COMPONENT_ATTR_FIELD_MD_RESOURCES;
  attr.md_resources = resources.data();
  if (resources.empty() || uct_component_query(component, &attr) != UCS_OK) return;
  for (const auto& resource : resources) query_md(component, name, resource.md_name, info);
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

// UCP says what it opened in its description of the context alone, in lines such as
//   #      resource 1  :  md 1  dev 1  flags -- vtcp/eth0
// where the flag a stands for connection set-up.
std::vector<Lane> lanes_of(const std::string& description) {
  std::vector<Lane> lanes;
  std::istringstream stream(description);
  for (std::string line; std::getline(stream, line);) {
    const std::size_t flags = line.find(" flags ");
    const std::size_t name = line.find_last_of(' ') + 1;
    const std::size_t slash = line.find('/', name);
    if (line.find(" resource ") == std::string::npos || flags == std::string::npos ||
        slash == std::string::npos)
      continue;
    lanes.push_back(
        {line.substr(name, slash - name), line.substr(slash + 1), line[flags + 7] == 'a'});
  }
  return lanes;
}

std::string text_of(const std::function<void(std::FILE*)>& print) {
  char* text = nullptr;
  std::size_t length = 0;
  std::FILE* stream = open_memstream(&text, &length);
  if (stream == nullptr) return {};
  print(stream);
  std::fclose(stream);
  std::string printed(text, length);
  std::free(text);
  return printed;
}

// UCP only prints its values, as NAME=VALUE.
std::vector<Variable> settings_of(const ucp_config_t* config) {
  std::vector<Variable> settings;
  std::istringstream stream(
      text_of([&](std::FILE* out) { ucp_config_print(config, out, "", UCS_CONFIG_PRINT_CONFIG); }));
  for (std::string line; std::getline(stream, line);) {
    const std::size_t equals = line.find('=');
    if (equals == std::string::npos) continue;
    const std::string name = line.substr(0, equals);
    if (name == "UCX_TLS" || name == "UCX_NET_DEVICES")
      settings.push_back({name, line.substr(equals + 1)});
  }
  return settings;
}

}  // namespace

ContextLanes query_context() {
  const QuietStdout quiet;
  ContextLanes result;
  ucp_config_t* config = nullptr;
  ucs_status_t status = ucp_config_read(nullptr, nullptr, &config);
  ucp_context_h context = nullptr;
  if (status == UCS_OK) {
    result.settings = settings_of(config);
    ucp_params_t params{};
    params.field_mask = UCP_PARAM_FIELD_FEATURES;
    params.features = UCP_FEATURE_TAG | UCP_FEATURE_RMA | UCP_FEATURE_AMO32 | UCP_FEATURE_AMO64;
    status = ucp_init(&params, config, &context);
    ucp_config_release(config);
  }
  if (status != UCS_OK) {
    result.error = ucs_status_string(status);
    return result;
  }
  result.lanes = lanes_of(text_of([&](std::FILE* out) { ucp_context_print_info(context, out); }));
  ucp_cleanup(context);
  return result;
}

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
  for (unsigned i = 0; i < count; ++i) query_component(components[i], &info);
  uct_release_component_list(components);
  return info;
}

}  // namespace verity::tools
