// SPDX-License-Identifier: BSD-3-Clause
//
// One message between two processes, with the settings of this process's environment.
#ifndef VERITY_TOOLS_DOCTOR_FACTS_EXCHANGE_H
#define VERITY_TOOLS_DOCTOR_FACTS_EXCHANGE_H

#include <cstddef>
#include <string>

namespace verity::tools {

struct Exchange {
  std::string error;      // empty: the message arrived
  std::size_t wrong = 0;  // bytes of it that are not those that were sent
  std::string endpoint;   // UCP's description of its lanes and protocols
};

// Forks; UCX must not be in use yet. The child is over when this returns.
[[nodiscard]] Exchange exchange_message(std::size_t bytes);

}  // namespace verity::tools

#endif
