// SPDX-License-Identifier: BSD-3-Clause
//
// `ucx-verity doctor`: gathers the facts; diagnosis.cc judges them.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tools/commands.h"
#include "tools/diagnosis.h"
#include "tools/env.h"
#include "tools/subprocess.h"
#include "util/build_config.h"

namespace verity::tools {

namespace {

constexpr int kChildSeconds = 30;

LoadAttempt try_plugin(const Install& install, const UcxInfo& ucx) {
  LoadAttempt attempt;
  attempt.file = install.module_dir + "/libuct_verity" + ucx.suffix;
  attempt.exists = access(attempt.file.c_str(), R_OK) == 0;
  if (!attempt.exists) return attempt;
  // In a child: a plugin that crashes while it is loaded must not take the doctor along.
  const ProcessResult child =
      run_process({own_path(), "probe", "--load", attempt.file}, {}, {}, kChildSeconds);
  if (child.status == 0) return attempt;
  attempt.error = child.out.empty()
                      ? "the process ended with status " + std::to_string(child.status)
                      : child.out.substr(0, child.out.find('\n'));
  return attempt;
}

ProbeResult probe(const std::vector<Variable>& environment) {
  ProbeResult result;
  const ProcessResult child = run_process({own_path(), "probe"}, environment, {}, kChildSeconds);
  result.messages = child.err;
  const auto json = nlohmann::json::parse(child.out, nullptr, false);
  if (child.status != 0 || json.is_discarded()) return result;
  result.ran = true;
  for (const auto& device : json["devices"])
    result.devices.push_back({device[0], device[1], device[2]});
  return result;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

bool starts(const std::string& line, const std::string& prefix, std::string* rest = nullptr) {
  if (!line.starts_with(prefix)) return false;
  if (rest != nullptr) *rest = line.substr(prefix.size());
  return true;
}

// The libucp that a shared object gets from the dynamic linker, by ldd.
std::string ucp_of(const std::string& object) {
  if (access(object.c_str(), R_OK) != 0) return {};
  for (const std::string& line :
       lines_of(run_process({"ldd", object}, {}, {"LD_PRELOAD"}, kChildSeconds).out)) {
    const std::size_t arrow = line.find("=> ");
    if (line.find("libucp.so") == std::string::npos || arrow == std::string::npos) continue;
    return line.substr(arrow + 3, line.find(" (", arrow) - arrow - 3);
  }
  return {};
}

// Two names of one file are one library: /lib and /usr/lib are often the same folder.
std::string real_path(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> resolved(realpath(path.c_str(), nullptr),
                                                             &std::free);
  return resolved ? resolved.get() : path;
}

// Of the first of these objects that uses UCX.
std::string ucp_of_any(const std::vector<std::string>& objects) {
  for (const std::string& object : objects) {
    if (std::string library = ucp_of(object); !library.empty()) return library;
  }
  return {};
}

std::vector<std::string> ask(const std::vector<std::string>& command) {
  return lines_of(run_process(command, {}, {"LD_PRELOAD"}, kChildSeconds).out);
}

// Components are files of their own, or parts of the library.
std::string ucp_of_open_mpi() {
  std::string components;
  std::string libraries;
  for (const std::string& line : ask({"ompi_info", "--parsable", "--path", "all"})) {
    starts(line, "path:pkglibdir:", &components);
    starts(line, "path:libdir:", &libraries);
  }
  return ucp_of_any({components + "/mca_pml_ucx.so", libraries + "/libmpi.so"});
}

std::optional<OpenMpi> ask_open_mpi() {
  if (find_program("ompi_info").empty()) return std::nullopt;
  OpenMpi mpi;
  for (const std::string& line : ask({"ompi_info", "--parsable"})) {
    starts(line, "ompi:version:full:", &mpi.version);
    mpi.pml_ucx |= starts(line, "mca:pml:ucx:");
    mpi.osc_ucx |= starts(line, "mca:osc:ucx:");
    mpi.hcoll |= starts(line, "mca:coll:hcoll:");
    mpi.ucc |= starts(line, "mca:coll:ucc:");
  }
  if (mpi.pml_ucx) mpi.ucx_library = ucp_of_open_mpi();
  return mpi;
}

std::optional<Mpich> ask_mpich() {
  const std::string program = find_program("mpichversion");
  if (program.empty()) return std::nullopt;
  Mpich mpi;
  const auto value = [](const std::string& line) {
    const std::size_t start = line.find_first_not_of(" \t", line.find(':') + 1);
    return start == std::string::npos ? std::string() : line.substr(start);
  };
  for (const std::string& line : ask({program})) {
    if (starts(line, "MPICH Version")) mpi.version = value(line);
    if (starts(line, "MPICH Device")) mpi.device = value(line);
    mpi.direct_auto |= line.find("--enable-ch4-direct=auto") != std::string::npos;
  }
  mpi.ucx_library = ucp_of(program);
  return mpi;
}

std::vector<Variable> current_values(const std::vector<Variable>& wanted) {
  std::vector<Variable> now;
  const auto add = [&](const std::string& name) {
    if (const char* value = std::getenv(name.c_str())) now.push_back({name, value});
  };
  for (const Variable& variable : wanted) add(variable.name);
  for (const char* name : {"UCX_TLS", "UCX_VERITY_MODE", "MPIR_CVAR_NOLOCAL",
                           "OMPI_MCA_coll_hcoll_enable", "OMPI_MCA_coll_ucc_enable"}) {
    add(name);
  }
  return now;
}

Facts gather() {
  Facts facts;
  facts.ucx = query_ucx();
  facts.built_for = VERITY_UCX_VERSION;
  facts.install = find_install(facts.ucx.version);
  facts.plugin = try_plugin(facts.install, facts.ucx);
  const JobEnvironment environment = job_environment(facts.ucx, {});
  facts.wanted = environment.variables;
  if (environment.error.empty()) {
    facts.probe = probe(environment.variables);
  } else {
    facts.probe.messages = environment.error;
  }
  facts.current = current_values(facts.wanted);
  facts.open_mpi = ask_open_mpi();
  facts.mpich = ask_mpich();
  const auto same = [&](std::string& library) {
    if (real_path(library) == real_path(facts.ucx.library)) library = facts.ucx.library;
  };
  if (facts.open_mpi) same(facts.open_mpi->ucx_library);
  if (facts.mpich) same(facts.mpich->ucx_library);
  return facts;
}

void print_json(const std::vector<Finding>& findings) {
  nlohmann::ordered_json json;
  json["schema"] = 1;
  json["grade"] = grade_name(worst(findings));
  auto& list = json["findings"] = nlohmann::ordered_json::array();
  for (const Finding& finding : findings) {
    list.push_back({{"grade", grade_name(finding.grade)},
                    {"topic", finding.topic},
                    {"text", finding.text},
                    {"advice", finding.advice}});
  }
  std::printf("%s\n", json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
}

int run(bool as_json) {
  const std::vector<Finding> findings = diagnose(gather());
  if (as_json) {
    print_json(findings);
  } else {
    std::fputs(render_findings(findings).c_str(), stdout);
  }
  switch (worst(findings)) {
    case Grade::kOk:
      return kExitOk;
    case Grade::kWarning:
      return kExitWarning;
    case Grade::kBroken:
      return kExitError;
  }
  return kExitError;
}

}  // namespace

void add_doctor_command(CLI::App& app, int* exit_code) {
  auto as_json = std::make_shared<bool>(false);
  CLI::App* command =
      app.add_subcommand("doctor", "Check that jobs of this machine and shell would be verified");
  command->add_flag("--json", *as_json, "Print JSON");
  command->footer("Exit status: 0 all well, 1 warnings, 2 broken");
  command->callback([as_json, exit_code] { *exit_code = run(*as_json); });
}

}  // namespace verity::tools
