// SPDX-License-Identifier: BSD-3-Clause
//
// What `doctor` says of the host, of containers and of programs that nothing is preloaded into.
#include <gtest/gtest.h>

#include "healthy_facts.h"
#include "tools/doctor/checks/diagnosis.h"

namespace verity::tools {
namespace {

void add_hardware(Facts* facts) {
  for (const char* name : {"rc_verbs", "ud_verbs"})
    facts->probe.ucx.devices.push_back({name, "mlx5_0:1", "ib", true});
}

TEST(ToolsDiagnosisHost, LockedMemory) {
  Facts facts = healthy();
  EXPECT_FALSE(has(facts, Grade::kOk, "may be locked"));
  facts.host.memlock = 65536;
  EXPECT_TRUE(has(facts, Grade::kOk, "at most 64 KiB may be locked; no transport here needs it"));
  add_hardware(&facts);
  EXPECT_TRUE(
      has(facts, Grade::kBroken,
          "at most 64 KiB may be locked, and rc_verbs, ud_verbs may fail to register buffers"));
  EXPECT_TRUE(has(facts, Grade::kBroken, "ulimit -l unlimited"));
  EXPECT_EQ(verdict(diagnose(facts)), "BROKEN: some jobs started from this shell abort");
  facts.host.memlock = std::uint64_t{256} << 20;
  EXPECT_TRUE(has(facts, Grade::kWarning, "at most 256 MiB may be locked, and rc_verbs, ud_verbs"));
  facts.host.memlock.reset();
  EXPECT_EQ(locking_transports(facts.probe.ucx.devices).size(), 2U);
}

TEST(ToolsDiagnosisHost, Sizes) {
  EXPECT_EQ(size_text(0), "0 B");
  EXPECT_EQ(size_text(1023), "1023 B");
  EXPECT_EQ(size_text(8192), "8 KiB");
  EXPECT_EQ(size_text(std::uint64_t{8} << 20), "8 MiB");
}

TEST(ToolsDiagnosisHost, Programs) {
  Facts facts = healthy();
  facts.host.programs = {{"/opt/app", ""}};
  EXPECT_TRUE(has(facts, Grade::kOk, "/opt/app: LD_PRELOAD reaches it"));
  EXPECT_EQ(worst(diagnose(facts)), Grade::kOk);
  facts.host.absent = {"ap"};
  EXPECT_TRUE(has(facts, Grade::kBroken, "ap does not exist"));
  facts.host.absent.clear();
  facts.host.programs = {{"/opt/mpirun", "is set-user-ID: ..."}};
  EXPECT_TRUE(has(facts, Grade::kBroken, "/opt/mpirun is set-user-ID: ..., so its jobs abort"));
  EXPECT_EQ(verdict(diagnose(facts)), "BROKEN: some jobs started from this shell abort");
  set(&facts, "UCX_TLS", "vtcp,tcp");
  EXPECT_TRUE(has(facts, Grade::kBroken, "so its jobs run unverified"));
  facts.ucx.version = "1.22.0";  // UCX_PLUGIN_PATH does without a preload
  EXPECT_FALSE(has(facts, Grade::kBroken, "set-user-ID"));
}

TEST(ToolsDiagnosisHost, LauncherThatDropsThePreload) {
  Facts facts = healthy();
  facts.shell.preload_exists = false;
  facts.shell.probe = {};
  facts.shell.probe.ran = true;
  std::erase_if(facts.shell.set, [](const Variable& v) { return v.name == "LD_PRELOAD"; });
  EXPECT_TRUE(has(facts, Grade::kBroken, "export LD_PRELOAD=/opt/v/libverity_preload.so"));
  const auto remedy_of = [&](const char* launcher, const char* remedy) {
    facts.host.launcher = launcher;
    EXPECT_TRUE(has(facts, Grade::kBroken,
                    std::string("LD_PRELOAD is not set in this process of ") + launcher +
                        "'s job, which has other variables of 'env': its launcher, or a "
                        "privileged program on the way, removes it"));
    EXPECT_TRUE(has(facts, Grade::kBroken, remedy)) << launcher;
  };
  remedy_of("Open MPI", "mpirun -x LD_PRELOAD=/opt/v/libverity_preload.so");
  remedy_of("MPICH", "mpiexec -genv LD_PRELOAD /opt/v/libverity_preload.so");
  remedy_of("Slurm", "srun --export=ALL,LD_PRELOAD=/opt/v/libverity_preload.so");
}

TEST(ToolsDiagnosisHost, Containers) {
  Facts facts = healthy();
  facts.host.container = "Apptainer";
  EXPECT_EQ(worst(diagnose(facts)), Grade::kOk);
  facts.shell.preload_exists = false;
  facts.shell.probe = {};
  facts.shell.probe.ran = true;
  EXPECT_TRUE(has(facts, Grade::kBroken,
                  "which does not exist in this container (Apptainer): UCX does not load"));
  EXPECT_TRUE(has(facts, Grade::kBroken, "export LD_PRELOAD=/opt/v/libverity_preload.so"));
  facts = healthy();
  facts.host.container = "Docker";
  facts.install.module_dir = "";
  facts.probe = {};
  EXPECT_TRUE(has(facts, Grade::kBroken,
                  "this is a container (Docker): make the host's installation visible in it (-v "
                  "PREFIX)"));
  facts.host.container = "Apptainer";
  EXPECT_TRUE(has(facts, Grade::kBroken, "(--bind PREFIX)"));
}

}  // namespace
}  // namespace verity::tools
