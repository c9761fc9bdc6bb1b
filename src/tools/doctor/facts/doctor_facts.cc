// SPDX-License-Identifier: BSD-3-Clause
#include "tools/doctor/facts/doctor_facts.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>

#include "tools/doctor/facts/host_facts.h"
#include "tools/doctor/facts/shell_facts.h"
#include "tools/env/env.h"
#include "tools/hex.h"
#include "tools/subprocess.h"
#include "util/build_config.h"

namespace verity::tools {

namespace {

LoadAttempt try_plugin(const Install& install, const UcxInfo& ucx) {
  LoadAttempt attempt;
  attempt.file = install.module_dir + "/libuct_verity" + ucx.suffix;
  attempt.exists = access(attempt.file.c_str(), R_OK) == 0;
  if (!attempt.exists) return attempt;
  std::ifstream file(attempt.file, std::ios::binary);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  attempt.digest = short_digest(bytes.str());
  // In a child: a plugin that crashes while it is loaded must not take the doctor along.
  const ProcessResult child =
      run_process({own_path(), "probe", "--load", attempt.file}, {}, {}, kProbeSeconds);
  if (child.status == 0) return attempt;
  attempt.error = child.out.empty()
                      ? "the process ended with status " + std::to_string(child.status)
                      : child.out.substr(0, child.out.find('\n'));
  return attempt;
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
       lines_of(run_process({"ldd", object}, {}, {"LD_PRELOAD"}, kProbeSeconds).out)) {
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

std::vector<std::string> output_of(const std::vector<std::string>& command) {
  return lines_of(run_process(command, {}, {"LD_PRELOAD"}, kProbeSeconds).out);
}

// Components are files of their own, or parts of the library.
std::string ucp_of_open_mpi() {
  std::string components;
  std::string libraries;
  for (const std::string& line : output_of({"ompi_info", "--parsable", "--path", "all"})) {
    starts(line, "path:pkglibdir:", &components);
    starts(line, "path:libdir:", &libraries);
  }
  return ucp_of_any({components + "/mca_pml_ucx.so", libraries + "/libmpi.so"});
}

// Its default differs between releases and components.
bool is_disabled(const std::string& collective) {
  const std::string enable =
      "mca:coll:" + collective + ":param:coll_" + collective + "_enable:value:";
  const auto lines =
      output_of({"ompi_info", "--parsable", "--param", "coll", collective, "--level", "9"});
  return std::find(lines.begin(), lines.end(), enable + "0") != lines.end();
}

std::optional<OpenMpi> query_open_mpi() {
  if (find_program("ompi_info").empty()) return std::nullopt;
  OpenMpi mpi;
  for (const std::string& line : output_of({"ompi_info", "--parsable"})) {
    starts(line, "ompi:version:full:", &mpi.version);
    mpi.pml_ucx |= starts(line, "mca:pml:ucx:");
    mpi.osc_ucx |= starts(line, "mca:osc:ucx:");
    mpi.hcoll |= starts(line, "mca:coll:hcoll:");
    mpi.ucc |= starts(line, "mca:coll:ucc:");
  }
  mpi.hcoll = mpi.hcoll && !is_disabled("hcoll");
  mpi.ucc = mpi.ucc && !is_disabled("ucc");
  if (mpi.pml_ucx) mpi.ucx_library = ucp_of_open_mpi();
  for (const std::string& line :
       output_of({"ompi_info", "--parsable", "--param", "pml", "all", "--level", "9"})) {
    starts(line, "mca:pml:base:param:pml:value:", &mpi.pml);
    starts(line, "mca:pml:base:param:pml:source:", &mpi.pml_source);
    starts(line, "mca:pml:ucx:param:pml_ucx_tls:value:", &mpi.tls);
  }
  return mpi;
}

std::optional<Mpich> query_mpich() {
  const std::string program = find_program("mpichversion");
  if (program.empty()) return std::nullopt;
  Mpich mpi;
  const auto value = [](const std::string& line) {
    const std::size_t start = line.find_first_not_of(" \t", line.find(':') + 1);
    return start == std::string::npos ? std::string() : line.substr(start);
  };
  for (const std::string& line : output_of({program})) {
    if (starts(line, "MPICH Version")) mpi.version = value(line);
    if (starts(line, "MPICH Device")) mpi.device = value(line);
    mpi.direct_auto |= line.find("--enable-ch4-direct=auto") != std::string::npos;
  }
  mpi.ucx_library = ucp_of(program);
  return mpi;
}

}  // namespace

Facts gather_facts(const std::vector<std::string>& programs) {
  Facts facts;
  facts.host = gather_host(programs);
  const std::vector<std::string> ucx_names = ucx_variables();
  std::vector<std::string> plain = ucx_names;
  plain.push_back("LD_PRELOAD");
  facts.ucx = probe_ucx({}, plain, false).ucx;
  facts.built_for = VERITY_UCX_VERSION;
  facts.install = find_install(facts.ucx.version);
  facts.plugin = try_plugin(facts.install, facts.ucx);
  const JobEnvironment environment = job_environment(facts.ucx, {});
  facts.wanted = environment.variables;
  if (environment.error.empty()) {
    facts.probe = probe_ucx(environment.variables, ucx_names, false);
  } else {
    facts.probe.messages = environment.error;
  }
  facts.shell = gather_shell(facts);
  facts.open_mpi = query_open_mpi();
  facts.mpich = query_mpich();
  const auto same = [&](std::string& library) {
    if (real_path(library) == real_path(facts.ucx.library)) library = facts.ucx.library;
  };
  if (facts.open_mpi) same(facts.open_mpi->ucx_library);
  if (facts.mpich) same(facts.mpich->ucx_library);
  return facts;
}

}  // namespace verity::tools
