// SPDX-License-Identifier: BSD-3-Clause
//
// Which protocol and which lanes UCP chooses for messages of a size, with and without the plugin.
#ifndef VERITY_TOOLS_DOCTOR_CHECKS_PROTOCOLS_H
#define VERITY_TOOLS_DOCTOR_CHECKS_PROTOCOLS_H

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace verity::tools {

inline constexpr std::uint64_t kLeastMessage = 8;
inline constexpr std::uint64_t kLargestMessage = std::uint64_t{16} << 20;
inline constexpr std::uint64_t kAnySize = std::numeric_limits<std::uint64_t>::max();

// Messages of `first` to `last` bytes.
struct ProtocolRange {
  std::uint64_t first = 0;
  std::uint64_t last = kAnySize;
  std::string protocol;  // "eager short"
  std::string lanes;     // "vtcp/eth0"

  bool operator==(const ProtocolRange&) const = default;
};

// Of messages with a tag from host memory, as UCP describes the endpoint: in one line of limits,
// or, where it compares protocols itself (the default from UCX 1.16 on), in a table.
[[nodiscard]] std::vector<ProtocolRange> protocols_in(std::string_view description);

// What is chosen between two processes: within a host, or between hosts.
struct ProtocolTable {
  std::string where;
  std::string error;  // why the rest is unknown
  std::vector<ProtocolRange> raw;
  std::vector<ProtocolRange> wrapped;
};

struct ProtocolRow {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  ProtocolRange raw;
  ProtocolRange wrapped;
};

// From kLeastMessage to kLargestMessage bytes, a row for each choice.
[[nodiscard]] std::vector<ProtocolRow> rows_of(const ProtocolTable& table);

[[nodiscard]] std::string render_protocols(const std::vector<ProtocolTable>& tables);

}  // namespace verity::tools

#endif
