// SPDX-License-Identifier: BSD-3-Clause
#include "policy/policy.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "policy/policy_file.h"

namespace verity::policy {
namespace {

std::string error_of(std::string_view text) {
  const Policy policy = parse(text, "/etc/x.conf");
  EXPECT_TRUE(policy.entries.empty());
  EXPECT_EQ(policy.errors.size(), 1U);
  return policy.errors.empty() ? "" : policy.errors.front();
}

TEST(Policy, Lines) {
  const Policy policy = parse(
      "# a comment\n"
      "\n"
      "  UCX_VERITY_ATTEST = always \r\n"
      "\t# another\n"
      "lock\tUCX_VERITY_MODE=verify\n"
      "UCX_VERITY_FAULT_LOG=/var/log/faults %h=#1\n"
      "UCX_VERITY_HOST=",
      "f");
  EXPECT_TRUE(policy.errors.empty());
  const std::vector<Entry> wanted = {
      {"UCX_VERITY_ATTEST", "always", false, "f", 3},
      {"UCX_VERITY_MODE", "verify", true, "f", 5},
      {"UCX_VERITY_FAULT_LOG", "/var/log/faults %h=#1", false, "f", 6},
      {"UCX_VERITY_HOST", "", false, "f", 7},
  };
  EXPECT_EQ(policy.entries, wanted);
  EXPECT_EQ(policy.find("UCX_VERITY_MODE")->place(), "f:5");
  EXPECT_EQ(policy.find("UCX_VERITY_LINGER"), nullptr);
}

TEST(Policy, Empty) {
  for (const std::string_view text : {"", "\n", "#", "# x\n\n\n", "   "}) {
    const Policy policy = parse(text, "f");
    EXPECT_TRUE(policy.entries.empty());
    EXPECT_TRUE(policy.errors.empty());
  }
}

TEST(Policy, ErrorsNameFileLineAndWhatIsExpected) {
  const std::string expected =
      ": expected UCX_VERITY_NAME=VALUE, lock UCX_VERITY_NAME=VALUE, limit "
      "UCX_VERITY_NAME=LOWEST..HIGHEST, or a comment (#)";
  EXPECT_EQ(error_of("\nUCX_VERITY_MODE\n"), "/etc/x.conf:2: 'UCX_VERITY_MODE'" + expected);
  EXPECT_EQ(error_of("UCX_TLS=tcp"), "/etc/x.conf:1: 'UCX_TLS=tcp'" + expected);
  EXPECT_EQ(error_of("lock\n"), "/etc/x.conf:1: 'lock'" + expected);
  EXPECT_EQ(error_of("lock lock UCX_VERITY_MODE=off"),
            "/etc/x.conf:1: 'lock lock UCX_VERITY_MODE=off'" + expected);
  EXPECT_EQ(error_of("locked UCX_VERITY_MODE=off"),
            "/etc/x.conf:1: 'locked UCX_VERITY_MODE=off'" + expected);
  EXPECT_EQ(error_of("export UCX_VERITY_MODE=off"),
            "/etc/x.conf:1: 'export UCX_VERITY_MODE=off'" + expected);
  EXPECT_EQ(error_of("UCX_VERITY_=1"), "/etc/x.conf:1: 'UCX_VERITY_=1'" + expected);
  EXPECT_EQ(
      error_of("UCX_VERITY_MODE=off\nUCX_VERITY_HOST=a\nlock UCX_VERITY_MODE=verify"),
      "/etc/x.conf:3: UCX_VERITY_MODE: line 1 is about it already: expected one line for each "
      "variable, or a default and a limit");
  EXPECT_EQ(error_of("UCX_VERITY_TYPECHECK=warn"),
            "/etc/x.conf:1: UCX_VERITY_TYPECHECK: is read from the environment only: set it in a "
            "module");
  EXPECT_NE(error_of("UCX_VERITY_EXTRA_MODULES=x").find("environment only"), std::string::npos);
}

TEST(Policy, HostileBytes) {
  EXPECT_EQ(error_of(std::string_view("\0\x1b[31m", 6)).find('\x1b'), std::string::npos);
  EXPECT_NE(error_of(std::string_view("UCX_VERITY_HOST=a\0b", 19)).find("control characters"),
            std::string::npos);
  EXPECT_NE(error_of("UCX_VERITY_HOST=" + std::string(kMostValue + 1, 'a')).find("4097 bytes"),
            std::string::npos);
  EXPECT_NE(error_of(std::string(kMostBytes + 1, '\n')).find("more than 65536"), std::string::npos);
  EXPECT_LT(error_of(std::string(kMostBytes, 'A')).size(), 300U);
}

TEST(Policy, Merge) {
  Policy policy = parse("UCX_VERITY_MODE=off\nUCX_VERITY_ATTEST=never", "a");
  merge(&policy, parse("lock UCX_VERITY_MODE=verify\nUCX_VERITY_HOST=x", "b"));
  EXPECT_EQ(policy.entries.size(), 3U);
  EXPECT_EQ(policy.find("UCX_VERITY_MODE")->place(), "b:1");
  EXPECT_TRUE(policy.find("UCX_VERITY_MODE")->locked);
  merge(&policy, parse("x", "c"));
  EXPECT_EQ(policy.entries.size(), 3U);
  ASSERT_EQ(policy.errors.size(), 1U);
  const Entry mode = fail_safe(policy);
  EXPECT_EQ(mode.value, "verify");
  EXPECT_TRUE(mode.locked);
  EXPECT_EQ(mode.place(), "c:1, which is not usable,");
}

TEST(Policy, FileBesideTheInstallation) {
  EXPECT_EQ(installation_file("/p/lib/ucx-verity/1.13.1"), "/p/lib/ucx-verity/ucx-verity.conf");
  EXPECT_EQ(installation_file("/p/lib/ucx-verity/1.13.1//"), "/p/lib/ucx-verity/ucx-verity.conf");
  EXPECT_EQ(installation_file("lib/modules/"), "lib/ucx-verity.conf");
  EXPECT_EQ(installation_file("modules"), "ucx-verity.conf");
  EXPECT_EQ(installation_file("."), "./../ucx-verity.conf");
  EXPECT_EQ(installation_file("a/.."), "a/../../ucx-verity.conf");
  EXPECT_EQ(installation_file(""), "");
  EXPECT_EQ(installation_file("/"), "");
}

TEST(Policy, Refusal) {
  const Policy policy = parse("lock UCX_VERITY_MODE=verify", "/etc/x.conf");
  EXPECT_EQ(refusal(policy.entries[0], "off\n"),
            "ucx-verity: UCX_VERITY_MODE=off? is not used: /etc/x.conf:1 locks it to verify");
}

}  // namespace
}  // namespace verity::policy
