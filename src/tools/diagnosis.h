// SPDX-License-Identifier: BSD-3-Clause
//
// What `doctor` concludes: facts in, findings out, without looking at anything itself.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/environment.h"
#include "tools/install.h"
#include "tools/ucx_query.h"

namespace verity::tools {

// A shared object that a child process tried to load.
struct LoadAttempt {
  std::string file;
  bool exists = false;
  std::string error;  // the dynamic linker's words; empty when it loaded
};

// UCX with the environment of `env`, seen from a child process.
struct ProbeResult {
  bool ran = false;
  std::vector<Device> devices;
  std::string messages;  // what it wrote on stderr: the plugin's own refusal, for one
};

struct OpenMpi {
  std::string version;
  bool pml_ucx = false;
  bool osc_ucx = false;
  bool hcoll = false;
  bool ucc = false;
  std::string ucx_library;  // the libucp that its pml uses; empty when unknown
};

struct Mpich {
  std::string version;
  std::string device;        // ch4:ucx
  bool direct_auto = false;  // built to move data within a node by itself
  std::string ucx_library;   // the libucp that it uses; empty when unknown
};

struct Facts {
  UcxInfo ucx;
  std::string built_for;  // UCX version of this command and its plugin
  Install install;
  LoadAttempt plugin;
  ProbeResult probe;
  std::optional<OpenMpi> open_mpi;
  std::optional<Mpich> mpich;
  std::vector<Variable> wanted;   // what `env` prints
  std::vector<Variable> current;  // the same names and a few more, as they are set now
};

enum class Grade { kOk, kWarning, kBroken };

struct Finding {
  Grade grade = Grade::kOk;
  std::string topic;   // UCX, plugin, loader, ...
  std::string text;    // what is
  std::string advice;  // what to do, empty when nothing
};

[[nodiscard]] std::vector<Finding> diagnose(const Facts& facts);

// The worst of them.
[[nodiscard]] Grade worst(const std::vector<Finding>& findings);

[[nodiscard]] const char* grade_name(Grade grade);

// For a terminal of 80 columns.
[[nodiscard]] std::string render_findings(const std::vector<Finding>& findings);

}  // namespace verity::tools
