// SPDX-License-Identifier: BSD-3-Clause
#include "tools/env/environment.h"

#include <gtest/gtest.h>

#include "tools/env/shell.h"
#include "tools/env/site.h"
#include "tools/env/transports.h"

namespace verity::tools {
namespace {

std::string value_of(const std::vector<Variable>& variables, std::string_view name) {
  for (const Variable& variable : variables) {
    if (variable.name == name) return variable.value;
  }
  return "(unset)";
}

EnvironmentRequest request_for(std::string_view version) {
  EnvironmentRequest request;
  request.ucx = parse_version(version);
  request.preload = "/opt/lib/ucx-verity/libverity_preload.so";
  request.module_dir = "/opt/lib/ucx-verity/x";
  request.ucx_tls = "vtcp,vself";
  return request;
}

TEST(ToolsEnvironment, VersionsDecideTheLoader) {
  EXPECT_TRUE(needs_preload(parse_version("1.13.1")));
  EXPECT_TRUE(needs_preload(parse_version("1.21.0")));
  EXPECT_FALSE(needs_preload(parse_version("1.22.0")));
  EXPECT_FALSE(needs_preload(parse_version("1.23.0-rc1")));
  EXPECT_FALSE(needs_preload(parse_version("2.0")));
  EXPECT_EQ(parse_version("unknown").major, 0);
  EXPECT_STREQ(plugin_variable(parse_version("1.21.0")), "UCX_MODULE_DIR");
  EXPECT_STREQ(plugin_variable(parse_version("1.22.0")), "UCX_PLUGIN_PATH");
}

TEST(ToolsEnvironment, PreloadUpTo121) {
  auto request = request_for("1.13.1");
  request.old_preload = "libdarshan.so";
  const auto variables = make_environment(request);
  EXPECT_EQ(value_of(variables, "LD_PRELOAD"),
            "/opt/lib/ucx-verity/libverity_preload.so:libdarshan.so");
  EXPECT_EQ(value_of(variables, "UCX_MODULE_DIR"), "/opt/lib/ucx-verity/x");
  EXPECT_EQ(value_of(variables, "UCX_TLS"), "vtcp,vself");
  EXPECT_EQ(value_of(variables, "OMPI_MCA_pml"), "ucx");
  EXPECT_EQ(value_of(variables, "OMPI_MCA_osc"), "ucx,sm");
  EXPECT_EQ(value_of(variables, "OMPI_MCA_osc_ucx_priority"), "200");
  EXPECT_EQ(value_of(variables, "OMPI_MCA_opal_common_ucx_tls"), "any");
  EXPECT_EQ(value_of(variables, "OMPI_MCA_opal_common_ucx_devices"), "any");
  EXPECT_EQ(value_of(variables, "UCX_PLUGIN_PATH"), "(unset)");
}

TEST(ToolsEnvironment, NoPreloadFrom122) {
  auto request = request_for("1.22.0");
  request.old_plugin_path = "/other";
  const auto variables = make_environment(request);
  EXPECT_EQ(value_of(variables, "UCX_PLUGIN_PATH"), "/opt/lib/ucx-verity/x:/other");
  EXPECT_EQ(value_of(variables, "LD_PRELOAD"), "(unset)");
  EXPECT_EQ(value_of(variables, "UCX_MODULE_DIR"), "(unset)");
}

TEST(ToolsEnvironment, Transparent) {
  auto request = request_for("1.13.1");
  request.transparent = true;
  request.ucx_tls.clear();
  request.opens_filter = false;
  auto variables = make_environment(request);
  EXPECT_EQ(value_of(variables, "UCX_VERITY_TRANSPARENT"), "y");
  EXPECT_EQ(value_of(variables, "UCX_TLS"), "(unset)");
  EXPECT_EQ(value_of(variables, "OMPI_MCA_pml"), "ucx");
  EXPECT_EQ(value_of(variables, "OMPI_MCA_opal_common_ucx_tls"), "(unset)");
  // Evaluated without it later.
  request = request_for("1.13.1");
  EXPECT_EQ(value_of(make_environment(request), "UCX_VERITY_TRANSPARENT"), "(unset)");
  request.was_transparent = true;
  EXPECT_EQ(value_of(make_environment(request), "UCX_VERITY_TRANSPARENT"), "n");
}

TEST(ToolsEnvironment, SettingsInForce) {
  const policy::Policy policy = policy::parse(
      "UCX_VERITY_ATTEST=always\nUCX_VERITY_LINGER=2s\nlock UCX_VERITY_MODE=verify\n"
      "lock UCX_VERITY_HEALTH=y",
      "/etc/x");
  const auto settings = settings_in_force(policy, {{"UCX_VERITY_MODE", "off"},
                                                   {"UCX_VERITY_ATTEST", "never"},
                                                   {"UCX_VERITY_HEALTH", "Y"},
                                                   {"UCX_VERITY_HOST", "n1"},
                                                   {"UCX_TLS", "tcp"}});
  ASSERT_EQ(settings.size(), 5U);
  EXPECT_EQ(settings[0].value, "never");
  EXPECT_EQ(settings[0].source, "environment, in place of /etc/x:1");
  EXPECT_EQ(settings[1].source + settings[1].ignored, "/etc/x:4");
  EXPECT_EQ(settings[2].source, "environment");
  EXPECT_EQ(settings[3].source, "/etc/x:2");
  EXPECT_EQ(settings[4].ignored, "off");
  EXPECT_TRUE(settings[4].locked);
  EXPECT_EQ(value_in_force(settings, "UCX_VERITY_MODE"), "verify");
  EXPECT_EQ(value_in_force(settings, "UCX_VERITY_CHUNK"), "");
}

TEST(ToolsEnvironment, LimitsInForce) {
  policy::Policy policy = policy::parse("UCX_VERITY_CHUNK=64k\nUCX_VERITY_ACK_POLLS=99", "/a");
  policy::merge(&policy, policy::parse("limit UCX_VERITY_CHUNK=128k..\n"
                                       "limit UCX_VERITY_ACK_POLLS=1..100\n"
                                       "limit UCX_VERITY_MODE=observe..\n"
                                       "limit UCX_VERITY_WINDOW=..500",
                                       "/b"));
  const auto settings =
      settings_in_force(policy, {{"UCX_VERITY_MODE", "off"}, {"UCX_VERITY_ACK_POLLS", "7"}});
  ASSERT_EQ(settings.size(), 4U);
  EXPECT_EQ(settings[0].value + settings[0].ignored, "7");
  EXPECT_EQ(settings[0].limit + " " + settings[0].limit_source, "1..100 /b:2");
  EXPECT_EQ(settings[1].value + settings[1].ignored, "128k");  // no user's value
  EXPECT_EQ(settings[1].source, "/b:1");
  EXPECT_EQ(settings[2].value + " " + settings[2].ignored, "observe off");
  EXPECT_EQ(settings[3].value + settings[3].source, "built-in default");
  EXPECT_EQ(settings[3].limit, "..500");
}

TEST(ToolsEnvironment, FilesThatThePluginRefuses) {
  policy::Policy policy = policy::parse("UCX_VERITY_WINDOW=1\nUCX_VERITY_HOST=x", "/a");
  policy::merge(&policy, policy::parse("UCX_VERITY_ATTEST=auto", "/b"));
  drop_refused_files("ucx-verity: /a:1: wrong\nnucx-verity: /b: x" + std::string(policy::kNotUsed) +
                         "\nucx-verity: /c:1: x" + std::string(policy::kNotUsed),
                     &policy);
  EXPECT_TRUE(policy.errors.empty());
  drop_refused_files("x\nucx-verity: /a:1: UCX_VERITY_WINDOW=1: bad value" +
                         std::string(policy::kNotUsed) + "\ny\n",
                     &policy);
  EXPECT_EQ(policy.errors, std::vector<std::string>{"/a:1: UCX_VERITY_WINDOW=1: bad value"});
  EXPECT_EQ(policy.find("UCX_VERITY_HOST"), nullptr);
  EXPECT_EQ(policy.find("UCX_VERITY_ATTEST")->place(), "/b:1");
  EXPECT_TRUE(policy.find("UCX_VERITY_MODE")->locked);
}

TEST(ToolsEnvironment, WhoDecidesOnTransparency) {
  const auto of = [](const char* text, bool requested, const char* environment) {
    return transparency(policy::parse(text, "/etc/x"), requested, environment);
  };
  EXPECT_TRUE(of("", true, "").on);
  EXPECT_FALSE(of("", false, "y").on);  // of an earlier evaluation
  EXPECT_TRUE(of("UCX_VERITY_TRANSPARENT=y", false, "").on);
  EXPECT_TRUE(of("UCX_VERITY_TRANSPARENT=yes", false, "Y").on);
  EXPECT_FALSE(of("UCX_VERITY_TRANSPARENT=y", false, "n").on);
  EXPECT_TRUE(of("UCX_VERITY_TRANSPARENT=n", true, "n").on);
  EXPECT_TRUE(of("lock UCX_VERITY_TRANSPARENT=y", false, "n").on);
  EXPECT_FALSE(of("lock UCX_VERITY_TRANSPARENT=n", false, "y").on);
  EXPECT_EQ(of("\nlock UCX_VERITY_TRANSPARENT=n", true, "").error,
            "--transparent: /etc/x:2 locks UCX_VERITY_TRANSPARENT to n: evaluate without it");
}

TEST(ToolsEnvironment, WithoutWrappers) {
  EXPECT_EQ(without_wrappers("vrc_mlx5,vself,vud_mlx5:aux"), "rc_mlx5,self,ud_mlx5:aux");
  EXPECT_EQ(without_wrappers("^vtcp,\\vposix,tcp"), "^tcp,\\posix,tcp");
  EXPECT_EQ(without_wrappers(""), "");
}

TEST(ToolsEnvironment, FilterOfOpenMpi) {
  EXPECT_FALSE(
      pass_open_mpi_filter({{"tcp", "eth0", "tcp", true}, {"rc_verbs", "rxe0:1", "ib", true}}));
  EXPECT_TRUE(pass_open_mpi_filter({{"rc_mlx5", "mlx5_0:1", "ib", true}}));
}

TEST(ToolsEnvironment, PrependOnce) {
  EXPECT_EQ(prepend_path("", "/a/x.so", " :"), "/a/x.so");
  EXPECT_EQ(prepend_path("/a/x.so", "/a/x.so", " :"), "/a/x.so");
  EXPECT_EQ(prepend_path("b.so /a/x.so:c.so", "/a/x.so", " :"), "/a/x.so:b.so:c.so");
  // Another installation's preload gives way.
  EXPECT_EQ(prepend_path("/old/x.so::b.so", "/new/x.so", " :"), "/new/x.so:b.so");
}

TEST(ToolsShell, Names) {
  EXPECT_EQ(parse_shell("bash"), Shell::kSh);
  EXPECT_EQ(parse_shell("tcsh"), Shell::kCsh);
  EXPECT_EQ(parse_shell("fish"), Shell::kFish);
  EXPECT_EQ(parse_shell("powershell"), std::nullopt);
}

TEST(ToolsShell, Lines) {
  EXPECT_EQ(export_line(Shell::kSh, "A", "/x:y,z"), "export A=/x:y,z;\n");
  EXPECT_EQ(export_line(Shell::kCsh, "A", "b c"), "setenv A 'b c';\n");
  EXPECT_EQ(export_line(Shell::kFish, "A", ""), "set -gx A '';\n");
  EXPECT_EQ(export_line(Shell::kSlurm, "A", "/x y;z"), "export A=/x y;z\n");
}

TEST(ToolsShell, Quotes) {
  EXPECT_EQ(quote(Shell::kSh, "it's $HOME"), "'it'\\''s $HOME'");
  EXPECT_EQ(quote(Shell::kCsh, "a!b"), "'a\\!b'");
  EXPECT_EQ(quote(Shell::kFish, "it's \\"), "'it\\'s \\\\'");
}

}  // namespace
}  // namespace verity::tools
