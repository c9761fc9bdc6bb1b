// SPDX-License-Identifier: BSD-3-Clause
//
// What `doctor` prints: findings, each with a grade, and a verdict drawn from all of them.
#ifndef VERITY_TOOLS_DOCTOR_CHECKS_FINDINGS_H
#define VERITY_TOOLS_DOCTOR_CHECKS_FINDINGS_H

#include <string>
#include <vector>

namespace verity::tools {

// In the order of severity. Inactive: the shell does not request verification at all.
enum class Grade { kOk, kWarning, kInactive, kBroken };

// What follows for jobs, where a finding is no kOk.
enum class Effect {
  kNone,
  kIgnored,     // they run verified, without something that a setting requests
  kUnverified,  // they run unverified, in part (kWarning) or as a whole
  kSomeAbort,   // those of several hosts, or of one MPI library
  kAbort,
};

struct Finding {
  Grade grade = Grade::kOk;
  std::string topic;   // UCX, plugin, loader, ...
  std::string text;    // what is, and what follows
  std::string advice;  // what to do, empty when nothing
  Effect effect = Effect::kUnverified;
};

using Findings = std::vector<Finding>;

// The worst of them.
[[nodiscard]] Grade worst(const Findings& findings);

[[nodiscard]] const char* grade_name(Grade grade);

// The last line: what the findings come to.
[[nodiscard]] std::string verdict(const Findings& findings);

// A finding that is kOk is wrapped for a terminal of 80 columns; every other one is one line with
// its remedy, for grep and logs.
[[nodiscard]] std::string render_findings(const Findings& findings);

}  // namespace verity::tools

#endif
