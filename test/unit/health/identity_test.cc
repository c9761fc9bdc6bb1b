// SPDX-License-Identifier: BSD-3-Clause
// Which job and rank a process belongs to, and what file names make of it.
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <map>

#include "health/file_pattern.h"
#include "health/identity.h"
#include "health/process_id.h"

namespace verity::health {
namespace {

using Environment = std::map<std::string, std::string>;

Variables reader(const Environment& environment) {
  return [&environment](const char* name) {
    const auto found = environment.find(name);
    return found != environment.end() ? found->second.c_str() : nullptr;
  };
}

Identity identity(const Environment& environment) {
  Identity who;
  read_job(reader(environment), &who);
  return who;
}

Launch launch(const Environment& environment, const std::string& launcher = {}) {
  return read_launch(reader(environment), launcher);
}

std::string job_step_rank(const Environment& environment) {
  const Identity who = identity(environment);
  return who.job + " " + who.step + " " + who.rank;
}

TEST(HealthIdentity, RankComesFromTheLauncher) {
  EXPECT_EQ(identity({}).rank, "");
  EXPECT_EQ(identity({{"SLURM_PROCID", "12"}}).rank, "12");
  EXPECT_EQ(identity({{"SLURM_PROCID", "12"}, {"PMIX_RANK", "7"}}).rank, "7");
  EXPECT_EQ(identity({{"FLUX_TASK_RANK", "3"}}).rank, "3");
  EXPECT_EQ(identify_process().pid, getpid());
}

TEST(HealthIdentity, JobsOfEachBatchSystem) {
  EXPECT_EQ(job_step_rank({{"SLURM_JOB_ID", "77"}, {"SLURM_STEP_ID", "3"}, {"SLURM_PROCID", "1"}}),
            "77 3 1");
  EXPECT_EQ(job_step_rank({{"PBS_JOBID", "12.server"}, {"PALS_APID", "a-1"}, {"PALS_RANKID", "2"}}),
            "12.server a-1 2");
  EXPECT_EQ(job_step_rank({{"LSB_JOBID", "9"}, {"LSB_JOBINDEX", "0"}}), "9  ");
  EXPECT_EQ(job_step_rank({{"LSB_JOBID", "9"}, {"LSB_JOBINDEX", "4"}}), "9[4]  ");
  EXPECT_EQ(job_step_rank({{"FLUX_JOB_ID",
                            "\xc6\x92"
                            "2oLk"},
                           {"FLUX_TASK_RANK", "0"}}),
            "f2oLk  0");
}

// mpirun in a job is one of its processes: the step in its environment is that of its daemons.
TEST(HealthIdentity, StepsAreThoseOfTheBatchSystemsOwnProcesses) {
  EXPECT_EQ(job_step_rank({{"SLURM_JOB_ID", "77"},
                           {"SLURM_STEP_ID", "0"},
                           {"SLURM_PROCID", "0"},
                           {"PMIX_NAMESPACE", "1602224129"},
                           {"PMIX_RANK", "5"}}),
            "77  5");
  EXPECT_EQ(job_step_rank({{"SLURM_JOB_ID", "77"},
                           {"SLURM_STEP_ID", "0"},
                           {"SLURM_PROCID", "4"},
                           {"PMIX_NAMESPACE", "slurm.pmix.77.0"},
                           {"PMIX_RANK", "4"}}),
            "77 0 4");
  EXPECT_EQ(job_step_rank({{"SLURM_JOB_ID", "77"},
                           {"SLURM_STEP_ID", "0"},
                           {"SLURM_PROCID", "0"},
                           {"MPI_LOCALRANKID", "1"},
                           {"PMI_RANK", "1"}}),
            "77  1");
}

TEST(HealthIdentity, LaunchesAreToldApart) {
  const Environment open_mpi{{"PMIX_NAMESPACE", "16"},
                             {"PMIX_SERVER_URI2", "16.0;tcp4://127.0.0.1:4"},
                             {"OMPI_COMM_WORLD_SIZE", "64"},
                             {"OMPI_COMM_WORLD_LOCAL_SIZE", "8"}};
  const Launch first = launch(open_mpi);
  EXPECT_EQ(first.ranks, 64U);
  EXPECT_EQ(first.host_ranks, 8U);
  Environment other = open_mpi;
  other["PMIX_SERVER_URI2"] = "16.0;tcp4://127.0.0.1:5";
  EXPECT_NE(launch(other).key, first.key);
  EXPECT_EQ(launch({}).key, "");
  const Environment hydra{
      {"PMI_RANK", "1"}, {"PMI_SIZE", "4"}, {"MPI_LOCALRANKID", "1"}, {"MPI_LOCALNRANKS", "2"}};
  EXPECT_EQ(launch(hydra).key, "");  // its launcher is not found
  EXPECT_NE(launch(hydra, "12.345").key, launch(hydra, "12.346").key);
  EXPECT_EQ(launch(hydra, "12.345").host_ranks, 2U);
}

TEST(HealthIdentity, AncestorsAreFoundByName) {
  std::ifstream file("/proc/" + std::to_string(getppid()) + "/comm");
  std::string name;
  ASSERT_TRUE(std::getline(file, name));
  EXPECT_EQ(ancestor(name).find(std::to_string(getppid()) + "."), 0U);
  EXPECT_EQ(ancestor("no program's name"), "");
}

TEST(HealthIdentity, SlurmsTasksOfThisNode) {
  const Environment slurm{{"SLURM_JOB_ID", "7"},          {"SLURM_STEP_ID", "1"},
                          {"SLURM_PROCID", "9"},          {"SLURM_NODEID", "2"},
                          {"SLURM_STEP_NUM_TASKS", "11"}, {"SLURM_STEP_TASKS_PER_NODE", "4(x2),3"}};
  EXPECT_EQ(launch(slurm).ranks, 11U);
  EXPECT_EQ(launch(slurm).host_ranks, 3U);
  EXPECT_EQ(tasks_of_node("4(x2),3", 1), 4U);
  EXPECT_EQ(tasks_of_node("4(x2),3", 3), 0U);
  EXPECT_EQ(tasks_of_node("4(x", 0), 0U);
  EXPECT_EQ(tasks_of_node("", 0), 0U);
}

TEST(HealthIdentity, FilePatterns) {
  const Identity who = {
      .host = "n1", .program = "app", .pid = 7, .rank = "5", .job = "77", .step = "2"};
  EXPECT_EQ(expand_path("/tmp/%h.%p.%r.json", who), "/tmp/n1.7.5.json");
  EXPECT_EQ(expand_path("%x.%j.%s", who), "app.77.2");
  EXPECT_EQ(expand_path("100%%-%q%", who), "100%-%q%");
  EXPECT_EQ(expand_path("%r %j %s",
                        {.host = "", .program = "", .pid = 7, .rank = "", .job = "", .step = ""}),
            "7 7 0");
  EXPECT_EQ(
      expand_path("/a/%j",
                  {.host = "", .program = "", .pid = 7, .rank = "", .job = "../b", .step = ""}),
      "/a/.._b");
}

TEST(HealthIdentity, UnknownPatternsAreNamed) {
  EXPECT_EQ(unknown_pattern(""), "");
  EXPECT_EQ(unknown_pattern("/tmp/%h%j%s%r%p%x%%.json"), "");
  EXPECT_EQ(unknown_pattern("/tmp/%h.%q.%z"), "%q");
  EXPECT_EQ(unknown_pattern("%%%"), "%");
  EXPECT_EQ(unknown_pattern("%%q"), "");
}

}  // namespace
}  // namespace verity::health
