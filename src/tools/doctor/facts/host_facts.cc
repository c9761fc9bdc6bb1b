// SPDX-License-Identifier: BSD-3-Clause
#include "tools/doctor/facts/host_facts.h"

#include <elf.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>

#include "health/process_id.h"
#include "tools/subprocess.h"

namespace verity::tools {

namespace {

constexpr int kCapIpcLock = 14;  // <linux/capability.h>

bool is_set(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0';
}

// A process with this capability may lock any number of bytes.
bool may_lock_any() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("CapEff:"))
      return (std::strtoull(line.c_str() + 7, nullptr, 16) >> kCapIpcLock & 1) != 0;
  }
  return false;
}

std::optional<std::uint64_t> memlock() {
  rlimit limit{};
  if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || may_lock_any())
    return std::nullopt;
  return limit.rlim_cur;
}

std::string container() {
  if (is_set("APPTAINER_CONTAINER") || access("/.singularity.d", F_OK) == 0) return "Apptainer";
  if (is_set("SINGULARITY_CONTAINER")) return "Singularity";
  if (access("/run/.containerenv", F_OK) == 0) return "Podman";
  if (access("/.dockerenv", F_OK) == 0) return "Docker";
  const char* named = std::getenv("container");  // by systemd's convention
  return named == nullptr ? "" : named;
}

// A batch script, and the shell of an interactive job, have the number of no step that srun made.
bool is_slurm_task() {
  constexpr unsigned long kReserved = 0xfffffff0;
  const char* step = std::getenv("SLURM_STEP_ID");
  if (step == nullptr) step = std::getenv("SLURM_STEPID");
  return is_set("SLURM_PROCID") && step != nullptr && std::strtoul(step, nullptr, 10) < kReserved;
}

std::string launcher() {
  if (is_set("OMPI_COMM_WORLD_RANK")) return "Open MPI";
  if (is_slurm_task()) return "Slurm";
  if (is_set("PMI_RANK")) return "MPICH";
  return {};
}

// A 64-bit ELF program without an interpreter: nothing links it at run time.
bool is_static(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  Elf64_Ehdr header;
  if (!file.read(reinterpret_cast<char*>(&header), sizeof(header)) ||
      std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_phentsize != sizeof(Elf64_Phdr))
    return false;
  file.seekg(static_cast<std::streamoff>(header.e_phoff));
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    if (!file.read(reinterpret_cast<char*>(&segment), sizeof(segment))) return false;
    if (segment.p_type == PT_INTERP) return false;
  }
  return true;
}

// What the kernel calls secure execution: the dynamic linker then ignores LD_PRELOAD and removes it
// from the environment.
std::string privileges_of(const std::string& path) {
  struct stat about {};
  if (stat(path.c_str(), &about) != 0) return {};
  if ((about.st_mode & S_ISUID) != 0 && about.st_uid != getuid())
    return "is set-user-ID: the dynamic linker removes LD_PRELOAD there";
  if ((about.st_mode & S_ISGID) != 0 && about.st_gid != getgid())
    return "is set-group-ID: the dynamic linker removes LD_PRELOAD there";
  if (getuid() != 0 && getxattr(path.c_str(), "security.capability", nullptr, 0) > 0)
    return "has file capabilities: the dynamic linker removes LD_PRELOAD there";
  return {};
}

std::string problem_of(const std::string& path) {
  if (is_static(path)) return "is statically linked: LD_PRELOAD has no effect on it";
  return privileges_of(path);
}

}  // namespace

HostFacts gather_host(const std::vector<std::string>& programs) {
  HostFacts host;
  const char* setting = std::getenv("UCX_VERITY_HOST");
  host.name = health::host_name(setting == nullptr ? "" : setting);
  host.memlock = memlock();
  host.container = container();
  host.launcher = launcher();
  for (const std::string& name : programs) {
    const std::string path = find_program(name);
    if (path.empty())
      host.absent.push_back(name);
    else
      host.programs.push_back({path, problem_of(path)});
  }
  for (const char* name : {"mpirun", "mpiexec", "mpiexec.hydra", "hydra_pmi_proxy", "orted",
                           "prted", "prterun", "srun"}) {
    // A launcher only hands its environment on, and so a static one does no harm.
    const std::string path = find_program(name);
    const std::string problem = path.empty() ? "" : privileges_of(path);
    if (!problem.empty()) host.programs.push_back({path, problem});
  }
  return host;
}

}  // namespace verity::tools
