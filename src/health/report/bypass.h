// SPDX-License-Identifier: BSD-3-Clause
//
// Names what can bypass the plugin: UCX transports in use without a wrapper, and MPI
// components that move data themselves. All of it is computed from strings; loaded_objects() is the
// only function that looks at the process.
#ifndef VERITY_HEALTH_REPORT_BYPASS_H
#define VERITY_HEALTH_REPORT_BYPASS_H

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace verity::health {

// Whether UCX would take transport `name` for payloads under the value `ucx_tls` of UCX_TLS: a list
// with UCX's aliases, "^list" for all but those, "\name" for exactly that name, "all" or empty for
// everything. Entries "name:aux" set up connections only and carry no payload.
[[nodiscard]] bool transport_enabled(std::string_view ucx_tls, std::string_view name);

// Whether UCX may choose wrapped transports under that value: one is named, or all are allowed but
// some.
[[nodiscard]] bool names_wrapper(std::string_view ucx_tls);

// The transports that UCX_TLS entry `name` stands for in UCX: an alias's members (without those for
// connection set-up only), or `name` itself.
[[nodiscard]] std::vector<std::string> expand_alias(std::string_view name);

// Whether `name` moves bytes between processes or within one. False for those that only copy
// between host and device memory of one process (cuda_copy ...), which never form a lane to a peer.
[[nodiscard]] bool is_lane(std::string_view name);

// Those of `available` (names of lower transports on this machine) that `ucx_tls` leaves in use
// without a wrapper, in order, each once. Names of wrappers ("v" + name) may be in the list.
[[nodiscard]] std::vector<std::string> raw_lanes(std::string_view ucx_tls,
                                                 const std::vector<std::string>& available);

// One line for the start of a process, without a newline; empty when nothing is raw.
[[nodiscard]] std::string raw_lane_warning(const std::vector<std::string>& raw);

// The settings of the MPI library that decide what its loaded components do; unset ones are empty.
struct MpiSettings {
  std::optional<std::string> pml;               // OMPI_MCA_pml
  std::optional<std::string> osc;               // OMPI_MCA_osc
  std::optional<std::string> coll_sm_priority;  // OMPI_MCA_coll_sm_priority
  std::optional<std::string> osc_ucx_priority;  // OMPI_MCA_osc_ucx_priority
  std::optional<std::string> osc_sm_priority;   // OMPI_MCA_osc_sm_priority, from Open MPI 5 on
  std::optional<std::string> coll_ucc_enable;   // OMPI_MCA_coll_ucc_enable

  // From the environment of this process.
  static MpiSettings from_environment();
};

// Whether osc/ucx gets the windows that osc/sm offers as well: Open MPI takes the component of the
// higher priority.
[[nodiscard]] bool osc_ucx_is_above_sm(const MpiSettings& settings);

// The MPI components among `objects` (paths or file names of loaded shared objects) that can carry
// payloads outside UCX, as "framework/name", sorted, each once. They are loaded: MPI may not have
// used them. What a healthy job with pml=ucx and osc=ucx,sm loads without using is left out, and so
// is osc/sm where it gets no windows but shared ones.
[[nodiscard]] std::vector<std::string> mpi_bypass(const std::vector<std::string>& objects,
                                                  const MpiSettings& settings);

// Whether osc/sm gets the windows of MPI_Win_allocate_shared alone, by its priority below
// osc/ucx's. It is among `objects`, or inside Open MPI's library, where `settings` allow it.
// Nothing is transported there: processes load and store in memory that they share.
[[nodiscard]] bool only_shared_windows(const std::vector<std::string>& objects,
                                       const MpiSettings& settings);

// Whether one of `objects` is an MPI library, and whether it is Open MPI's.
[[nodiscard]] bool is_mpi_program(const std::vector<std::string>& objects);
[[nodiscard]] bool is_open_mpi(const std::vector<std::string>& objects);

// Why no message of an MPI program passed the plugin that it has loaded, as far as its settings
// say: "pml/ob1, not pml/ucx", "UCX_TLS=tcp,self". `ucx_tls`: empty where it is not set.
[[nodiscard]] std::string unused_reason(bool open_mpi, const MpiSettings& settings,
                                        std::string_view ucx_tls);

// Paths of the shared objects that the process has loaded now. MPI unloads its components before it
// ends, so call this while its communication is still open.
[[nodiscard]] std::vector<std::string> loaded_objects();

}  // namespace verity::health

#endif
