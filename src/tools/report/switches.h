// SPDX-License-Identifier: BSD-3-Clause
//
// Faults by the switch that their hosts are attached to.
#ifndef VERITY_TOOLS_REPORT_SWITCHES_H
#define VERITY_TOOLS_REPORT_SWITCHES_H

#include <cstdint>
#include <string>
#include <vector>

#include "blame/evidence.h"
#include "blame/suspects.h"
#include "tools/report/topology.h"

namespace verity::tools {

struct SwitchFaults {
  std::string name;          // empty: hosts that are not in the topology
  std::uint64_t within = 0;  // both hosts are attached to it
  std::uint64_t from = 0;    // its host sent
  std::uint64_t to = 0;      // its host received
  std::size_t troubled = 0;  // its hosts with faults
  std::size_t hosts = 0;     // its hosts in the topology

  [[nodiscard]] std::uint64_t all() const noexcept { return within + from + to; }
};

// Those with most faults first; faults within a host pass no switch.
[[nodiscard]] std::vector<SwitchFaults> by_switch(const blame::Evidence& evidence,
                                                  const Topology& topology);

// A switch that nearly all faults pass, at several of its hosts, is a suspect itself, where no
// host, device or link explains most of them: a line that says so, or an empty text.
[[nodiscard]] std::string switch_hint(const std::vector<SwitchFaults>& switches,
                                      const blame::Evidence& evidence,
                                      const std::vector<blame::Suspect>& suspects);

}  // namespace verity::tools

#endif
