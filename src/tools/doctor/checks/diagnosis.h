// SPDX-License-Identifier: BSD-3-Clause
//
// What `doctor` concludes: facts in, findings out, without reading the machine itself.
#ifndef VERITY_TOOLS_DOCTOR_CHECKS_DIAGNOSIS_H
#define VERITY_TOOLS_DOCTOR_CHECKS_DIAGNOSIS_H

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/doctor/checks/findings.h"
#include "tools/doctor/checks/host.h"
#include "tools/env/environment.h"
#include "tools/env/install.h"
#include "tools/env/site.h"
#include "tools/ucx_query.h"

namespace verity::tools {

// A shared object that a child process tried to load.
struct LoadAttempt {
  std::string file;
  bool exists = false;
  std::string error;     // the dynamic linker's words; empty when it loaded
  std::string digest{};  // of the file's bytes
};

// UCX as a child process sees it, with the environment of `env` or of this shell.
struct ProbeResult {
  bool ran = false;
  UcxInfo ucx;
  ContextLanes context;  // where one was opened
  std::string messages;  // what it wrote on stderr: the plugin's own refusal, for one
};

struct OpenMpi {
  std::string version;
  bool pml_ucx = false;
  bool osc_ucx = false;
  bool hcoll = false;       // there, and not disabled
  bool ucc = false;         // the same
  std::string ucx_library;  // the libucp that its pml uses; empty when unknown
  std::string pml;          // its choice of messaging layers in this shell; empty when none is set
  std::string pml_source;   // "environment", "file (...)" or "default"
  std::string tls{};  // the transports that its UCX components accept, by variable or file; empty
                      // when unknown
};

struct Mpich {
  std::string version;
  std::string device;        // ch4:ucx
  bool direct_auto = false;  // built to move data within a node by itself
  std::string ucx_library;   // the libucp that it uses; empty when unknown
};

// A value that its reader refuses.
struct BadValue {
  std::string name;
  std::string value;
  std::string allowed;  // what may stand there, or the refusal's own words
  bool fatal = true;    // the plugin refuses to work; false: another value is used
};

struct BadFolder {
  std::string name;   // of the variable; empty: the folder that is used without one
  std::string value;  // of it, or that folder
  std::string problem;
  std::string absent;  // the folder, where it does not exist
};

// This shell, as a job started from it would see it.
struct ShellFacts {
  std::vector<Variable> set;            // its variables that concern UCX, MPI and the plugin
  std::vector<Variable> set_by_file{};  // UCX_TLS and UCX_NET_DEVICES where UCX's ucx.conf has them
  bool preload_exists = false;          // the file of libverity_preload that LD_PRELOAD names
  bool module_dir_fits =
      false;  // UCX_MODULE_DIR (UCX_PLUGIN_PATH) has a plugin of the name that UCX looks for
  // With a context. Wrapped transports have a v in front also where `transparent`.
  ProbeResult probe;
  bool transparent = false;                  // UCX_VERITY_TRANSPARENT
  std::vector<std::string> policy_errors{};  // of the site's files
  std::vector<Setting> settings{};           // the plugin's that are not at their defaults
  std::vector<BadValue> bad_values;
  std::vector<BadFolder> bad_folders;
};

struct Facts {
  UcxInfo ucx;            // without the plugin
  std::string built_for;  // UCX version of this command and its plugin
  Install install;
  LoadAttempt plugin;
  ProbeResult probe;  // with the environment of `env`
  std::optional<OpenMpi> open_mpi;
  std::optional<Mpich> mpich;
  std::vector<Variable> wanted;  // what `env` prints
  ShellFacts shell;
  HostFacts host{};
};

// All of them: this installation and machine, the MPI libraries, this shell.
[[nodiscard]] Findings diagnose(const Facts& facts);

// Whether this shell requests verification at all.
[[nodiscard]] bool is_active(const Facts& facts);

// Whether osc/ucx carries Open MPI's windows, except shared ones, in this shell.
[[nodiscard]] bool verifies_windows(const Facts& facts);

// What happens to its jobs where UCX offers no wrapped transport.
[[nodiscard]] Effect effect_of_no_plugin(const Facts& facts);

// Adds what is wrong with this shell, or that nothing is.
void diagnose_shell(const Facts& facts, Findings* findings);

// Adds what this host, and the programs that were named, say.
void diagnose_host(const Facts& facts, Findings* findings);

// `advice` about an installation that is missing, with what to do in a container.
[[nodiscard]] std::string in_container(const Facts& facts, const std::string& advice);

// The value of the variable; nullptr when it is not set.
[[nodiscard]] const std::string* find_value(const std::vector<Variable>& variables,
                                            std::string_view name);
// The same for jobs of this shell: the variable's, or else ucx.conf's.
[[nodiscard]] const std::string* value_for_jobs(const ShellFacts& shell, std::string_view name);

}  // namespace verity::tools

#endif
