// SPDX-License-Identifier: BSD-3-Clause
//
// Which launcher starts one process on each host.
#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

#include "tools/doctor/job/job.h"

namespace verity::tools {

namespace {

bool holds(const std::string& text, const char* words) {
  return text.find(words) != std::string::npos;
}

std::string kind_of(const std::string& program, const Asker& version) {
  const std::string name = program.substr(program.rfind('/') + 1);
  if (name.starts_with("srun")) return "Slurm";
  const std::string words = version(program);
  if (holds(words, "Open MPI") || holds(words, "OpenRTE") || holds(words, "PRRTE") ||
      holds(words, "PRTE"))
    return "Open MPI";
  if (holds(words, "HYDRA") || holds(words, "Intel")) return "MPICH";
  return {};
}

// Hosts of a file with one in each line, followed by what is said of it.
unsigned hosts_in(const std::string& file) {
  std::ifstream stream(file);
  std::set<std::string> hosts;
  for (std::string line; std::getline(stream, line);) {
    const std::string host = line.substr(0, line.find_first_of(" \t:"));
    if (!host.empty() && host[0] != '#') hosts.insert(host);
  }
  return static_cast<unsigned>(hosts.size());
}

unsigned number(const std::string& text) {
  std::istringstream stream(text);
  unsigned value = 0;
  stream >> value;
  return value;
}

unsigned hosts_of_allocation(const Getter& get) {
  for (const char* name : {"SLURM_JOB_NUM_NODES", "SLURM_NNODES"}) {
    if (const unsigned hosts = number(get(name)); hosts > 0) return hosts;
  }
  for (const char* name : {"PBS_NODEFILE", "LSB_DJOB_HOSTFILE", "PE_HOSTFILE", "HYDRA_HOST_FILE"}) {
    if (!get(name).empty()) return hosts_in(get(name));
  }
  return 0;
}

}  // namespace

Launch choose_launch(const Getter& get, const Finder& find, const Asker& version) {
  const unsigned hosts = hosts_of_allocation(get);
  const std::string count = std::to_string(std::max(hosts, 1U));
  if (!get("SLURM_JOB_ID").empty() && !find("srun").empty()) {
    return {"Slurm",
            "srun",
            {"srun", "--nodes=" + count, "--ntasks=" + count, "--ntasks-per-node=1"},
            hosts,
            ""};
  }
  for (const char* name : {"mpirun", "mpiexec", "prterun", "mpiexec.hydra"}) {
    if (find(name).empty()) continue;
    const std::string kind = kind_of(name, version);
    if (kind == "Open MPI") return {kind, name, {name, "--map-by", "ppr:1:node"}, hosts, ""};
    if (kind == "MPICH") return {kind, name, {name, "-ppn", "1", "-n", count}, hosts, ""};
  }
  return {"",
          "",
          {},
          0,
          "neither srun in a Slurm job nor Open MPI's or MPICH's launcher in PATH; name one: "
          "--launcher 'COMMAND'"};
}

Launch named_launch(const std::string& command, const Asker& version) {
  std::istringstream words(command);
  std::string program;
  words >> program;
  if (program.empty()) return {"", "", {}, 0, "--launcher is empty"};
  // The shell takes the words apart as it does where users type them.
  return {kind_of(program, version),
          program,
          {"sh", "-c", "exec " + command + " \"$@\"", program},
          0,
          ""};
}

}  // namespace verity::tools
