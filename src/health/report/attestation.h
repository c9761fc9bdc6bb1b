// SPDX-License-Identifier: BSD-3-Clause
//
// The report of a process at its end: what was verified and repaired, and what bypassed the plugin.
// The text and the JSON are pure functions of a Report; attestation_io.h does the reading of the
// environment and the writing.
#ifndef VERITY_HEALTH_REPORT_ATTESTATION_H
#define VERITY_HEALTH_REPORT_ATTESTATION_H

#include <string>
#include <string_view>
#include <vector>

#include "health/counters.h"
#include "health/identity.h"
#include "health/paths.h"

namespace verity::health {

// UCX_VERITY_ATTEST. The text goes to stderr: never, when there is something to report, or always.
enum class AttestPolicy { kNever, kAuto, kAlways };

// In the order of AttestPolicy, ending with nullptr: fits a table of names for UCX's parser.
inline constexpr const char* kAttestPolicyNames[] = {"never", "auto", "always", nullptr};

// Version of the JSON object. Raised when a key changes its meaning or goes; new keys may come.
inline constexpr int kAttestationSchema = 1;

struct Report {
  std::string plugin_version;
  std::string ucx_version;
  std::string mode;  // verify, observe, off
  Identity who;
  Counters counters;
  std::vector<LinkFaults>
      links;  // those with faults in what this process received, the worst first
  std::vector<std::string> interfaces;      // by which peers' records of faults name them
  std::vector<std::string> failed_links;    // one text each, as "vtcp/eth0 to node18"
  std::vector<std::string> raw_lanes;       // see bypass.h
  std::vector<std::string> mpi_components;  // see bypass.h
  bool shared_windows = false;              // osc/sm is there, for shared windows alone (bypass.h)
  bool active = true;                       // UCX opened an interface of the plugin
  std::string unused;                       // why it did not, as far as that is known
  std::string alone;  // why it is in no report of its host's ranks; empty: as it should be
};

// Whether data was damaged, lost or repaired, or a link failed.
[[nodiscard]] bool had_trouble(const Counters& counters) noexcept;

// Whether anything is known to have travelled unverified.
[[nodiscard]] bool has_unverified(const Report& report) noexcept;

// Whether the text is to be printed. With kAuto: on trouble; and, where something only bypassed
// the plugin, by the first rank alone, as every rank would say the same, as is the line of a
// process that loaded the plugin and did not use it. A process that opened no link says nothing
// else.
[[nodiscard]] bool should_print(const Report& report, AttestPolicy policy);

// At most 20 lines for a terminal (long lists of names are cut), with the last newline.
[[nodiscard]] std::string render_text(const Report& report);

// One object in one line, with the newline. Keys: see ucx-verity-attestation(7), JSON.
[[nodiscard]] std::string render_json(const Report& report);

}  // namespace verity::health

#endif
