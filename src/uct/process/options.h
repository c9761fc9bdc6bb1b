// SPDX-License-Identifier: BSD-3-Clause
//
// The UCX_VERITY_* variables, read by UCX's parser whenever a memory domain opens.
#ifndef VERITY_UCT_PROCESS_OPTIONS_H
#define VERITY_UCT_PROCESS_OPTIONS_H

#include <string>

#include "health/files/segment.h"
#include "health/report/attestation.h"
#include "link/hub.h"
#include "uct/wrap/registry.h"

namespace verity::uct {

enum class OnFailure : uint8_t { kAuto, kAbort, kError };
enum class FaultText : uint8_t { kNone, kInfo, kWarn, kSyslog };

// Checked values; those of the last memory domain opened count for interfaces opened after it.
// Never changed or freed once they are current: other threads may be reading them.
// One field for each setting that is not the link's.
struct Options {
  link::Config link;
  OnFailure on_failure = OnFailure::kAuto;
  uint64_t linger = 0;          // ns
  uint64_t chunk = 256 * 1024;  // bytes
  bool progress_thread = false;
  unsigned threads = 0;  // that hash
  health::AttestPolicy attest = health::AttestPolicy::kAuto;
  std::string attest_file;
  bool attest_ranks = false;
  std::string fault_log;
  uint64_t fault_log_limit = 10000;  // records
  FaultText fault_text = FaultText::kInfo;
  health::FileSettings health;
  uint64_t health_keep = 3'600'000'000'000;  // ns
  std::string host;                          // empty: gethostname()

  bool operator==(const Options&) const = default;
};

[[nodiscard]] const Options& options() noexcept;
// When the component is registered, once for the process: reads the site's policy, which every
// later reading of options follows, and UCX_VERITY_TRANSPARENT.
[[nodiscard]] bool read_first(uct_component_t* component) noexcept;
// What was chosen: wrapped transports have the lower ones' names.
[[nodiscard]] bool is_transparent() noexcept;

[[nodiscard]] const char* mode_name(link::Mode mode) noexcept;

// Takes and checks the parsed values. A bad one: a line on stderr that names the variable, what is
// wrong with it and what is allowed, and UCS_ERR_INVALID_PARAM.
[[nodiscard]] ucs_status_t configure(const uct_md_config_t* config);

}  // namespace verity::uct

#endif
