// SPDX-License-Identifier: BSD-3-Clause
//
// From a user's list of transports to a value of UCX_TLS that holds wrappers only.
#ifndef VERITY_TOOLS_ENV_TRANSPORTS_H
#define VERITY_TOOLS_ENV_TRANSPORTS_H

#include <string>
#include <string_view>
#include <vector>

#include "tools/devices.h"

namespace verity::tools {

// Why the plugin makes no wrapper for lower transport `name`; empty when it makes one.
[[nodiscard]] std::string not_wrappable_because(std::string_view name);

// Wrapped for its reads of other processes' memory, with no messages of its own: needs another
// transport beside it.
[[nodiscard]] bool only_reads(std::string_view name);

// The wrapper of `name`: "v" + name.
[[nodiscard]] std::string wrapper_of(std::string_view name);

// `name` without the wrapper's prefix where `available` (lower names) shows that it is one.
[[nodiscard]] std::string lower_of(std::string_view name,
                                   const std::vector<std::string>& available);

// A selection, or why there is none (`error`, one line or more, without the last newline).
struct Selection {
  std::vector<std::string> lower;  // lower transports, each once
  std::string ucx_tls;             // the wrappers, ready for UCX_TLS
  std::string error;
};

// What is worth using of `available`: self, one shared memory transport, InfiniBand (mlx5 rather
// than verbs), tcp.
[[nodiscard]] Selection select_default(const std::vector<std::string>& available);

// What `list` names: transports, their wrappers, UCX's aliases (rc, ud, dc, ib, sm, shm, mm),
// "all".
[[nodiscard]] Selection select(std::string_view list, const std::vector<std::string>& available);

// A value of UCX_TLS with the names of wrappers replaced by those of the lower transports.
[[nodiscard]] std::string without_wrappers(std::string_view ucx_tls);

// Whether Open MPI's UCX components take one of these transports as they come: by default they want
// one of InfiniBand on a device of Mellanox's.
[[nodiscard]] bool pass_open_mpi_filter(const std::vector<Device>& devices);

// A value of UCX_TLS with `name` (a lower transport or a wrapper) alone, and what connects it or
// carries its messages.
[[nodiscard]] std::string with_set_up_transport(const std::string& name);

// Splits at commas; empty entries are dropped.
[[nodiscard]] std::vector<std::string> split_commas(std::string_view list);

// Joins with `separator`.
[[nodiscard]] std::string join(const std::vector<std::string>& parts, std::string_view separator);

}  // namespace verity::tools

#endif
