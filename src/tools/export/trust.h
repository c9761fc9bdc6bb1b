// SPDX-License-Identifier: BSD-3-Clause
//
// Users whose files alone may have this host drained: --trust of `check` and `export`.
#ifndef VERITY_TOOLS_EXPORT_TRUST_H
#define VERITY_TOOLS_EXPORT_TRUST_H

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "blame/trust.h"

namespace verity::tools {

// Names and numbers of users, or "all". A user that is not known is refused.
void add_trust_option(CLI::App& command, std::vector<std::string>* users);

// Root, who runs this, and those.
[[nodiscard]] blame::Trust trust_of(const std::vector<std::string>& users);

}  // namespace verity::tools

#endif
