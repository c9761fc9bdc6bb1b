// SPDX-License-Identifier: BSD-3-Clause
//
// What the ranks of a job on one host say together at its end. Pure functions.
#ifndef VERITY_HEALTH_REPORT_SUMMARY_H
#define VERITY_HEALTH_REPORT_SUMMARY_H

#include <string>
#include <vector>

#include "health/report/attestation.h"

namespace verity::health {

// Ranks that could not write their reports for the last one, and why: an errno.
struct Unwritten {
  unsigned ranks = 0;
  int error = 0;
};

struct JobSummary {
  Report sum;  // of the ranks that reported; `who` has host and job
  unsigned reported = 0;
  unsigned missing = 0;  // ranks of this host that were to report here and did not
  Unwritten unwritten;
  unsigned outside = 0;  // that never were: they report by themselves, or not at all
  unsigned ranks = 0;    // of the whole job, other hosts included; 0: unknown
  bool first_rank =
      false;  // rank 0 is among them: what is the same for all hosts is said by its host alone
};

// `host_ranks` and `ranks`: as the launcher said; 0: unknown. `registered`: ranks of this host that
// loaded the plugin, those of `unwritten` too.
[[nodiscard]] JobSummary sum_up(const std::vector<Report>& reports, unsigned registered,
                                unsigned host_ranks, unsigned ranks, Unwritten unwritten = {});

// As should_print() of one process.
[[nodiscard]] bool should_print(const JobSummary& summary, AttestPolicy policy);

// A line that says how it went, and, where anything was sent, what account_lines() has.
[[nodiscard]] std::string render_text(const JobSummary& summary);

}  // namespace verity::health

#endif
