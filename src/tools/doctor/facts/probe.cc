// SPDX-License-Identifier: BSD-3-Clause
#include <dlfcn.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "tools/commands.h"
#include "tools/doctor/facts/exchange.h"
#include "tools/quiet_stdout.h"
#include "tools/ucx_query.h"

namespace verity::tools {

namespace {

// Whether `library` can be loaded at all, with every symbol bound; the linker's words if not.
int try_to_load(const std::string& library) {
  if (dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL) != nullptr) return kExitOk;
  std::printf("%s\n", dlerror());
  return kExitError;
}

nlohmann::ordered_json to_json(const std::vector<Variable>& settings) {
  auto object = nlohmann::ordered_json::object();
  for (const Variable& setting : settings) object[setting.name] = setting.value;
  return object;
}

int print_devices(bool with_context) {
  const UcxInfo info = query_ucx();
  nlohmann::ordered_json json;
  json["ucx"] = info.version;
  json["library"] = info.library;
  json["suffix"] = info.suffix;
  auto& devices = json["devices"] = nlohmann::ordered_json::array();
  for (const Device& device : info.devices) {
    devices.push_back({device.transport, device.device, device.component, device.network});
  }
  json["settings"] = to_json(info.settings);
  if (with_context) {
    const ContextLanes context = query_context();
    json["error"] = context.error;
    json["context"] = to_json(context.settings);
    auto& lanes = json["lanes"] = nlohmann::ordered_json::array();
    for (const Lane& lane : context.lanes)
      lanes.push_back({lane.transport, lane.device, lane.set_up_only});
  }
  std::printf("%s\n", json.dump().c_str());
  return kExitOk;
}

int print_exchange(std::size_t bytes) {
  Exchange exchange;
  {
    const QuietStdout quiet;
    exchange = exchange_message(bytes);
  }
  const nlohmann::ordered_json json = {
      {"error", exchange.error}, {"wrong", exchange.wrong}, {"endpoint", exchange.endpoint}};
  std::printf("%s\n", json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
  return kExitOk;
}

}  // namespace

void add_probe_command(CLI::App& app, int* exit_code) {
  auto library = std::make_shared<std::string>();
  auto bytes = std::make_shared<std::size_t>(0);
  auto with_context = std::make_shared<bool>(false);
  CLI::App* command = app.add_subcommand("probe", "List what UCX offers this process");
  command->group("");  // for doctor only: not in the help
  command->add_option("--load", *library, "Only try to load this shared object");
  command->add_flag("--context", *with_context,
                    "Also open a context with the settings of this shell");
  command->add_option("--exchange", *bytes,
                      "Only send a message of so many bytes to a second process");
  command->callback([library, with_context, bytes, exit_code] {
    if (*bytes > 0) {
      *exit_code = print_exchange(*bytes);
      return;
    }
    *exit_code = library->empty() ? print_devices(*with_context) : try_to_load(*library);
  });
}

}  // namespace verity::tools
