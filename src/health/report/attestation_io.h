// SPDX-License-Identifier: BSD-3-Clause
//
// The edge of the attestation: environment, stderr, file. None of it can fail the job.
#ifndef VERITY_HEALTH_REPORT_ATTESTATION_IO_H
#define VERITY_HEALTH_REPORT_ATTESTATION_IO_H

#include <string>
#include <string_view>

#include "health/report/attestation.h"
#include "util/write_all.h"

namespace verity::health {

// Appends `json` to `path` in one write, so that processes can share a file. Returns an empty text,
// or why it failed. Never blocks on a pipe without a reader; waits for a slow one as write_all().
[[nodiscard]] std::string append_to_file(const std::string& path, std::string_view json,
                                         int patience = util::kPatience) noexcept;

// Appends `report` as JSON to the file that UCX_VERITY_ATTEST_FILE (`pattern`, may be empty) names.
// A file that cannot be written costs one line on stderr. A process that did not use the plugin has
// nothing to attest.
void write_attestation(const Report& report, std::string_view pattern) noexcept;

// The same, and prints `report` as UCX_VERITY_ATTEST (`policy`) has it. Call once, from the process
// that the report is about, not from a child made by fork().
void publish(const Report& report, AttestPolicy policy, std::string_view pattern) noexcept;

// On stderr, in one write.
void print(std::string_view text) noexcept;

}  // namespace verity::health

#endif
