// SPDX-License-Identifier: BSD-3-Clause
//
// `ucx-verity doctor`: doctor_facts.cc gathers the facts; diagnosis.cc and shell_diagnosis.cc
// conclude.
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "tools/commands.h"
#include "tools/doctor/doctor_facts.h"
#include "tools/doctor/selftest.h"

namespace verity::tools {

namespace {

void print_json(const Findings& findings) {
  nlohmann::ordered_json json;
  json["schema"] = 1;
  json["grade"] = grade_name(worst(findings));
  json["verdict"] = verdict(findings);
  auto& list = json["findings"] = nlohmann::ordered_json::array();
  for (const Finding& finding : findings) {
    list.push_back({{"grade", grade_name(finding.grade)},
                    {"topic", finding.topic},
                    {"text", finding.text},
                    {"advice", finding.advice}});
  }
  std::printf("%s\n", json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
}

int exit_code_of(Grade grade) {
  switch (grade) {
    case Grade::kOk: return kExitOk;
    case Grade::kWarning: return kExitWarning;
    case Grade::kInactive: return kExitInactive;
    case Grade::kBroken: return kExitError;
  }
  return kExitError;
}

struct DoctorOptions {
  bool json = false;
  bool selftest = false;
  std::vector<std::string> programs;
};

int run(const DoctorOptions& options) {
  const Facts facts = gather_facts(options.programs);
  Findings findings = diagnose(facts);
  if (options.selftest) {
    const Findings tested = run_selftest(facts);
    findings.insert(findings.end(), tested.begin(), tested.end());
  }
  if (options.json) {
    print_json(findings);
  } else {
    std::fputs(render_findings(findings).c_str(), stdout);
  }
  return exit_code_of(worst(findings));
}

}  // namespace

void add_doctor_command(CLI::App& app, int* exit_code) {
  auto options = std::make_shared<DoctorOptions>();
  CLI::App* command = app.add_subcommand(
      "doctor",
      "Check whether jobs started from this shell are verified, and how to fix what is not");
  command->add_flag(
      "--selftest", options->selftest,
      "Send a message over a transport that flips one bit, and report what was repaired");
  command
      ->add_option("--program", options->programs,
                   "Also check that this program can load the plugin (repeatable)")
      ->option_text("FILE")
      ->allow_extra_args(false);
  command->add_flag("--json", options->json, "Print JSON");
  command->footer("Exit status: 0 verified, 1 warnings, 2 BROKEN, 3 not active in this shell");
  command->callback([options, exit_code] { *exit_code = run(*options); });
}

}  // namespace verity::tools
