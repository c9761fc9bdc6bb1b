// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "tools/doctor/checks/protocols.h"

namespace verity::tools {
namespace {

// As UCX 1.13 describes an endpoint within a host.
constexpr const char* kLimits =
    "#\n# UCP endpoint \n#\n"
    "#                 lane[0]:  0:sysv/memory.0 md[0]           -> md[0]/sysv/sysdev[255] am "
    "am_bw#0\n"
    "#                 lane[1]:  2:cma/memory.0 md[2]            -> md[2]/cma/sysdev[255] "
    "rma_bw#0\n"
    "#\n"
    "#                tag_send: 0..<egr/short>..93..<egr/bcopy>..8256..<rndv>..(inf)\n"
    "#            tag_send_nbr: 0..<egr/short>..93..<egr/bcopy>..262144..<rndv>..(inf)\n";

// As UCX 1.18 does, after another table.
constexpr const char* kTable =
    "# | ucx_info self cfg#0 | tagged message by ucp_tag_send*(multi) from host memory |\n"
    "# |            0..626    | eager short                                     | tcp/lo |\n"
    "# +----------------------+-------------------------------------------------+--------+\n"
    "# \n"
    "# | ucx_info self cfg#0 | tagged message by ucp_tag_send* from host memory |\n"
    "# +---------------------+---------------------------------+--------+\n"
    "# |             0..8184 | eager short                     | tcp/lo |\n"
    "# |        8185..262143 | multi-frag eager copy-in copy-out | tcp/lo |\n"
    "# |           256K..inf | (?) rendezvous zero-copy fenced write to remote | 52% on tcp/lo and "
    "48% on tcp/eth0 |\n";

TEST(ToolsDoctorProtocols, Limits) {
  EXPECT_EQ(protocols_in(kLimits),
            (std::vector<ProtocolRange>{{0, 92, "eager short", "sysv/memory"},
                                        {93, 8255, "eager bcopy", "sysv/memory"},
                                        {8256, kAnySize, "rendezvous", "cma/memory"}}));
}

TEST(ToolsDoctorProtocols, RendezvousOverActiveMessages) {
  const auto ranges = protocols_in(
      "lane[0]:  0:vtcp/lo.0 md[0] -> md[0]/verity/sysdev[255] am am_bw#0\n"
      "lane[1]:  1:vtcp/eth0.0 md[0] -> md[0]/verity/sysdev[255] am_bw#1 wireup\n"
      "tag_send: 0..<egr/short>..8377..<egr/zcopy>..20974..<rndv>..(inf)\n");
  ASSERT_EQ(ranges.size(), 3U);
  EXPECT_EQ(ranges[1].protocol, "eager zcopy");
  EXPECT_EQ(ranges[1].lanes, "vtcp/lo");
  EXPECT_EQ(ranges[2].lanes, "vtcp/lo, vtcp/eth0");
}

TEST(ToolsDoctorProtocols, Table) {
  const std::vector<ProtocolRange> wanted = {
      {0, 8184, "eager short", "tcp/lo"},
      {8185, 262143, "multi-frag eager copy-in copy-out", "tcp/lo"},
      {262144, kAnySize, "rendezvous zero-copy fenced write to remote",
       "52% on tcp/lo and 48% on tcp/eth0"}};
  EXPECT_EQ(protocols_in(kTable), wanted);
  EXPECT_EQ(protocols_in(std::string(kLimits) + kTable), wanted);  // which counts, where both are
  EXPECT_EQ(protocols_in("# | tagged message by ucp_tag_send*() from host memory |\n"
                         "# |    Range     | Description | Config |\n"
                         "# |    0..inf    | eager short | tcp/lo |\n")
                .size(),
            1U);  // titles of 1.13 and 1.23
}

TEST(ToolsDoctorProtocols, NothingToRead) {
  for (const char* text :
       {"", "tag_send: ", "tag_send: 0..<", "| ucp_tag_send* from host memory |\n||"})
    EXPECT_TRUE(protocols_in(text).empty()) << text;
}

TEST(ToolsDoctorProtocols, SideBySide) {
  const ProtocolTable table = {"within this host",
                               "",
                               protocols_in(kLimits),
                               {{0, 99, "eager short", "vposix/memory"},
                                {100, 9208, "eager short", "vposix/memory"},
                                {9209, kAnySize, "rendezvous", "vposix/memory"}}};
  EXPECT_EQ(render_protocols({table}),
            "messages within this host\n"
            "  bytes             without the plugin        with the plugin\n"
            "  8 B to 92 B       eager short, sysv/memory  eager short, vposix/memory\n"
            "  93 B to 8255 B    eager bcopy, sysv/memory  eager short, vposix/memory\n"
            "  8256 B to 9208 B  rendezvous, cma/memory    eager short, vposix/memory\n"
            "  9209 B to 16 MiB  rendezvous, cma/memory    rendezvous, vposix/memory\n"
            "\n");
  EXPECT_EQ(render_protocols({{"between hosts", "no route", {}, {}}}),
            "messages between hosts\n  unknown: no route\n\n");
}

}  // namespace
}  // namespace verity::tools
