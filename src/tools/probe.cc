// SPDX-License-Identifier: BSD-3-Clause
#include <dlfcn.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "tools/commands.h"
#include "tools/ucx_query.h"

namespace verity::tools {

namespace {

// Whether `library` can be loaded at all, with every symbol bound; the linker's words if not.
int try_to_load(const std::string& library) {
  if (dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL) != nullptr) return kExitOk;
  std::printf("%s\n", dlerror());
  return kExitError;
}

int print_devices() {
  const UcxInfo info = query_ucx();
  nlohmann::ordered_json json;
  json["ucx"] = info.version;
  auto& devices = json["devices"] = nlohmann::ordered_json::array();
  for (const Device& device : info.devices) {
    devices.push_back({device.transport, device.device, device.component});
  }
  std::printf("%s\n", json.dump().c_str());
  return kExitOk;
}

}  // namespace

void add_probe_command(CLI::App& app, int* exit_code) {
  auto library = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("probe", "List what UCX offers this process");
  command->group("");  // for doctor only: not in the help
  command->add_option("--load", *library, "Only try to load this shared object");
  command->callback([library, exit_code] {
    *exit_code = library->empty() ? print_devices() : try_to_load(*library);
  });
}

}  // namespace verity::tools
