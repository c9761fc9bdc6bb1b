// SPDX-License-Identifier: BSD-3-Clause
#include "tools/env/transports.h"

#include <gtest/gtest.h>

namespace verity::tools {
namespace {

using Names = std::vector<std::string>;

const Names kLaptop = {"self", "tcp", "sysv", "posix", "cma"};
const Names kVerbs = {"self", "tcp", "sysv", "posix", "cma", "rc_verbs", "ud_verbs"};
const Names kMellanox = {"self",      "tcp",      "sysv",    "posix",   "rc_verbs",
                         "ud_verbs",  "rc_mlx5",  "dc_mlx5", "ud_mlx5", "knem",
                         "cuda_copy", "cuda_ipc", "gdr_copy"};

TEST(ToolsTransports, NamesWrappersAndMixesOfThem) {
  EXPECT_EQ(select("tcp,posix,self", kLaptop).ucx_tls, "vtcp,vposix,vself");
  EXPECT_EQ(select("vtcp,vposix", kLaptop).ucx_tls, "vtcp,vposix");
  EXPECT_EQ(select("tcp,vtcp,,tcp,", kLaptop).ucx_tls, "vtcp");
  EXPECT_EQ(select("vtcp", kLaptop).lower, Names{"tcp"});
}

TEST(ToolsTransports, AliasesMeanWhatIsThere) {
  EXPECT_EQ(select("sm", kLaptop).ucx_tls, "vposix,vsysv,vcma");
  EXPECT_EQ(select("vsm", kLaptop).ucx_tls, "vposix,vsysv,vcma");
  EXPECT_EQ(select("rc", kVerbs).ucx_tls, "vrc_verbs,vud_verbs:aux");
  EXPECT_EQ(select("vrc,ud", kVerbs).ucx_tls, "vrc_verbs,vud_verbs");
  EXPECT_EQ(select("rc", kMellanox).ucx_tls, "vrc_mlx5,vrc_verbs,vud_mlx5:aux,vud_verbs:aux");
  EXPECT_EQ(select("dc", kMellanox).ucx_tls, "vdc_mlx5,vud_mlx5:aux");
  EXPECT_EQ(select("all", kLaptop).ucx_tls, "vself,vtcp,vsysv,vposix,vcma");
}

TEST(ToolsTransports, DefaultsNeverHoldARawOne) {
  EXPECT_EQ(select_default(kLaptop).ucx_tls, "vposix,vtcp,vself");
  EXPECT_EQ(select_default(kVerbs).ucx_tls, "vrc_verbs,vud_verbs,vposix,vtcp,vself");
  EXPECT_EQ(select_default(kMellanox).ucx_tls, "vrc_mlx5,vdc_mlx5,vud_mlx5,vposix,vtcp,vself");
  EXPECT_EQ(select_default({"sysv", "self"}).ucx_tls, "vsysv,vself");
}

TEST(ToolsTransports, NothingToWrapIsAnError) {
  EXPECT_NE(select_default({}).error, "");
  EXPECT_NE(select_default({"cma"}).error, "");
  EXPECT_NE(select("", kLaptop).error, "");
  EXPECT_NE(select(",", kLaptop).error, "");
}

TEST(ToolsTransports, UnknownNamesListWhatExists) {
  const Selection selection = select("tcp,rc", kLaptop);
  EXPECT_EQ(selection.ucx_tls, "");
  EXPECT_EQ(selection.error,
            "transport 'rc' does not exist on this machine\n"
            "this machine has: self, tcp, sysv, posix, cma");
}

TEST(ToolsTransports, TransportsWithoutActiveMessagesSayWhy) {
  EXPECT_NE(select("cma", kLaptop).error.find("no active messages"), std::string::npos);
  EXPECT_EQ(select("cma,posix", kLaptop).ucx_tls, "vcma,vposix");
  EXPECT_NE(select("cuda_ipc", kMellanox).error.find("no active messages"), std::string::npos);
  EXPECT_NE(select("vcma", kLaptop).error.find("no active messages"), std::string::npos);
  EXPECT_NE(select("cuda_copy", kMellanox).error.find("within one process"), std::string::npos);
  EXPECT_NE(not_wrappable_because("ugni_smsg"), "");
  EXPECT_EQ(not_wrappable_because("rc_verbs"), "");
}

TEST(ToolsTransports, OneTransportWithWhatConnectsIt) {
  EXPECT_EQ(with_set_up_transport("tcp"), "tcp");
  EXPECT_EQ(with_set_up_transport("vtcp"), "vtcp");
  EXPECT_EQ(with_set_up_transport("rc_verbs"), "rc_verbs,ud_verbs:aux");
  EXPECT_EQ(with_set_up_transport("cma"), "cma,posix");
  EXPECT_EQ(with_set_up_transport("vcma"), "vcma,vposix");
  EXPECT_EQ(with_set_up_transport("vrc_mlx5"), "vrc_mlx5,vud_mlx5:aux");
}

TEST(ToolsTransports, Split) {
  EXPECT_EQ(split_commas(""), Names{});
  EXPECT_EQ(split_commas(",a,,b,"), (Names{"a", "b"}));
  EXPECT_EQ(join({"a", "b"}, ", "), "a, b");
  EXPECT_EQ(join({}, ", "), "");
}

}  // namespace
}  // namespace verity::tools
