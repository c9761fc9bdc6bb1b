// SPDX-License-Identifier: BSD-3-Clause
#ifndef VERITY_TEST_FAULT_CONFIG_H
#define VERITY_TEST_FAULT_CONFIG_H

#include "uct/wrap/registry.h"

namespace verity::fault {

// The UCX_FAULT_* variables, for the component's memory domain table.
[[nodiscard]] uct::MdConfigTable config_table() noexcept;

// Checks what UCX's parser read and hands it to the process's injector. A bad value is reported
// once on stderr, by the variable's name, and UCS_ERR_INVALID_PARAM returned.
ucs_status_t configure(const uct_md_config_t* config);

}  // namespace verity::fault

#endif
