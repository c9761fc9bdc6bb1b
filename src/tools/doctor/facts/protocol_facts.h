// SPDX-License-Identifier: BSD-3-Clause
#ifndef VERITY_TOOLS_DOCTOR_FACTS_PROTOCOL_FACTS_H
#define VERITY_TOOLS_DOCTOR_FACTS_PROTOCOL_FACTS_H

#include <vector>

#include "tools/doctor/checks/diagnosis.h"
#include "tools/doctor/checks/protocols.h"

namespace verity::tools {

// Connects two processes, by all wrapped transports and by those of the network alone, each with
// the plugin and by the same transports without it. Settings are this shell's, or those of `env`
// where it requests no verification.
[[nodiscard]] std::vector<ProtocolTable> gather_protocols(const Facts& facts);

}  // namespace verity::tools

#endif
