// SPDX-License-Identifier: BSD-3-Clause
#include "health/identity.h"

#include <errno.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <initializer_list>
#include <string_view>

#include "health/process_id.h"

namespace verity::health {

namespace {

std::string_view value_of(const Variables& get, const char* name) {
  const char* value = get(name);
  return value != nullptr ? value : "";
}

std::string first_set(const Variables& get, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (const std::string_view value = value_of(get, name); !value.empty())
      return std::string(value);
  }
  return {};
}

// 0: not set, or none.
unsigned number_of(std::string_view text) noexcept {
  unsigned number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? number : 0;
}

unsigned first_number(const Variables& get, std::initializer_list<const char*> names) {
  return number_of(first_set(get, names));
}

// Of mpirun or mpiexec, which may run inside of a batch system's job: what they set about the whole
// job is not about this launch.
bool by_open_mpi(const Variables& get) {
  const std::string_view name = value_of(get, "PMIX_NAMESPACE");
  return !name.empty() && !name.starts_with("slurm.") && value_of(get, "FLUX_TASK_RANK").empty();
}
bool by_hydra(const Variables& get) {
  return !value_of(get, "MPI_LOCALRANKID").empty() && !value_of(get, "PMI_RANK").empty();
}
bool by_slurm(const Variables& get) {
  return !value_of(get, "SLURM_PROCID").empty() && !value_of(get, "SLURM_STEP_ID").empty() &&
         !by_open_mpi(get) && !by_hydra(get);
}

// Flux writes its numbers with a letter that is none of ASCII, and reads them with a plain f too.
std::string flux_job(std::string_view id) {
  constexpr std::string_view kLetter = "\xc6\x92";
  return id.starts_with(kLetter) ? "f" + std::string(id.substr(kLetter.size())) : std::string(id);
}

std::string launch_key(const Variables& get, const std::string& launcher) {
  if (const std::string_view name = value_of(get, "PMIX_NAMESPACE"); !name.empty()) {
    // Two launchers may choose one name, but not one address.
    return "pmix " + std::string(name) + " " +
           first_set(get, {"PMIX_SERVER_URI41", "PMIX_SERVER_URI4", "PMIX_SERVER_URI3",
                           "PMIX_SERVER_URI21", "PMIX_SERVER_URI2"});
  }
  if (by_hydra(get))
    return launcher.empty() ? ""
                            : "hydra " + launcher + " " + std::string(value_of(get, "PMI_SPAWNED"));
  if (!value_of(get, "FLUX_TASK_RANK").empty())
    return "flux " + std::string(value_of(get, "FLUX_JOB_ID"));
  if (by_slurm(get)) {
    return "slurm " + first_set(get, {"SLURM_JOB_ID", "SLURM_JOBID"}) + " " +
           std::string(value_of(get, "SLURM_STEP_ID")) + " " +
           std::string(value_of(get, "SLURM_RESTART_COUNT"));
  }
  if (const std::string_view id = value_of(get, "PALS_APID"); !id.empty())
    return "pals " + std::string(id);
  return {};
}

}  // namespace

unsigned tasks_of_node(std::string_view list, unsigned node) noexcept {
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    const std::string_view item = list.substr(0, comma);
    const std::size_t times = std::min(item.find("(x"), item.size());
    const unsigned tasks = number_of(item.substr(0, times));
    const bool repeated = times != item.size();
    if (repeated && !item.ends_with(')')) return 0;
    const unsigned nodes =
        repeated ? number_of(item.substr(times + 2, item.size() - times - 3)) : 1;
    if (tasks == 0 || nodes == 0) return 0;
    if (node < nodes) return tasks;
    node -= nodes;
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return 0;
}

void read_job(const Variables& get, Identity* who_p) {
  who_p->rank = first_set(get, {"PMIX_RANK", "PMI_RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID",
                                "FLUX_TASK_RANK", "PALS_RANKID"});
  who_p->job = flux_job(value_of(get, "FLUX_JOB_ID"));
  if (!who_p->job.empty()) return;
  who_p->job = first_set(get, {"SLURM_JOB_ID", "SLURM_JOBID"});
  if (!who_p->job.empty()) {
    if (by_slurm(get)) who_p->step = value_of(get, "SLURM_STEP_ID");
    return;
  }
  who_p->job = value_of(get, "PBS_JOBID");
  if (!who_p->job.empty()) {
    who_p->step = value_of(get, "PALS_APID");
    return;
  }
  who_p->job = value_of(get, "LSB_JOBID");
  const std::string_view element = value_of(get, "LSB_JOBINDEX");
  if (!who_p->job.empty() && number_of(element) != 0)
    who_p->job += "[" + std::string(element) + "]";
}

Launch read_launch(const Variables& get, const std::string& launcher) {
  Launch launch{.key = launch_key(get, launcher)};
  launch.ranks = first_number(get, {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "FLUX_JOB_SIZE"});
  launch.host_ranks = first_number(get, {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"});
  const bool slurm = by_slurm(get);
  if (launch.ranks == 0 && slurm)
    launch.ranks = first_number(get, {"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS", "SLURM_NPROCS"});
  if (launch.host_ranks == 0 && slurm) {
    const std::string list = first_set(get, {"SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE"});
    launch.host_ranks = tasks_of_node(list, first_number(get, {"SLURM_NODEID"}));
  }
  if (launch.host_ranks == 0 && value_of(get, "FLUX_JOB_NNODES") == "1")
    launch.host_ranks = launch.ranks;
  if (launch.ranks < launch.host_ranks) launch.ranks = launch.host_ranks;
  return launch;
}

Identity identify_process() {
  std::array<char, 256> host{};
  if (gethostname(host.data(), host.size() - 1) != 0) host[0] = '\0';
  Identity who{.host = host.data(),
               .program = program_invocation_short_name,
               .pid = getpid(),
               .rank = {},
               .job = {},
               .step = {}};
  read_job([](const char* name) { return std::getenv(name); }, &who);
  return who;
}

Launch identify_launch() {
  const Variables get = [](const char* name) -> const char* { return std::getenv(name); };
  return read_launch(get, by_hydra(get) ? ancestor("hydra_pmi_proxy") : std::string());
}

}  // namespace verity::health
