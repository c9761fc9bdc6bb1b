// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "health/report/bypass.h"

namespace verity::health {
namespace {

using Names = std::vector<std::string>;

const Names kMachine = {"self",     "tcp",      "posix",   "sysv",      "cma",
                        "rc_verbs", "ud_verbs", "rc_mlx5", "cuda_copy", "cuda_ipc",
                        "vself",    "vtcp",     "vposix",  "vrc_verbs"};

TEST(HealthLanes, OnlyWrappersNamedLeavesNothingRaw) {
  EXPECT_EQ(raw_lanes("vtcp,vposix,vself", kMachine), Names{});
  EXPECT_EQ(raw_lanes("vrc_verbs", kMachine), Names{});
}

TEST(HealthLanes, UnsetAndAllEnableEverythingButCopies) {
  const Names everything = {"self",     "tcp",      "posix",   "sysv",    "cma",
                            "rc_verbs", "ud_verbs", "rc_mlx5", "cuda_ipc"};
  EXPECT_EQ(raw_lanes("", kMachine), everything);
  EXPECT_EQ(raw_lanes("all", kMachine), everything);
  EXPECT_EQ(raw_lanes(",", kMachine), everything);
}

TEST(HealthLanes, RawBesideWrapped) {
  EXPECT_EQ(raw_lanes("vtcp,vself,tcp,self", kMachine), (Names{"self", "tcp"}));
  EXPECT_EQ(raw_lanes("vtcp,posix", kMachine), Names{"posix"});
}

TEST(HealthLanes, Aliases) {
  EXPECT_EQ(raw_lanes("vtcp,sm", kMachine), (Names{"posix", "sysv", "cma"}));
  EXPECT_EQ(raw_lanes("shm", kMachine), (Names{"posix", "sysv", "cma"}));
  EXPECT_EQ(raw_lanes("mm", kMachine), (Names{"posix", "sysv"}));
  EXPECT_EQ(raw_lanes("ib", kMachine), (Names{"rc_verbs", "ud_verbs", "rc_mlx5"}));
  EXPECT_EQ(raw_lanes("rc_v", kMachine), Names{"rc_verbs"});  // ud_verbs connects only
  EXPECT_EQ(raw_lanes("rc", kMachine), (Names{"rc_verbs", "rc_mlx5"}));
  EXPECT_EQ(raw_lanes("ud", kMachine), Names{"ud_verbs"});
  EXPECT_EQ(raw_lanes("cuda", kMachine), Names{"cuda_ipc"});
}

TEST(HealthLanes, Negation) {
  EXPECT_EQ(raw_lanes("^ib,cuda", kMachine), (Names{"self", "tcp", "posix", "sysv", "cma"}));
  EXPECT_EQ(raw_lanes("^self,tcp,sm,ib,cuda", kMachine), Names{});
  EXPECT_EQ(raw_lanes("^vtcp", Names{"tcp", "vtcp"}), Names{"tcp"});
}

TEST(HealthLanes, StrictNamesAreNoAliases) {
  EXPECT_EQ(raw_lanes("\\posix", kMachine), Names{"posix"});
  EXPECT_EQ(raw_lanes("\\sm", kMachine), Names{});
}

TEST(HealthLanes, ConnectionSetUpOnlyIsNoLane) {
  EXPECT_EQ(raw_lanes("vrc_verbs,ud_verbs:aux", kMachine), Names{});
}

TEST(HealthLanes, EachNameOnce) {
  EXPECT_EQ(raw_lanes("tcp", Names{"tcp", "tcp", "tcp"}), Names{"tcp"});
}

TEST(HealthLanes, TheTestTransportsAreRaw) {
  EXPECT_EQ(raw_lanes("vtcp,ftcp", Names{"tcp", "ftcp", "vtcp", "vftcp"}), Names{"ftcp"});
}

TEST(HealthLanes, WarningIsOneLine) {
  EXPECT_EQ(raw_lane_warning({}), "");
  const std::string warning = raw_lane_warning({"tcp", "self"});
  EXPECT_NE(warning.find("tcp,self"), std::string::npos);
  EXPECT_EQ(warning.find('\n'), std::string::npos);
}

// What Open MPI 4.1.4 has loaded at the end of a run with pml=ucx, osc=ucx, windows included.
const Names kHealthy = {
    "/lib/x86_64-linux-gnu/libopen-pal.so.40", "/usr/lib/openmpi3/mca_bml_r2.so",
    "/usr/lib/openmpi3/mca_btl_tcp.so",        "/usr/lib/openmpi3/mca_btl_vader.so",
    "/usr/lib/openmpi3/mca_btl_self.so",       "/usr/lib/openmpi3/mca_btl_sm.so",
    "/usr/lib/openmpi3/mca_pml_ucx.so",        "/usr/lib/openmpi3/mca_coll_sm.so",
    "/usr/lib/openmpi3/mca_coll_tuned.so",     "/usr/lib/openmpi3/mca_coll_han.so",
    "/usr/lib/openmpi3/mca_coll_libnbc.so",    "/usr/lib/openmpi3/mca_osc_ucx.so"};
const MpiSettings kSettings = {.pml = "ucx",
                               .osc = "ucx",
                               .coll_sm_priority = {},
                               .osc_ucx_priority = {},
                               .osc_sm_priority = {},
                               .coll_ucc_enable = {}};

Names with(Names objects, std::initializer_list<const char*> more) {
  objects.insert(objects.end(), more.begin(), more.end());
  return objects;
}

TEST(HealthMpi, AHealthyJobNamesNothing) { EXPECT_EQ(mpi_bypass(kHealthy, kSettings), Names{}); }

TEST(HealthMpi, NoMpiNamesNothing) {
  EXPECT_EQ(mpi_bypass({"/lib/libc.so.6", "mca_", "mca_x.so", ""}, {}), Names{});
}

TEST(HealthMpi, OneSidedComponents) {
  EXPECT_EQ(mpi_bypass(with(kHealthy, {"mca_osc_sm.so"}), kSettings), Names{"osc/sm"});
  EXPECT_EQ(mpi_bypass(with(kHealthy, {"mca_osc_rdma.so"}), kSettings),
            (Names{"btl/sm", "btl/tcp", "btl/vader", "osc/rdma"}));
  EXPECT_EQ(mpi_bypass(with(kHealthy, {"mca_osc_pt2pt.so"}), kSettings), Names{"osc/pt2pt"});
}

TEST(HealthMpi, BelowOscUcxOscSmGetsSharedWindowsAlone) {
  const Names both = with(kHealthy, {"mca_osc_sm.so"});
  MpiSettings settings = kSettings;
  EXPECT_FALSE(only_shared_windows(both, settings)) << "osc/ucx's own priority is below osc/sm's";
  settings.osc_ucx_priority = "200";
  EXPECT_EQ(mpi_bypass(both, settings), Names{});
  EXPECT_TRUE(only_shared_windows(both, settings));
  EXPECT_FALSE(only_shared_windows(kHealthy, settings));
  settings.osc_sm_priority = "300";
  EXPECT_EQ(mpi_bypass(both, settings), Names{"osc/sm"});
  settings.osc_sm_priority.reset();
  EXPECT_EQ(mpi_bypass({"mca_pml_ucx.so", "mca_osc_sm.so"}, settings), Names{"osc/sm"})
      << "there is no osc/ucx";
}

TEST(HealthMpi, AnotherMessagingLayer) {
  EXPECT_EQ(mpi_bypass({"mca_pml_ob1.so", "mca_btl_tcp.so", "mca_btl_self.so"}, {}),
            (Names{"btl/tcp", "pml/ob1"}));
  EXPECT_EQ(mpi_bypass({"mca_pml_cm.so", "mca_mtl_ofi.so"}, {}), (Names{"mtl/ofi", "pml/cm"}));
  EXPECT_EQ(mpi_bypass(with(kHealthy, {"mca_pml_monitoring.so"}), kSettings), Names{});
}

TEST(HealthMpi, Collectives) {
  EXPECT_EQ(mpi_bypass(with(kHealthy, {"/opt/hcoll/lib/libhcoll.so.1"}), kSettings),
            Names{"coll/hcoll"});
  EXPECT_EQ(mpi_bypass(with(kHealthy, {"mca_coll_ucc.so", "libucc.so.1"}), kSettings),
            Names{"coll/ucc"});
  EXPECT_EQ(mpi_bypass(with(kHealthy, {"libucc.so.1"}), kSettings), Names{})
      << "MPI is linked with it, and does not use it";
  EXPECT_EQ(mpi_bypass(with(kHealthy, {"libucc.so.1", "/ucc/libucc_tl_ucp.so"}), kSettings),
            Names{"coll/ucc"});
  MpiSettings enabled = kSettings;
  enabled.coll_ucc_enable = "1";
  EXPECT_EQ(mpi_bypass(with(kHealthy, {"libucc.so.1"}), enabled), Names{"coll/ucc"});
  EXPECT_EQ(mpi_bypass(kHealthy, enabled), Names{});
  MpiSettings raised = kSettings;
  raised.coll_sm_priority = "90";
  EXPECT_EQ(mpi_bypass(kHealthy, raised), Names{"coll/sm"});
  raised.coll_sm_priority = "0";
  EXPECT_EQ(mpi_bypass(kHealthy, raised), Names{});
}

TEST(HealthMpi, ComponentsInsideTheLibraryAreToldBySettings) {
  const Names built_in = {"/opt/openmpi5/lib/libopen-pal.so.80"};
  EXPECT_EQ(mpi_bypass(built_in, kSettings), Names{});
  EXPECT_EQ(mpi_bypass(built_in, {}).size(), 2U);
  MpiSettings beside = kSettings;
  beside.osc = "ucx,sm";
  EXPECT_EQ(mpi_bypass(built_in, beside), Names{"osc/sm"});
  EXPECT_FALSE(only_shared_windows(built_in, beside));
  beside.osc_ucx_priority = "200";
  EXPECT_EQ(mpi_bypass(built_in, beside), Names{});
  EXPECT_TRUE(only_shared_windows(built_in, beside));
  EXPECT_FALSE(only_shared_windows(built_in, kSettings)) << "osc/sm is not allowed";
  EXPECT_FALSE(only_shared_windows({"/lib/libc.so.6"}, beside)) << "no Open MPI";
}

TEST(HealthMpi, SeesItsOwnLibraries) {
  bool found = false;
  for (const std::string& object : loaded_objects()) {
    found |= object.find("libc.so") != std::string::npos;
  }
  EXPECT_TRUE(found);
}

TEST(HealthBypass, NamesWrapper) {
  EXPECT_TRUE(names_wrapper("vtcp,vself"));
  EXPECT_TRUE(names_wrapper("tcp,\\vself"));
  EXPECT_TRUE(names_wrapper("^tcp"));
  EXPECT_TRUE(names_wrapper("all"));
  EXPECT_TRUE(names_wrapper(""));
  EXPECT_FALSE(names_wrapper("tcp,self"));
}

TEST(HealthBypass, WhyNothingPassed) {
  const auto pml = [](const char* value) {
    MpiSettings settings;
    settings.pml = value;
    return settings;
  };
  EXPECT_EQ(unused_reason(true, pml("ob1"), "vtcp,vself"), "pml/ob1, not pml/ucx");
  EXPECT_EQ(unused_reason(true, pml("^ucx"), "vtcp,vself"), "OMPI_MCA_pml=^ucx");
  EXPECT_EQ(unused_reason(true, pml("^ob1"), "tcp"), "UCX_TLS=tcp");
  EXPECT_EQ(unused_reason(true, pml("ucx"), "tcp,self"), "UCX_TLS=tcp,self");
  EXPECT_EQ(unused_reason(true, pml("ucx,ob1"), "vtcp"), "");
  EXPECT_EQ(unused_reason(true, MpiSettings{}, "vtcp"), "OMPI_MCA_pml is not set to ucx");
  EXPECT_EQ(unused_reason(false, pml("ob1"), "tcp"), "UCX_TLS=tcp");
  EXPECT_EQ(unused_reason(false, MpiSettings{}, ""), "");
}

TEST(HealthBypass, MpiPrograms) {
  EXPECT_TRUE(is_mpi_program({"/usr/lib/libc.so.6", "/opt/lib/libmpi.so.40"}));
  EXPECT_TRUE(is_mpi_program({"libmpich.so.12"}));
  EXPECT_FALSE(is_mpi_program({"/opt/lib/libmpiP.so", "/usr/lib/libucp.so.0"}));
  EXPECT_TRUE(is_open_mpi({"/usr/lib/libopen-pal.so.40"}));
  EXPECT_FALSE(is_open_mpi({"libmpich.so.12"}));
}

}  // namespace
}  // namespace verity::health
