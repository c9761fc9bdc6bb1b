// SPDX-License-Identifier: BSD-3-Clause
#include "tools/env/install.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "util/build_config.h"

namespace verity::tools {
namespace {

namespace fs = std::filesystem;

class ToolsInstall : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(mkdtemp(folder_.data()), nullptr); }
  void TearDown() override { fs::remove_all(folder_); }

  void add(const std::string& file) {
    const fs::path path = fs::path(folder_) / file;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << "x";
  }

  std::string folder_ = "/tmp/verity-install-XXXXXX";
};

TEST_F(ToolsInstall, SeveralVersions) {
  add("1.18.1/libuct_verity.so");
  add("1.13.1/libuct_verity.so");
  add("1.99.0/README");
  add("libverity_preload.so");
  const Install install = read_install(folder_, "1.13.1");
  EXPECT_EQ(install.versions, (std::vector<std::string>{"1.13.1", "1.18.1"}));
  EXPECT_EQ(install.module_dir, folder_ + "/1.13.1");
  EXPECT_EQ(install.preload, folder_ + "/libverity_preload.so");
}

TEST_F(ToolsInstall, AnotherVersionIsNotTaken) {
  add("1.18.1/libuct_verity.so");
  const Install install = read_install(folder_, "1.13.1");
  EXPECT_EQ(install.module_dir, "");
  EXPECT_EQ(install.preload, "");
  EXPECT_EQ(install.versions.size(), 1U);
}

TEST_F(ToolsInstall, NoFolderAtAll) {
  const Install install = read_install(folder_ + "/none", "1.13.1");
  EXPECT_TRUE(install.versions.empty());
  EXPECT_EQ(install.module_dir, "");
}

TEST_F(ToolsInstall, AnotherPrefix) {
  add("lib/ucx-verity/1.13.1/libuct_verity.so");
  add("lib/ucx-verity/libverity_preload.so");
  const Install install = read_prefix(folder_, "1.13.1");
  EXPECT_EQ(install.module_dir, folder_ + "/lib/ucx-verity/1.13.1");
  EXPECT_EQ(install.preload, folder_ + "/lib/ucx-verity/libverity_preload.so");
}

TEST_F(ToolsInstall, AnotherBuildTree) {
  add("modules/libuct_verity.so");
  add(".libs/libverity_preload.so");
  const Install install = read_prefix(folder_, VERITY_UCX_VERSION);
  EXPECT_EQ(install.module_dir, folder_ + "/modules");
  EXPECT_EQ(install.preload, folder_ + "/.libs/libverity_preload.so");
}

TEST(ToolsInstallPath, OwnPath) { EXPECT_TRUE(fs::exists(own_path())); }

}  // namespace
}  // namespace verity::tools
