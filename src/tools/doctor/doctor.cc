// SPDX-License-Identifier: BSD-3-Clause
//
// `ucx-verity doctor`: doctor_facts.cc gathers the facts; diagnosis.cc and shell_diagnosis.cc
// conclude.
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "tools/commands.h"
#include "tools/doctor/facts/doctor_facts.h"
#include "tools/doctor/facts/protocol_facts.h"
#include "tools/doctor/facts/selftest.h"
#include "tools/doctor/job/run_job.h"

namespace verity::tools {

namespace {

using Json = nlohmann::ordered_json;

Json to_json(const Finding& finding) {
  return {{"grade", grade_name(finding.grade)},
          {"topic", finding.topic},
          {"text", finding.text},
          {"advice", finding.advice}};
}

Json to_json(const Findings& findings) {
  Json json;
  json["schema"] = 1;
  json["grade"] = grade_name(worst(findings));
  json["verdict"] = verdict(findings);
  auto& list = json["findings"] = Json::array();
  for (const Finding& finding : findings) list.push_back(to_json(finding));
  return json;
}

Json to_json(const JobDiagnosis& job) {
  Json json = to_json(with_hosts(job));
  json["hosts"] = job.hosts;
  for (std::size_t i = 0; i < job.findings.size(); ++i) {
    json["findings"][i] = to_json(job.findings[i].finding);
    json["findings"][i]["hosts"] = job.findings[i].hosts;
  }
  return json;
}

Json to_json(const std::vector<Setting>& settings) {
  Json list = Json::array();
  for (const Setting& setting : settings) {
    list.push_back({{"name", setting.name},
                    {"value", setting.value},
                    {"source", setting.source},
                    {"locked", setting.locked}});
    if (!setting.ignored.empty()) list.back()["ignored"] = setting.ignored;
    if (!setting.limit.empty()) {
      list.back()["limit"] = setting.limit;
      list.back()["limit_source"] = setting.limit_source;
    }
  }
  return list;
}

Json to_json(const ProtocolRange& range) {
  return {{"protocol", range.protocol}, {"lanes", range.lanes}};
}

Json to_json(const std::vector<ProtocolTable>& tables) {
  Json list = Json::array();
  for (const ProtocolTable& table : tables) {
    Json rows = Json::array();
    for (const ProtocolRow& row : rows_of(table))
      rows.push_back({{"first", row.first},
                      {"last", row.last},
                      {"without", to_json(row.raw)},
                      {"with", to_json(row.wrapped)}});
    list.push_back({{"messages", table.where}, {"error", table.error}, {"sizes", rows}});
  }
  return list;
}

void print(const Json& json) {
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
  bool protocols = false;
  bool job = false;
  bool record = false;
  std::string launcher;
  std::string merge;
  std::vector<std::string> programs;
};

// Those that each host's process gets as well.
std::vector<std::string> forwarded(const DoctorOptions& options) {
  std::vector<std::string> words;
  if (options.selftest) words.emplace_back("--selftest");
  for (const std::string& program : options.programs) {
    words.emplace_back("--program");
    words.push_back(program);
  }
  return words;
}

int show_job(const DoctorOptions& options, const Answers& answers, const Launch& launch,
             const HostReport* here) {
  JobDiagnosis job = merge_reports(answers.reports, launch, here);
  add_cut_answers(answers.cut, &job);
  if (options.json) {
    print(to_json(job));
  } else {
    std::fputs(render_job(job, launch).c_str(), stdout);
  }
  return exit_code_of(worst(with_hosts(job)));
}

int run(const DoctorOptions& options) {
  if (!options.merge.empty()) return show_job(options, read_reports(options.merge), {}, nullptr);
  const Facts facts = gather_facts(options.programs);
  if (options.job) {
    const Launch launch = find_launch(options.launcher, facts.host);
    const HostReport here = make_report(facts, {});
    return show_job(options, query_hosts(launch, forwarded(options)), launch, &here);
  }
  Findings findings = diagnose(facts);
  if (options.selftest) {
    const Findings tested = run_selftest(facts);
    findings.insert(findings.end(), tested.begin(), tested.end());
  }
  if (options.record) {  // a status other than 0 would have the launcher end the job
    print_report(make_report(facts, findings));
    return kExitOk;
  }
  const auto tables = options.protocols ? gather_protocols(facts) : std::vector<ProtocolTable>();
  if (options.json) {
    Json json = to_json(findings);
    json["settings"] = to_json(facts.shell.settings);
    if (options.protocols) json["protocols"] = to_json(tables);
    print(json);
  } else {
    std::fputs((render_protocols(tables) + render_findings(findings)).c_str(), stdout);
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
  auto* job = command->add_flag("--job", options->job,
                                "Check every host of this allocation and merge the findings");
  command
      ->add_option(
          "--launcher", options->launcher,
          "For --job: command that starts a process on each host (default: srun, mpirun, mpiexec)")
      ->option_text("COMMAND")
      ->needs(job);
  command
      ->add_flag("--protocols", options->protocols,
                 "Show which protocols and lanes UCP chooses by size, with and without the plugin")
      ->excludes(job);
  command
      ->add_flag("--record", options->record,
                 "For jobs that you start yourself: print this host's findings for --merge")
      ->excludes(job);
  command
      ->add_option("--merge", options->merge,
                   "Merge the output of --record on several hosts (-: standard input)")
      ->option_text("FILE")
      ->excludes(job);
  command->add_flag("--json", options->json, "Print JSON");
  command->footer("Exit status: 0 verified, 1 warnings, 2 BROKEN, 3 not active in this shell");
  command->callback([options, exit_code] { *exit_code = run(*options); });
}

}  // namespace verity::tools
