// SPDX-License-Identifier: BSD-3-Clause
#include "tools/doctor/checks/diagnosis.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "healthy_facts.h"
#include "tools/doctor/checks/variable_names.h"

namespace verity::tools {
namespace {

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
  facts.probe.ucx.devices = facts.ucx.devices;
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
  facts.shell = {};
  facts.shell.probe.ucx.devices = facts.ucx.devices;
  const Findings findings = diagnose(facts);
  EXPECT_EQ(worst(findings), Grade::kInactive);
  // One line, and nothing about each variable that is not set.
  EXPECT_EQ(std::count_if(findings.begin(), findings.end(),
                          [](const Finding& f) { return f.grade != Grade::kOk; }),
            1);
  EXPECT_TRUE(verdict(findings).starts_with("not active in this shell")) << verdict(findings);
}

// The one line about the shell, and the verdict.
std::string shell_says(const Facts& facts) {
  std::string text;
  const Findings findings = diagnose(facts);
  for (const Finding& finding : findings) {
    if (finding.grade != Grade::kOk)
      text += std::string(grade_name(finding.grade)) + " " + finding.text + " -> " +
              finding.advice + "\n";
  }
  return text + verdict(findings);
}

void take_plugin_away(Facts* facts) {
  facts->shell.probe.ucx.devices = facts->ucx.devices;
  facts->shell.probe.context = {.error = "No such device", .lanes = {}};
}

TEST(ToolsDiagnosis, Transparent) {
  Facts facts = healthy();
  facts.shell.transparent = true;
  set(&facts, "UCX_VERITY_TRANSPARENT", "y");
  set(&facts, "UCX_TLS", "tcp,posix,self");
  EXPECT_EQ(worst(diagnose(facts)), Grade::kOk) << shell_says(facts);
  EXPECT_TRUE(has(facts, Grade::kOk, "by the names without v"));
  set(&facts, "OMPI_MCA_opal_common_ucx_tls", "tcp");
  facts.open_mpi->tls = "tcp";
  EXPECT_EQ(worst(diagnose(facts)), Grade::kOk) << shell_says(facts);
  facts.open_mpi->tls = "vtcp";
  EXPECT_TRUE(has(facts, Grade::kBroken, "pml/ucx refuses wrapped transports"));
  facts.open_mpi->tls = "any";
  // UCX has transports of the names that wrapped ones would have.
  facts.shell.preload_exists = false;
  take_plugin_away(&facts);
  EXPECT_TRUE(has(facts, Grade::kBroken, "so jobs run unverified")) << shell_says(facts);
}

TEST(ToolsDiagnosis, NoPreload) {
  Facts facts = healthy();
  std::erase_if(facts.shell.set, [](const Variable& v) { return v.name == "LD_PRELOAD"; });
  facts.shell.preload_exists = false;
  take_plugin_away(&facts);
  EXPECT_EQ(shell_says(facts),
            "broken LD_PRELOAD is not set: UCX does not load the plugin, so jobs abort -> export "
            "LD_PRELOAD=/opt/v/libverity_preload.so\n"
            "BROKEN: jobs started from this shell abort");
  set(&facts, "LD_PRELOAD", "libdarshan.so");
  EXPECT_TRUE(has(facts, Grade::kBroken, "LD_PRELOAD has no libverity_preload.so: "));
  set(&facts, "LD_PRELOAD", "libdarshan.so:/gone/libverity_preload.so");
  EXPECT_TRUE(has(facts, Grade::kBroken,
                  "LD_PRELOAD names /gone/libverity_preload.so, which does not exist: "));
  set(&facts, "UCX_TLS", "vtcp,tcp");
  EXPECT_TRUE(has(facts, Grade::kBroken, "so jobs run unverified"));
}

TEST(ToolsDiagnosis, PluginInUcxsOwnFolder) {
  Facts facts = healthy();
  std::erase_if(facts.shell.set, [](const Variable& v) { return v.name == "UCX_MODULE_DIR"; });
  facts.shell.module_dir_fits = false;
  EXPECT_EQ(worst(diagnose(facts)), Grade::kOk);  // as UCX loads it all the same
  take_plugin_away(&facts);
  EXPECT_TRUE(has(facts, Grade::kBroken, "UCX_MODULE_DIR is not set"));
}

TEST(ToolsDiagnosis, PluginRefusesThisShell) {
  Facts facts = healthy();
  take_plugin_away(&facts);
  facts.shell.probe.messages =
      "ERROR: ld.so: nothing\nucx-verity: built for UCX 1.13.1 but this process runs another\n";
  EXPECT_TRUE(
      has(facts, Grade::kBroken,
          "ucx-verity: built for UCX 1.13.1 but this process runs another: UCX does not load"));
}

TEST(ToolsDiagnosis, MessagingLayers) {
  Facts facts = healthy();
  set(&facts, "OMPI_MCA_pml", "ob1");
  facts.open_mpi->pml = "ob1";
  EXPECT_EQ(shell_says(facts),
            "broken OMPI_MCA_pml=ob1: Open MPI sends its messages past UCX, so jobs run unverified "
            "-> export OMPI_MCA_pml=ucx\n"
            "BROKEN: jobs started from this shell run unverified");
  facts.open_mpi->pml = "ucx,ob1";
  EXPECT_TRUE(has(facts, Grade::kWarning, "may choose a layer other than pml/ucx"));
  std::erase_if(facts.shell.set, [](const Variable& v) { return v.name == "OMPI_MCA_pml"; });
  facts.open_mpi->pml = "^ucx";
  facts.open_mpi->pml_source = "file (/etc/openmpi/openmpi-mca-params.conf:69)";
  EXPECT_TRUE(has(facts, Grade::kBroken, "pml=^ucx in /etc/openmpi/openmpi-mca-params.conf:69: "));
  facts.open_mpi->pml = "";
  facts.open_mpi->pml_source = "default";
  EXPECT_TRUE(has(facts, Grade::kWarning, "OMPI_MCA_pml is not set: "));
  facts.open_mpi.reset();
  EXPECT_EQ(worst(diagnose(facts)), Grade::kOk);
  set(&facts, "OMPI_MCA_pml", "ob1");  // for an Open MPI that is not in PATH yet
  EXPECT_TRUE(has(facts, Grade::kBroken, "OMPI_MCA_pml=ob1: Open MPI sends its messages past UCX"));
}

TEST(ToolsDiagnosis, OpenMpisFilter) {
  Facts facts = healthy();
  for (const char* list : {"any", "^rc_verbs", "vtcp,rc_verbs"}) {
    facts.open_mpi->tls = list;
    EXPECT_EQ(worst(diagnose(facts)), Grade::kOk) << list;
  }
  std::erase_if(facts.shell.set,
                [](const Variable& v) { return v.name == "OMPI_MCA_opal_common_ucx_tls"; });
  EXPECT_EQ(worst(diagnose(facts)), Grade::kOk);  // a file of Open MPI's has it
  facts.open_mpi->tls = "rc_verbs,ud_verbs";
  EXPECT_EQ(shell_says(facts),
            "broken OMPI_MCA_opal_common_ucx_tls is not set: pml/ucx refuses wrapped transports, "
            "so jobs of Open MPI abort -> export "
            "OMPI_MCA_opal_common_ucx_tls=any\nBROKEN: some jobs started from this shell abort");
}

TEST(ToolsDiagnosis, Transports) {
  Facts facts = healthy();
  set(&facts, "UCX_TLS", "tcp,self");
  EXPECT_TRUE(has(facts, Grade::kBroken,
                  "UCX_TLS=tcp,self names no wrapped transport, so jobs run unverified"));
  set(&facts, "UCX_TLS", "vtcp,tcp");
  EXPECT_TRUE(has(facts, Grade::kWarning,
                  "UCX_TLS=vtcp,tcp: what tcp carries is not verifiedexport UCX_TLS=vtcp"));
  set(&facts, "UCX_TLS", "vtcp,vrc_verbs");
  EXPECT_TRUE(has(facts, Grade::kWarning, "names vrc_verbs, which does not exist"));
  set(&facts, "UCX_TLS", "vrc_verbs");
  EXPECT_TRUE(has(
      facts, Grade::kBroken,
      "names vrc_verbs, which does not exist on this machine, and nothing else, so jobs abort"));
}

TEST(ToolsDiagnosis, Devices) {
  Facts facts = healthy();
  set(&facts, "UCX_NET_DEVICES", "mlx5_0:1");
  EXPECT_EQ(worst(diagnose(facts)), Grade::kOk);  // as UCX says
  facts.shell.probe.context.lanes = {{"vself", "memory0"}};
  EXPECT_TRUE(
      has(facts, Grade::kBroken,
          "UCX_NET_DEVICES=mlx5_0:1: no wrapped transport has such a device (there are: lo)"));
  set(&facts, "UCX_TLS", "vself");  // which needs none
  EXPECT_EQ(worst(diagnose(facts)), Grade::kOk);
}

TEST(ToolsDiagnosis, Settings) {
  Facts facts = healthy();
  set(&facts, "UCX_VERITY_MODE", "observe");
  EXPECT_TRUE(has(facts, Grade::kWarning, "UCX_VERITY_MODE=observe"));
  set(&facts, "UCX_VERITY_MODE", "Off");
  EXPECT_TRUE(has(facts, Grade::kBroken, "UCX_VERITY_MODE=off: nothing is checked"));
  facts = healthy();
  set(&facts, "UCX_VERITY_TYPECHECK", "error");
  facts.install.interposers = {"/opt/v/libverity_mpi_mpich.so"};
  EXPECT_TRUE(has(facts, Grade::kBroken,
                  "no datatype is comparedeval \"$(ucx-verity env --typecheck error)\""));
  set(&facts, "LD_PRELOAD", "/opt/v/libverity_preload.so:/opt/v/libverity_mpi_mpich.so");
  EXPECT_EQ(worst(diagnose(facts)), Grade::kOk);
  facts.shell.bad_values = {{"UCX_VERITY_WINDOW", "1", "2 to 32768 frames"}};
  facts.shell.bad_folders = {
      {"UCX_VERITY_HEALTH_DIR", "/gone", "the folder does not exist", "/gone"}};
  EXPECT_TRUE(has(facts, Grade::kBroken,
                  "UCX_VERITY_WINDOW=1: bad value, allowed: 2 to 32768 frames; the plugin refuses "
                  "to work, so jobs abort"));
  EXPECT_TRUE(has(facts, Grade::kBroken, "UCX_VERITY_HEALTH_DIR=/gone: the folder does not exist"));
}

TEST(ToolsDiagnosis, MisspeltVariables) {
  EXPECT_EQ(nearest_variable("UCX_VERITY_MDOE"), "UCX_VERITY_MODE");
  EXPECT_EQ(nearest_variable("UCX_VERITY_TYPECHEK"), "UCX_VERITY_TYPECHECK");
  EXPECT_EQ(nearest_variable("UCX_VERITY_HEALTHDIR"), "UCX_VERITY_HEALTH_DIR");
  EXPECT_EQ(nearest_variable("UCX_VERTIY_MODE"), "UCX_VERITY_MODE");
  EXPECT_EQ(nearest_variable("UCX_VERITY_COLOUR"), "");
  EXPECT_TRUE(is_misspelt("UCX_VERITY_COLOUR"));
  for (const std::string& name : variable_names()) EXPECT_FALSE(is_misspelt(name)) << name;
  for (const char* name :
       {"UCX_TLS", "UCX_NET_DEVICES", "UCX_FAULT_RATE", "LD_PRELOAD", "OMPI_MCA_pml"})
    EXPECT_FALSE(is_misspelt(name)) << name;
  Facts facts = healthy();
  set(&facts, "UCX_VERITY_MDOE", "a b");
  EXPECT_TRUE(
      has(facts, Grade::kBroken,
          "did you mean UCX_VERITY_MODE?unset UCX_VERITY_MDOE; export UCX_VERITY_MODE='a b'"));
}

TEST(ToolsDiagnosis, OscSmAboveOscUcx) {
  Facts facts = healthy();
  EXPECT_TRUE(has(facts, Grade::kOk, "windows: osc/ucx, verified"));
  const std::string above = ": osc/sm is above osc/ucx";
  const std::string remedy = "which are not verifiedexport OMPI_MCA_osc_ucx_priority=200";
  for (const char* priority : {"60", "100"}) {
    set(&facts, "OMPI_MCA_osc_ucx_priority", priority);
    EXPECT_TRUE(
        has(facts, Grade::kWarning, std::string("OMPI_MCA_osc_ucx_priority=") + priority + above));
    EXPECT_TRUE(has(facts, Grade::kWarning, remedy));
    EXPECT_FALSE(has(facts, Grade::kOk, "windows: osc/ucx, verified"));
  }
  set(&facts, "OMPI_MCA_osc_ucx_priority", "101");
  EXPECT_TRUE(has(facts, Grade::kOk, "windows: osc/ucx, verified"));
  set(&facts, "OMPI_MCA_osc_sm_priority", "300");
  EXPECT_TRUE(has(facts, Grade::kWarning, "OMPI_MCA_osc_sm_priority=300" + above));
  EXPECT_TRUE(has(facts, Grade::kWarning, "unset OMPI_MCA_osc_sm_priority; export OMPI"));
  set(&facts, "OMPI_MCA_osc_sm_priority", "50");
  EXPECT_TRUE(has(facts, Grade::kOk, "windows: osc/ucx, verified"));
  facts = healthy();
  std::erase_if(facts.shell.set,
                [](const Variable& v) { return v.name == "OMPI_MCA_osc_ucx_priority"; });
  EXPECT_TRUE(has(facts, Grade::kWarning, "OMPI_MCA_osc_ucx_priority is not set" + above));
}

TEST(ToolsDiagnosis, SettingsOfUcxConf) {
  Facts facts = healthy();
  facts.shell.probe.ucx.settings = {{"UCX_VERITY_MODE", "off"}};
  EXPECT_TRUE(has(facts, Grade::kBroken,
                  "UCX_VERITY_MODE=off in ucx.conf: nothing is checked, so jobs run unverified"
                  "export UCX_VERITY_MODE=verify"));
  set(&facts, "UCX_VERITY_MODE", "OFF");
  EXPECT_TRUE(has(facts, Grade::kBroken, "UCX_VERITY_MODE=off: nothing is checked"));
  facts.shell.probe.ucx.settings = {{"UCX_VERITY_MODE", "verify"}};  // whatever else is said
  EXPECT_EQ(worst(diagnose(facts)), Grade::kOk);
  std::erase_if(facts.shell.set, [](const Variable& v) { return v.name == "UCX_TLS"; });
  EXPECT_TRUE(has(facts, Grade::kBroken, "UCX_TLS is not set"));
  facts.shell.set_by_file = {{"UCX_TLS", "vtcp,vself"}};
  EXPECT_EQ(worst(diagnose(facts)), Grade::kOk);
  facts.shell.set_by_file = {{"UCX_TLS", "tcp,self"}};
  EXPECT_TRUE(has(facts, Grade::kBroken, "UCX_TLS=tcp,self in ucx.conf names no wrapped"));
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
  EXPECT_TRUE(has(facts, Grade::kWarning,
                  "OMPI_MCA_osc=ucx: programs that call MPI_Win_allocate_shared end"));
  EXPECT_TRUE(has(facts, Grade::kOk, "windows: osc/ucx, verified"));
  set(&facts, "OMPI_MCA_osc", "rdma");
  EXPECT_FALSE(has(facts, Grade::kOk, "windows: osc/ucx, verified"));
  EXPECT_TRUE(has(facts, Grade::kWarning,
                  "OMPI_MCA_osc=rdma: MPI windows may use components that are not verified"));
  facts = healthy();
  facts.mpich =
      Mpich{.version = "4.0.2", .device = "ch4:ofi", .direct_auto = false, .ucx_library = ""};
  EXPECT_TRUE(has(facts, Grade::kWarning, "ch4:ofi: it cannot use the plugin"));
  facts.mpich =
      Mpich{.version = "4.2", .device = "ch4:ucx", .direct_auto = true, .ucx_library = ""};
  EXPECT_TRUE(has(facts, Grade::kWarning, "export MPIR_CVAR_NOLOCAL=1"));
  facts.mpich->ucx_library = "/opt/ucx/lib/libucp.so.0";
  EXPECT_TRUE(has(facts, Grade::kWarning, "another UCX: /opt/ucx"));
  facts.mpich->ucx_library = facts.ucx.library;
  EXPECT_TRUE(has(facts, Grade::kOk, "4.2, ch4:ucx, on this UCX"));
}

TEST(ToolsDiagnosis, FitsATerminal) {
  Facts facts = healthy();
  facts.open_mpi->version = std::string(
      "4.1.4 and words of its maker that go on and on, longer than a line of a terminal would ever "
      "be");
  std::istringstream text(render_findings(diagnose(facts)));
  for (std::string line; std::getline(text, line);) EXPECT_LE(line.size(), 80U) << line;
}

TEST(ToolsDiagnosis, WhatIsWrongIsOneLine) {
  EXPECT_EQ(render_findings({{Grade::kOk, "UCX", "1.13.1", ""},
                             {Grade::kBroken, "shell", "this is wrong, so jobs abort", "unset THIS",
                              Effect::kAbort}}),
            "  ok      UCX         1.13.1\n  BROKEN  shell       this is wrong, so jobs abort -> "
            "unset THIS\n"
            "BROKEN: jobs started from this shell abort\n");
}

TEST(ToolsDiagnosis, Verdicts) {
  const auto of = [](Grade grade, Effect effect) {
    return verdict({{grade, "shell", "", "", effect}});
  };
  EXPECT_EQ(of(Grade::kBroken, Effect::kUnverified),
            "BROKEN: jobs started from this shell run unverified");
  EXPECT_EQ(of(Grade::kBroken, Effect::kSomeAbort),
            "BROKEN: some jobs started from this shell abort");
  EXPECT_EQ(of(Grade::kBroken, Effect::kIgnored),
            "BROKEN: jobs started from this shell run verified, but without what the settings "
            "above ask for");
  EXPECT_EQ(of(Grade::kWarning, Effect::kUnverified),
            "jobs started from this shell are verified, except for what the warnings above name");
  EXPECT_EQ(of(Grade::kWarning, Effect::kIgnored),
            "jobs started from this shell are verified, with the warnings above");
  EXPECT_EQ(verdict({}), "ok: jobs started from this shell are verified");
}

TEST(ToolsDiagnosis, LongWordsStartFurtherLeft) {
  const auto plugin_of = [](std::size_t length) {
    const std::string path = "/" + std::string(length - 1, 'p');
    const std::string text = render_findings({{Grade::kOk, "plugin", path, "see " + path}});
    return text.substr(0, text.rfind("ok: "));
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
