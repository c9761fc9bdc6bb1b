// SPDX-License-Identifier: BSD-3-Clause
//
// What the scripts of `ucx-verity acceptance` found, and what it comes to.
#ifndef VERITY_TOOLS_ACCEPTANCE_RESULTS_H
#define VERITY_TOOLS_ACCEPTANCE_RESULTS_H

#include <array>
#include <string>
#include <vector>

#include "tools/bench/result.h"

namespace verity::tools {

// In the order of severity.
enum class Outcome { kPassed, kSkipped, kWarning, kFailed };

[[nodiscard]] const char* name_of(Outcome outcome);

struct AcceptanceStep {
  std::string section;
  Outcome outcome = Outcome::kPassed;
  std::string name;
  std::string text;
  std::string remedy;  // may be empty
};

struct HostFact {
  std::string key;
  std::array<std::string, 2> values;  // empty: not known there
};

// A transport of UCX on the two hosts.
struct HostTransport {
  std::string name;
  std::array<std::string, 2> devices;  // with commas between; empty: not there
  std::string wrapped;                 // the wrapper's name, or why there is none
};

struct Acceptance {
  std::array<std::string, 2> hosts;
  std::vector<HostFact> facts;
  std::vector<HostTransport> transports;
  std::vector<AcceptanceStep> steps;
  std::vector<bench::Result> costs;
  // Of the run.
  std::string date;
  std::string command;
  std::string version;
  bool anonymous = false;

  [[nodiscard]] Outcome outcome() const;
  [[nodiscard]] std::size_t count(Outcome outcome) const;
  // "PASSED: 21 steps passed, 1 warning, 2 skipped", and more when it did not.
  [[nodiscard]] std::string verdict() const;
};

// Reads the lines that run.sh records: words with tabs between. A line of another kind is an error
// (std::runtime_error), as is a file that a line names and that cannot be read.
//   host INDEX NAME | fact INDEX KEY VALUE | transport INDEX NAME DEVICE NETWORK
//   step SECTION OUTCOME NAME TEXT [REMEDY] | file doctor|bench PATH
[[nodiscard]] Acceptance parse_acceptance(const std::string& lines);

// Names of hosts become node1 and node2; `secrets`, such as the user's name, become "...".
void anonymise(Acceptance* acceptance, const std::vector<std::string>& secrets);

// For a terminal, for a program, and one page without scripts or anything from elsewhere.
[[nodiscard]] std::string render_text(const Acceptance& acceptance);
[[nodiscard]] std::string render_json(const Acceptance& acceptance);
[[nodiscard]] std::string render_html(const Acceptance& acceptance);

// What the report holds, for who decides whether it may be sent away.
[[nodiscard]] std::string contents_in_words(const Acceptance& acceptance);

}  // namespace verity::tools

#endif
