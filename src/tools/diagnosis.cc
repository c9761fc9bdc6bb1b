// SPDX-License-Identifier: BSD-3-Clause
#include "tools/diagnosis.h"

#include <algorithm>

#include "health/bypass.h"
#include "tools/transports.h"

namespace verity::tools {

namespace {

using Findings = std::vector<Finding>;

constexpr const char* kSetUp = "eval \"$(ucx-verity env)\", or load the module";

const std::string* find(const std::vector<Variable>& variables, std::string_view name) {
  for (const Variable& variable : variables) {
    if (variable.name == name) return &variable.value;
  }
  return nullptr;
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

void judge_ucx(const Facts& facts, Findings* findings) {
  Finding finding{Grade::kOk, "UCX", facts.ucx.version + ", " + facts.ucx.library, ""};
  if (facts.ucx.version != facts.built_for) {
    finding.text += "; this command was built for " + facts.built_for;
    if (facts.install.module_dir.empty()) {
      finding.grade = Grade::kBroken;
      finding.advice = "build ucx-verity against UCX " + facts.ucx.version +
                       "; several versions may be installed side by side";
    }
  }
  findings->push_back(finding);
}

void judge_plugin(const Facts& facts, Findings* findings) {
  Finding finding{Grade::kBroken, "plugin", "", ""};
  if (facts.install.module_dir.empty()) {
    finding.text = "none for UCX " + facts.ucx.version + " in " + facts.install.base;
    if (!facts.install.versions.empty()) {
      finding.text += "; there are: " + join(facts.install.versions, ", ");
    }
    finding.advice = "build and install ucx-verity against this UCX";
  } else if (!facts.plugin.exists) {
    finding.text = facts.plugin.file + " is missing: UCX looks for modules that end in '" +
                   facts.ucx.suffix + "'";
    finding.advice = "install ucx-verity again, or link it to libuct_verity.so";
  } else if (!facts.plugin.error.empty()) {
    finding.text = "cannot be loaded: " + facts.plugin.error;
    finding.advice =
        "UCX says nothing about this: it skips the module. Mend what the message names";
  } else {
    finding = {Grade::kOk, "plugin", facts.plugin.file, ""};
  }
  findings->push_back(finding);
}

void judge_loader(const Facts& facts, Findings* findings) {
  const auto wrapped = wrappers(facts.probe.devices);
  Finding finding{Grade::kOk, "loader", "UCX loads the plugin in the environment of 'env'", ""};
  if (needs_preload(parse_version(facts.ucx.version)) && facts.install.preload.empty()) {
    finding = {Grade::kBroken, "loader", "no libverity_preload.so in " + facts.install.base,
               "install ucx-verity again"};
  } else if (!facts.probe.ran) {
    finding = {Grade::kBroken, "loader", "a child process with the plugin failed", ""};
  } else if (wrapped.empty()) {
    finding = {Grade::kBroken, "loader", "UCX offers no wrapped transport with the plugin", ""};
  }
  // The plugin's own words, or UCX's, say most.
  const bool broken = finding.grade == Grade::kBroken;
  if (!facts.probe.messages.empty() && broken) {
    finding.text += ": " + first_line(facts.probe.messages);
  } else if (broken && finding.advice.empty()) {
    finding.advice = "see UCX's reasons: UCX_MODULE_LOG_LEVEL=error ucx_info -d";
  }
  findings->push_back(finding);
}

std::string devices_of(const std::string& transport, const std::vector<Device>& devices) {
  std::vector<std::string> names;
  for (const Device& device : devices) {
    if (device.transport == transport) names.push_back(device.device);
  }
  return transport + " (" + join(names, ", ") + ")";
}

void judge_transports(const Facts& facts, Findings* findings) {
  const auto& devices = facts.probe.ran ? facts.probe.devices : facts.ucx.devices;
  const auto wrapped = wrappers(devices);
  std::vector<std::string> texts;
  for (const std::string& name : wrapped) texts.push_back(devices_of(name, devices));
  if (!texts.empty()) findings->push_back({Grade::kOk, "wrapped", join(texts, ", "), ""});
  for (const std::string& name : lower_transports(devices)) {
    if (std::find(wrapped.begin(), wrapped.end(), wrapper_of(name)) != wrapped.end()) continue;
    std::string why = not_wrappable_because(name);
    const Grade grade = why.empty() ? Grade::kWarning : Grade::kOk;
    if (why.empty()) why = "the plugin made no wrapper";
    findings->push_back({grade, "not wrapped", name + ": " + why, ""});
  }
}

// Lists may hold more than `env` would put there, in another order.
bool is_as_wanted(const Variable& wanted, const std::string& now, const Install& install) {
  if (wanted.name == "LD_PRELOAD") return now.find(install.preload) != std::string::npos;
  if (wanted.name == "UCX_PLUGIN_PATH") return now.find(install.module_dir) != std::string::npos;
  return wanted.name == "UCX_TLS" || now == wanted.value;
}

// Each variable that `env` would set: as it is, or what is wrong.
void judge_environment(const Facts& facts, Findings* findings) {
  std::vector<std::string> unset;
  for (const Variable& wanted : facts.wanted) {
    const std::string* now = find(facts.current, wanted.name);
    if (now == nullptr || now->empty()) {
      unset.push_back(wanted.name);
    } else if (is_as_wanted(wanted, *now, facts.install)) {
      continue;
    } else if (wanted.name == "OMPI_MCA_osc" && *now == "ucx") {
      findings->push_back({Grade::kWarning, "environment",
                           "OMPI_MCA_osc=ucx ends programs that call MPI_Win_allocate_shared", kSetUp});
    } else {
      findings->push_back({Grade::kWarning, "environment",
                           wanted.name + " is " + *now + ", not " + wanted.value, kSetUp});
    }
  }
  if (!unset.empty()) {
    findings->push_back({Grade::kWarning, "environment", "not set: " + join(unset, ", "), kSetUp});
  }
}

// Wrappers that UCX_TLS names and this machine does not have.
void judge_named_wrappers(const Facts& facts, const std::string& tls, Findings* findings) {
  const auto there = wrappers(facts.probe.devices);
  for (const std::string& entry : split_commas(tls)) {
    const std::string name = entry.substr(0, entry.find(':'));
    if (!name.starts_with('v') || std::find(there.begin(), there.end(), name) != there.end()) {
      continue;
    }
    findings->push_back({Grade::kWarning, "environment",
                         "UCX_TLS names " + name + ", which does not exist on this machine",
                         "there are: " + join(there, ", ")});
  }
}

void judge_lanes(const Facts& facts, Findings* findings) {
  const std::string* tls = find(facts.current, "UCX_TLS");
  const auto raw =
      health::raw_lanes(tls == nullptr ? "" : *tls, lower_transports(facts.ucx.devices));
  if (!raw.empty()) {
    findings->push_back({Grade::kWarning, "unverified",
                         std::string(tls == nullptr ? "without UCX_TLS" : "with this UCX_TLS") +
                             " UCX may use " + join(raw, ", "),
                         "name wrappers alone: UCX_TLS=" +
                             select_default(lower_transports(facts.ucx.devices)).ucx_tls});
  } else if (tls != nullptr) {
    findings->push_back({Grade::kOk, "environment", "UCX_TLS=" + *tls + ": wrappers alone", ""});
  }
  if (tls != nullptr && facts.probe.ran) judge_named_wrappers(facts, *tls, findings);
  const std::string* mode = find(facts.current, "UCX_VERITY_MODE");
  if (mode != nullptr && *mode != "verify") {
    findings->push_back({Grade::kWarning, "unverified", "UCX_VERITY_MODE=" + *mode,
                         "unset it, or set it to verify"});
  }
}

constexpr const char* kThisUcx = ", on this UCX";

void judge_mpi_library(const std::string& topic, const std::string& library, const Facts& facts,
                       Findings* findings) {
  if (library.empty() || library == facts.ucx.library) return;
  findings->push_back({Grade::kWarning, topic, "it uses another UCX: " + library,
                       "run 'ucx-verity doctor' with that UCX in LD_LIBRARY_PATH"});
}

// What carries the windows, and what stock Open MPI's osc/ucx gets wrong on stock UCX too.
void judge_osc_ucx(const OpenMpi& mpi, Findings* findings) {
  findings->push_back({Grade::kOk, "Open MPI",
                       "windows: osc/ucx, verified; those of MPI_Win_allocate_shared are plain shared memory: nothing to verify", ""});
  if (parse_version(mpi.version).major > 4) return;
  findings->push_back({Grade::kOk, "Open MPI",
                       "errors of this osc/ucx, with and without the plugin: MPI_Fetch_and_op on 8- and 16-bit types does nothing; "
                       "MPI_Accumulate and MPI_Get_accumulate on several elements of a pair type (MPI_DOUBLE_INT) write past its "
                       "buffer; dynamic windows with several attached regions may not find them",
                       "such programs need osc/rdma, which is not verified: OMPI_MCA_osc=rdma"});
}

void judge_open_mpi(const Facts& facts, Findings* findings) {
  if (!facts.open_mpi) return;
  const OpenMpi& mpi = *facts.open_mpi;
  Finding finding{Grade::kOk, "Open MPI", mpi.version, ""};
  if (!mpi.pml_ucx) {
    finding = {Grade::kWarning, "Open MPI", mpi.version + " has no UCX: it cannot use the plugin",
               "use an Open MPI that was configured --with-ucx"};
  } else {
    finding.text += mpi.osc_ucx ? ", with pml/ucx and osc/ucx" : ", with pml/ucx";
    if (mpi.ucx_library == facts.ucx.library) finding.text += kThisUcx;
  }
  findings->push_back(finding);
  if (mpi.pml_ucx && !mpi.osc_ucx) {
    findings->push_back({Grade::kWarning, "Open MPI", "no osc/ucx: MPI windows cannot be used",
                         "other one-sided components are not verified"});
  }
  if (mpi.pml_ucx && mpi.osc_ucx) judge_osc_ucx(mpi, findings);
  judge_mpi_library("Open MPI", mpi.ucx_library, facts, findings);
  const auto collective = [&](bool there, const std::string& name) {
    const std::string variable = "OMPI_MCA_coll_" + name + "_enable";
    const std::string* now = find(facts.current, variable);
    if (!there || (now != nullptr && *now == "0")) return;
    findings->push_back({Grade::kWarning, "unverified",
                         "coll/" + name + " may carry collectives past UCX",
                         "export " + variable + "=0"});
  };
  collective(mpi.hcoll, "hcoll");
  collective(mpi.ucc, "ucc");
}

void judge_mpich(const Facts& facts, Findings* findings) {
  if (!facts.mpich) return;
  const Mpich& mpi = *facts.mpich;
  std::string what = mpi.version + ", " + mpi.device;
  if (mpi.device.find("ucx") == std::string::npos) {
    findings->push_back({Grade::kWarning, "MPICH", what + ": it cannot use the plugin",
                         "use an MPICH that was configured --with-device=ch4:ucx"});
    return;
  }
  if (mpi.ucx_library == facts.ucx.library) what += kThisUcx;
  findings->push_back({Grade::kOk, "MPICH", what, ""});
  judge_mpi_library("MPICH", mpi.ucx_library, facts, findings);
  const std::string* nolocal = find(facts.current, "MPIR_CVAR_NOLOCAL");
  if (mpi.direct_auto && (nolocal == nullptr || *nolocal != "1")) {
    findings->push_back({Grade::kWarning, "unverified",
                         "this MPICH moves data within a node past UCX",
                         "export MPIR_CVAR_NOLOCAL=1"});
  }
}

// Words of `text` into lines of at most `width`; a longer word has a line of its own.
std::vector<std::string> wrap(const std::string& text, std::size_t width) {
  std::vector<std::string> lines;
  std::string line;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, end - at);
    if (!line.empty() && line.size() + 1 + word.size() > width) {
      lines.push_back(line);
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
    at = end + 1;
  }
  if (!line.empty()) lines.push_back(line);
  return lines;
}

constexpr std::size_t kTerminal = 80;
constexpr std::size_t kIndent = 22;

// `line` in the column of the texts; one long word (a path, a list to copy) starts further left, as
// breaking it would spoil it.
std::string in_column(const std::string& line) {
  const std::size_t room = kTerminal - std::min(line.size(), kTerminal);
  return std::string(std::clamp<std::size_t>(room, 2, kIndent), ' ') + line + "\n";
}

std::string render_one(const Finding& finding) {
  constexpr std::size_t kWidth = kTerminal - kIndent;
  std::string head = finding.grade == Grade::kOk        ? "  ok    "
                     : finding.grade == Grade::kWarning ? "  warn  "
                                                        : "  BROKEN";
  head += "  " + finding.topic;
  std::string text;
  for (const std::string& line : wrap(finding.text, kWidth)) text += in_column(line);
  if (!text.starts_with(std::string(kIndent, ' '))) {
    head += "\n";
  } else {
    head.resize(kIndent, ' ');
    text.erase(0, kIndent);
  }
  std::string arrow = "-> ";
  for (const std::string& line : wrap(finding.advice, kWidth - arrow.size())) {
    text += in_column(arrow + line);
    arrow = "   ";
  }
  return head + text;
}

}  // namespace

std::vector<Finding> diagnose(const Facts& facts) {
  Findings findings;
  judge_ucx(facts, &findings);
  judge_plugin(facts, &findings);
  judge_loader(facts, &findings);
  judge_transports(facts, &findings);
  judge_environment(facts, &findings);
  judge_lanes(facts, &findings);
  judge_open_mpi(facts, &findings);
  judge_mpich(facts, &findings);
  if (!facts.open_mpi && !facts.mpich) {
    findings.push_back({Grade::kOk, "MPI", "neither ompi_info nor mpichversion in PATH", ""});
  }
  return findings;
}

Grade worst(const Findings& findings) {
  Grade grade = Grade::kOk;
  for (const Finding& finding : findings) grade = std::max(grade, finding.grade);
  return grade;
}

const char* grade_name(Grade grade) {
  switch (grade) {
    case Grade::kOk:
      return "ok";
    case Grade::kWarning:
      return "warning";
    case Grade::kBroken:
      return "broken";
  }
  return "";
}

std::string render_findings(const Findings& findings) {
  std::string text;
  for (const Finding& finding : findings) text += render_one(finding);
  switch (worst(findings)) {
    case Grade::kOk:
      return text + "ok\n";
    case Grade::kWarning:
      return text + "works, with the warnings above\n";
    case Grade::kBroken:
      return text + "BROKEN: jobs would not be verified\n";
  }
  return text;
}

}  // namespace verity::tools
