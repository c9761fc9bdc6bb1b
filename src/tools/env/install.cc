// SPDX-License-Identifier: BSD-3-Clause
#include "tools/env/install.h"

#include <algorithm>
#include <filesystem>

#include "util/build_config.h"

namespace verity::tools {

namespace fs = std::filesystem;

namespace {

bool has_plugin(const fs::path& folder) {
  std::error_code none;
  return fs::exists(folder / "libuct_verity.so", none);
}

// The files of one folder: the preload and the interposers.
void read_preloads(const fs::path& folder, Install* install) {
  std::error_code none;
  const fs::path preload = folder / "libverity_preload.so";
  if (fs::exists(preload, none)) install->preload = preload;
  for (const char* name : {"libverity_mpi_openmpi.so", "libverity_mpi_mpich.so"}) {
    if (fs::exists(folder / name, none)) install->interposers.push_back(folder / name);
  }
}

void read_fault(const fs::path& folder, Install* install) {
  std::error_code none;
  if (fs::exists(folder / "libuct_fault.so", none)) install->fault = folder / "libuct_fault.so";
}

// A build tree has the plugin in modules/, for the one version it was configured for.
Install read_build_tree(const fs::path& tree, const std::string& ucx_version) {
  Install install;
  install.base = tree;
  read_preloads(tree / ".libs", &install);
  install.versions = {VERITY_UCX_VERSION};
  if (ucx_version == VERITY_UCX_VERSION) install.module_dir = tree / "modules";
  read_fault(tree / ".libs", &install);
  return install;
}

}  // namespace

std::string own_path() {
  std::error_code none;
  return fs::read_symlink("/proc/self/exe", none);
}

Install read_install(const std::string& base, const std::string& ucx_version) {
  Install install;
  install.base = base;
  read_preloads(base, &install);
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(base, none)) {
    if (entry.is_directory(none) && has_plugin(entry.path())) {
      install.versions.push_back(entry.path().filename());
    }
  }
  std::sort(install.versions.begin(), install.versions.end());
  if (has_plugin(fs::path(base) / ucx_version)) install.module_dir = fs::path(base) / ucx_version;
  read_fault(fs::path(base) / ucx_version / "selftest", &install);
  return install;
}

Install read_prefix(const std::string& prefix, const std::string& ucx_version) {
  if (has_plugin(fs::path(prefix) / "modules")) return read_build_tree(prefix, ucx_version);
  const fs::path libdir = fs::path(VERITY_LIBDIR).lexically_relative(VERITY_BINDIR);
  return read_install((fs::path(prefix) / "bin" / libdir).lexically_normal(), ucx_version);
}

Install find_install(const std::string& ucx_version) {
  const fs::path here = fs::path(own_path()).parent_path();
  if (has_plugin(here / "modules")) return read_build_tree(here, ucx_version);
  // VERITY_LIBDIR and VERITY_BINDIR are absolute; their difference survives a move of the tree.
  const fs::path moved =
      (here / fs::path(VERITY_LIBDIR).lexically_relative(VERITY_BINDIR)).lexically_normal();
  std::error_code none;
  return read_install(fs::is_directory(moved, none) ? moved : fs::path(VERITY_LIBDIR), ucx_version);
}

}  // namespace verity::tools
