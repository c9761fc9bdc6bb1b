// SPDX-License-Identifier: BSD-3-Clause
//
// The edge of the attestation: environment, stderr, file. None of it can fail the job.
#pragma once

#include <string>

#include "health/attestation.h"

namespace verity::health {

// Host name, program name, process id and the rank that the launcher gave: PMIX_RANK, PMI_RANK,
// OMPI_COMM_WORLD_RANK, SLURM_PROCID or PALS_RANKID, whichever is set first in this order.
[[nodiscard]] Identity identify_process();

// Appends `json` to `path` in one write, so that processes can share a file. Returns an empty text,
// or why it failed. Never blocks on a pipe without a reader.
[[nodiscard]] std::string append_to_file(const std::string& path, std::string_view json) noexcept;

// Prints and writes `report` as UCX_VERITY_ATTEST (`policy`) and UCX_VERITY_ATTEST_FILE (`pattern`,
// may be empty) ask. The file gets the JSON whatever the policy is. A file that cannot be written
// costs one line on stderr. Call once, from the process that the report is about, not from a child
// made by fork().
void publish(const Report& report, AttestPolicy policy, std::string_view pattern) noexcept;

}  // namespace verity::health
