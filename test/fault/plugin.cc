// SPDX-License-Identifier: BSD-3-Clause
//
// Entry of the corrupting test transport, loaded by UCX as the module 'fault'.
#include <unistd.h>

#include <string>
#include <string_view>

#include "fault/config.h"
#include "fault/iface.h"
#include "fault/report.h"
#include "uct/compat/load_check.h"
#include "uct/wrap/registry.h"

namespace verity::fault {
namespace {

// Also transports without active messages that read another process's memory (cma, knem): gets
// through them are what rendezvous is made of. Not those that copy within a process.
bool wraps(std::string_view component, std::string_view tl) {
  return component != "verity" && !tl.ends_with("_copy") && !tl.ends_with("_ipc");
}

// At most 8 letters, so that "v" + name fits: vftcp wraps ftcp wraps tcp.
std::string tl_name(std::string_view lower) {
  constexpr std::pair<std::string_view, const char*> kShort[] = {{"rc_verbs", "frc"},
                                                                 {"ud_verbs", "fud"},
                                                                 {"rc_mlx5", "frcx"},
                                                                 {"ud_mlx5", "fudx"},
                                                                 {"dc_mlx5", "fdcx"}};
  for (const auto& [name, short_name] : kShort) {
    if (name == lower) { return short_name; }
  }
  return "f" + std::string(lower.substr(0, 7));
}

std::unique_ptr<uct::WrapIface> make_iface(std::string_view) {
  return std::make_unique<FaultIface>();
}

// Not a global: constructor functions may run before those are initialised.
const uct::WrapSpec& fault_spec() {
  static const uct::WrapSpec spec = {
      .component_name = "fault",
      .prefix = 'f',
      .wraps = wraps,
      .tl_name = tl_name,
      .needs_am = false,
      .passes_rma = true,
      .md_config = config_table(),
      .configure = configure,
      .make_iface = make_iface,
  };
  return spec;
}

// Children that the process forks leave through report_at_exit() as well, but have nothing to say.
pid_t owner;

__attribute__((constructor)) void register_fault() {
  owner = getpid();
  if (uct::ucx_fits_this_build("ucx-verity test transport")) {
    (void)uct::register_component(fault_spec());
  }
}

__attribute__((destructor)) void report_at_exit() {
  if (getpid() == owner) { write_report(); }
}

}  // namespace
}  // namespace verity::fault
