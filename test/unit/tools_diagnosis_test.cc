// SPDX-License-Identifier: BSD-3-Clause
#include "tools/diagnosis.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

namespace verity::tools {
namespace {

// A machine and a shell where all is well.
Facts healthy() {
  Facts facts;
  facts.ucx = {
      .version = "1.13.1",
      .library = "/usr/lib/libucp.so.0",
      .suffix = ".so.0",
      .devices = {{"self", "memory0", "self"}, {"tcp", "lo", "tcp"}, {"cuda_ipc", "memory", "cuda"}}};
  facts.built_for = "1.13.1";
  facts.install = {.preload = "/opt/v/libverity_preload.so",
                   .companions = {},
                   .module_dir = "/opt/v/1.13.1",
                   .versions = {"1.13.1"},
                   .base = "/opt/v"};
  facts.plugin = {.file = "/opt/v/1.13.1/libuct_verity.so.0", .exists = true, .error = ""};
  facts.probe.ran = true;
  facts.probe.devices = facts.ucx.devices;
  facts.probe.devices.push_back({"vself", "memory0", "verity"});
  facts.probe.devices.push_back({"vtcp", "lo", "verity"});
  facts.open_mpi = OpenMpi{.version = "4.1.4",
                           .pml_ucx = true,
                           .osc_ucx = true,
                           .hcoll = false,
                           .ucc = false,
                           .ucx_library = "/usr/lib/libucp.so.0"};
  facts.wanted = {{"LD_PRELOAD", "/opt/v/libverity_preload.so"},
                  {"UCX_MODULE_DIR", "/opt/v/1.13.1"},
                  {"UCX_TLS", "vtcp,vself"},
                  {"OMPI_MCA_pml", "ucx"},
                  {"OMPI_MCA_osc", "ucx"}};
  facts.current = facts.wanted;
  return facts;
}

void set(Facts* facts, const std::string& name, const std::string& value) {
  for (Variable& variable : facts->current) {
    if (variable.name == name) {
      variable.value = value;
      return;
    }
  }
  facts->current.push_back({name, value});
}

// A finding of this grade whose text or advice holds `words`.
bool has(const Facts& facts, Grade grade, const std::string& words) {
  const auto findings = diagnose(facts);
  return std::any_of(findings.begin(), findings.end(), [&](const Finding& finding) {
    return finding.grade == grade &&
           (finding.text + finding.advice).find(words) != std::string::npos;
  });
}

TEST(ToolsDiagnosis, Healthy) {
  EXPECT_EQ(worst(diagnose(healthy())), Grade::kOk);
  EXPECT_TRUE(has(healthy(), Grade::kOk, "vtcp (lo)"));
  EXPECT_TRUE(has(healthy(), Grade::kOk, "cuda_ipc: it has no active messages"));
}

TEST(ToolsDiagnosis, NoPluginForThisUcx) {
  Facts facts = healthy();
  facts.ucx.version = "1.18.1";
  facts.install.module_dir = "";
  facts.probe = {};
  EXPECT_EQ(worst(diagnose(facts)), Grade::kBroken);
  EXPECT_TRUE(has(facts, Grade::kBroken, "there are: 1.13.1"));
  EXPECT_TRUE(has(facts, Grade::kBroken, "build ucx-verity against UCX 1.18.1"));
}

TEST(ToolsDiagnosis, PluginUnderAnotherName) {
  Facts facts = healthy();
  facts.plugin.exists = false;
  EXPECT_TRUE(has(facts, Grade::kBroken, "UCX looks for modules that end in '.so.0'"));
}

TEST(ToolsDiagnosis, PluginThatDoesNotLoad) {
  Facts facts = healthy();
  facts.plugin.error = "undefined symbol: foo";
  EXPECT_TRUE(has(facts, Grade::kBroken, "undefined symbol: foo"));
}

TEST(ToolsDiagnosis, PluginThatRefuses) {
  Facts facts = healthy();
  facts.probe.devices = facts.ucx.devices;
  facts.probe.messages = "ucx-verity: built for UCX 1.13.1 but ...\nmore";
  EXPECT_TRUE(
      has(facts, Grade::kBroken, "no wrapped transport with the plugin: ucx-verity: built"));
}

TEST(ToolsDiagnosis, PreloadMissing) {
  Facts facts = healthy();
  facts.install.preload = "";
  EXPECT_TRUE(has(facts, Grade::kBroken, "no libverity_preload.so in /opt/v"));
  facts.ucx.version = facts.built_for = "1.22.0";  // which needs none
  EXPECT_FALSE(has(facts, Grade::kBroken, "libverity_preload"));
}

TEST(ToolsDiagnosis, NothingSet) {
  Facts facts = healthy();
  facts.current.clear();
  EXPECT_TRUE(has(facts, Grade::kWarning, "not set: LD_PRELOAD, UCX_MODULE_DIR"));
  EXPECT_TRUE(has(facts, Grade::kWarning, "UCX may use self, tcp, cuda_ipc"));
}

TEST(ToolsDiagnosis, OtherPreloadsMayComeFirst) {
  Facts facts = healthy();
  set(&facts, "LD_PRELOAD", "libdarshan.so:/opt/v/libverity_preload.so");
  EXPECT_EQ(worst(diagnose(facts)), Grade::kOk);
  set(&facts, "LD_PRELOAD", "libdarshan.so");
  EXPECT_TRUE(has(facts, Grade::kWarning, "LD_PRELOAD is libdarshan.so"));
}

TEST(ToolsDiagnosis, WrongSettings) {
  Facts facts = healthy();
  set(&facts, "OMPI_MCA_pml", "ob1");
  EXPECT_TRUE(has(facts, Grade::kWarning, "OMPI_MCA_pml is ob1, not ucx"));
  set(&facts, "UCX_TLS", "vtcp,tcp");
  EXPECT_TRUE(has(facts, Grade::kWarning, "with this UCX_TLS UCX may use tcp"));
  set(&facts, "UCX_TLS", "vtcp,vrc_verbs");
  EXPECT_TRUE(has(facts, Grade::kWarning, "names vrc_verbs, which does not exist"));
  set(&facts, "UCX_VERITY_MODE", "observe");
  EXPECT_TRUE(has(facts, Grade::kWarning, "UCX_VERITY_MODE=observe"));
}

TEST(ToolsDiagnosis, MpiLibraries) {
  Facts facts = healthy();
  facts.open_mpi->pml_ucx = false;
  EXPECT_TRUE(has(facts, Grade::kWarning, "has no UCX"));
  facts = healthy();
  facts.open_mpi->ucx_library = "/opt/ucx/lib/libucp.so.0";
  EXPECT_TRUE(has(facts, Grade::kWarning, "another UCX: /opt/ucx"));
  facts = healthy();
  facts.open_mpi->hcoll = true;
  EXPECT_TRUE(has(facts, Grade::kWarning, "export OMPI_MCA_coll_hcoll_enable=0"));
  set(&facts, "OMPI_MCA_coll_hcoll_enable", "0");
  EXPECT_EQ(worst(diagnose(facts)), Grade::kOk);
  EXPECT_TRUE(has(facts, Grade::kOk, "4.1.4, with pml/ucx and osc/ucx, on this UCX"));
  EXPECT_TRUE(has(facts, Grade::kOk, "errors of this osc/ucx"));
  facts.open_mpi->version = "5.0.7";
  EXPECT_FALSE(has(facts, Grade::kOk, "errors of this osc/ucx"));
  set(&facts, "OMPI_MCA_osc", "ucx");
  facts.wanted = {{"OMPI_MCA_osc", "ucx,sm"}};
  EXPECT_TRUE(has(facts, Grade::kWarning, "ends programs that call MPI_Win_allocate_shared"));
  facts = healthy();
  facts.mpich = Mpich{.version = "4.0.2", .device = "ch4:ofi", .direct_auto = false, .ucx_library = ""};
  EXPECT_TRUE(has(facts, Grade::kWarning, "ch4:ofi: it cannot use the plugin"));
  facts.mpich = Mpich{.version = "4.2", .device = "ch4:ucx", .direct_auto = true, .ucx_library = ""};
  EXPECT_TRUE(has(facts, Grade::kWarning, "export MPIR_CVAR_NOLOCAL=1"));
  facts.mpich->ucx_library = "/opt/ucx/lib/libucp.so.0";
  EXPECT_TRUE(has(facts, Grade::kWarning, "another UCX: /opt/ucx"));
  facts.mpich->ucx_library = facts.ucx.library;
  EXPECT_TRUE(has(facts, Grade::kOk, "4.2, ch4:ucx, on this UCX"));
}

TEST(ToolsDiagnosis, FitsATerminal) {
  Facts facts = healthy();
  facts.current.clear();
  facts.plugin.error =
      "some words of the linker that go on and on, longer than a line of a terminal "
      "would ever be, and then some more";
  std::istringstream text(render_findings(diagnose(facts)));
  for (std::string line; std::getline(text, line);) EXPECT_LE(line.size(), 80U) << line;
}

TEST(ToolsDiagnosis, LongWordsStartFurtherLeft) {
  const auto plugin_of = [](std::size_t length) {
    const std::string path = "/" + std::string(length - 1, 'p');
    const std::string text = render_findings({{Grade::kOk, "plugin", path, "see " + path}});
    return text.substr(0, text.rfind("ok\n"));
  };
  const std::string indent(22, ' ');
  std::string path = "/" + std::string(54, 'p');  // fits the column
  EXPECT_EQ(plugin_of(55), "  ok      plugin      " + path + "\n" + indent + "-> see\n" + indent +
                               "   " + path + "\n");
  path = "/" + std::string(69, 'p');  // fits a line
  EXPECT_EQ(plugin_of(70), "  ok      plugin\n" + std::string(10, ' ') + path + "\n" + indent +
                               "-> see\n          " + path + "\n");
  path = "/" + std::string(99, 'p');  // fits nowhere: it has a line of its own
  EXPECT_EQ(plugin_of(100),
            "  ok      plugin\n  " + path + "\n" + indent + "-> see\n     " + path + "\n");
}

}  // namespace
}  // namespace verity::tools
