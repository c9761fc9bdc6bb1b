// SPDX-License-Identifier: BSD-3-Clause
//
// Entry of the plugin: UCX loads it as a module, the constructor registers the component.
#include <string_view>

#include "health/report/bypass.h"
#include "uct/compat/load_check.h"
#include "uct/compat/transports.h"
#include "uct/iface/verity_iface.h"
#include "uct/memory/verity_md.h"
#include "uct/onesided/read_iface.h"
#include "uct/process/option_table.h"
#include "uct/process/options.h"
#include "uct/process/process.h"
#include "uct/wrap/registry.h"

namespace verity::uct {
namespace {

// Every transport, those of the corrupting test component included.
bool wraps(std::string_view, std::string_view) { return true; }

std::unique_ptr<WrapMd> make_md() { return std::make_unique<VerityMd>(); }

std::unique_ptr<WrapIface> make_iface(std::string_view lower_tl) {
  if (reads_processes(lower_tl)) return std::make_unique<ReadIface>();
  return std::make_unique<VerityIface>();
}

// Made on first use: constructors of this file may run before those of others.
const WrapSpec& verity_spec() {
  static const WrapSpec spec = {
      .component_name = "verity",
      .prefix = 'v',
      .wraps = wraps,
      .reads = [](std::string_view tl) { return reads_processes(tl); },
      .passes_rma = false,
      .keys = &kVerityKeys,
      .md_config = kVerityConfigTable,
      .configure = configure,
      .transparent = read_first,
      // But for copies between host and device memory: UCP has no lanes on these.
      .hides = [](std::string_view tl) { return health::is_lane(tl); },
      .queried = [](uct_component_h component) { process().noticed(component); },
      .make_md = make_md,
      .make_iface = make_iface,
  };
  return spec;
}

__attribute__((constructor)) void register_verity() {
  if (ucx_fits_this_build("ucx-verity")) { (void)register_component(verity_spec()); }
}

}  // namespace
}  // namespace verity::uct
