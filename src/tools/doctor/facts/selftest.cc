// SPDX-License-Identifier: BSD-3-Clause
#include "tools/doctor/facts/selftest.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "tools/doctor/facts/shell_facts.h"
#include "tools/env/environment.h"
#include "tools/env/transports.h"
#include "tools/health/collected.h"
#include "tools/subprocess.h"
#include "tools/temporary_folder.h"

namespace verity::tools {

namespace {

namespace fs = std::filesystem;

constexpr const char* kTopic = "selftest";
constexpr std::size_t kBytes = 65536;
constexpr int kSeconds = 60;

// UCX looks for modules in one folder.
void link_modules(const Facts& facts, bool with_plugin, const std::string& folder) {
  fs::create_directory(folder);
  if (with_plugin)
    fs::create_symlink(facts.install.module_dir + "/libuct_verity.so",
                       folder + "/libuct_verity" + facts.ucx.suffix);
  fs::create_symlink(facts.install.fault, folder + "/libuct_fault" + facts.ucx.suffix);
}

// As the plugin has it in this shell, from variables, ucx.conf and the site's files; where it does
// not work there, the variable, unless that is why. nullptr: the default.
const std::string* mode_of(const Facts& facts) {
  constexpr const char* kMode = "UCX_VERITY_MODE";
  const std::string* mode = find_value(facts.shell.probe.ucx.settings, kMode);
  if (mode != nullptr) return mode;
  const bool bad = std::any_of(facts.shell.bad_values.begin(), facts.shell.bad_values.end(),
                               [](const BadValue& value) { return value.name == kMode; });
  return bad ? nullptr : find_value(facts.shell.set, kMode);
}

// Makes it check and repair again, whatever ucx.conf says.
constexpr const char* kModeRemedy = "export UCX_VERITY_MODE=verify";

// The variables of `env`, with this folder of modules; the first frame of at least 4 KiB gets one
// bit flipped, behind UCX's own header, so that stock UCX delivers it. One message in frames, not
// read by its receiver.
std::vector<Variable> environment_of(const Facts& facts, const std::string& tls,
                                     const std::string& folder) {
  std::vector<Variable> variables = facts.wanted;
  const auto set = [&](const char* name, const std::string& value) {
    variables.push_back({name, value});
  };
  set(plugin_variable(parse_version(facts.ucx.version)), folder + "/modules");
  // UCX 1.18 and 1.23 wait without end in one process of fifty or so, with a recent glibc, while
  // they install this cache's memory hooks.
  set("UCX_RCACHE_ENABLE", "n");
  const bool own_names = locks_own_names(facts.shell.settings);
  set("UCX_TLS", own_names ? without_wrappers(tls) : tls);
  set("UCX_NET_DEVICES", "all");
  set("UCX_VERITY_TRANSPARENT", own_names ? "y" : "n");
  set("UCX_VERITY_EXTRA_MODULES", "fault");
  set("UCX_RNDV_THRESH", "inf");
  set("UCX_VERITY_HEALTH", "y");
  set("UCX_VERITY_HEALTH_DIR", folder + "/health");
  set("UCX_FAULT_FRAMES", "1");
  set("UCX_FAULT_MIN_LEN", "4k");
  set("UCX_FAULT_KINDS", "flip");
  set("UCX_FAULT_PLACE", "payload");
  set("UCX_FAULT_HEADER_SIZE", "128");
  set("UCX_FAULT_REPORT", folder + "/damage");
  if (const std::string* mode = mode_of(facts)) set("UCX_VERITY_MODE", *mode);
  return variables;
}

// What the two processes say, what the corrupting transport did and what the plugin counted.
struct Outcome {
  std::string error;
  std::uint64_t wrong = 0;
  std::uint64_t damaged = 0;
  std::uint64_t found = 0;
  std::uint64_t repaired = 0;
  bool marked = false;  // the faults are marked as injected
};

std::uint64_t damaged_by(const std::string& report) {
  std::uint64_t damaged = 0;
  std::ifstream file(report);
  for (std::string line; std::getline(file, line);) {
    const auto json = nlohmann::json::parse(line, nullptr, false);
    if (!json.is_discarded()) damaged += json.value("faults", std::uint64_t{0});
  }
  return damaged;
}

void count(const std::string& folder, Outcome* outcome) {
  for (const FoundProcess& process : find_processes({{folder}, true}).processes) {
    const health::Counters& counters = process.view.counters;
    outcome->found += health::summary_of(counters).faults;
    // A frame of one segment may be requested as a whole.
    outcome->repaired += health::summary_of(counters).repaired;
    for (const auto& path : process.view.paths)
      outcome->marked |= path.injected && health::summary_of(path.counters).faults > 0;
  }
  // On a busy machine frames that are only late are retransmitted, too.
  outcome->repaired = std::min(outcome->repaired, outcome->found);
}

Outcome try_transport(const Facts& facts, const std::string& tls) {
  const TemporaryFolder folder("selftest");
  link_modules(facts, tls.starts_with('v'), folder / "modules");
  fs::create_directory(folder / "health");
  Outcome outcome;
  const ProcessResult child = run_process(
      {own_path(), "probe", "--exchange", std::to_string(kBytes)},
      probe_environment(environment_of(facts, tls, folder.path())), ucx_variables(), kSeconds);
  const auto json = nlohmann::json::parse(child.out, nullptr, false);
  if (child.status != 0 || json.is_discarded()) {
    outcome.error = "the processes ended with status " + std::to_string(child.status);
    return outcome;
  }
  outcome.error = json.value("error", std::string());
  outcome.wrong = json.value("wrong", std::uint64_t{0});
  outcome.damaged = damaged_by(folder / "damage");
  count(folder / "health", &outcome);
  return outcome;
}

std::string numbers(const Outcome& with, const Outcome& without) {
  return std::to_string(with.damaged) + " frame of a message of " + std::to_string(kBytes) +
         " bytes between two processes damaged, " + std::to_string(with.found) + " found, " +
         std::to_string(with.repaired) +
         " repaired; wrong bytes delivered: " + std::to_string(with.wrong) +
         " (without the plugin: " + std::to_string(without.wrong) + ")";
}

Finding finding_of(const std::string& lower, const Outcome& with, const Outcome& without) {
  if (!with.error.empty() || !without.error.empty()) {
    return {Grade::kBroken, kTopic,
            lower + ": " + (with.error.empty() ? without.error : with.error),
            "see 'ucx-verity doctor --help'"};
  }
  const std::string text = lower + ": " + numbers(with, without);
  const bool damage = with.damaged == 1 && without.damaged == 1 && without.wrong > 0;
  if (!damage)
    return {Grade::kBroken, kTopic, text + ": the corrupting transport did not damage one frame",
            "", Effect::kIgnored};
  if (with.found == 1 && with.repaired >= 1 && with.wrong == 0) {
    return {Grade::kOk, kTopic, text + (with.marked ? "; counted as injected" : ""), ""};
  }
  if (with.found == 1)
    return {Grade::kWarning, kTopic, text + ": found and delivered all the same", kModeRemedy};
  return {Grade::kBroken, kTopic, text + ": nothing was found",
          std::string(kModeRemedy) + ", or install ucx-verity again"};
}

// One transport of shared memory and one of the network, as far as the corrupting one stands for
// them by the same name.
std::vector<std::string> transports_of(const Facts& facts) {
  std::vector<std::string> names;
  const auto there = wrappers(facts.probe.ucx.devices);
  const auto has = [&](const char* name) {
    return std::find(there.begin(), there.end(), wrapper_of(name)) != there.end();
  };
  if (has("posix"))
    names.emplace_back("posix");
  else if (has("sysv"))
    names.emplace_back("sysv");
  if (has("tcp")) names.emplace_back("tcp");
  return names;
}

}  // namespace

Findings run_selftest(const Facts& facts) {
  const auto transports = transports_of(facts);
  if (transports.empty())
    return {{Grade::kBroken, kTopic, "no wrapped posix, sysv or tcp to test with",
             "see the lines above"}};
  if (facts.install.fault.empty()) {
    return {
        {Grade::kWarning, kTopic,
         "the corrupting transport, selftest/libuct_fault.so, is not installed beside the plugin",
         "install ucx-verity again", Effect::kIgnored}};
  }
  Findings findings;
  try {
    for (const std::string& lower : transports) {
      findings.push_back(
          finding_of(lower, try_transport(facts, "vf" + lower), try_transport(facts, "f" + lower)));
    }
  } catch (const std::exception& error) {
    findings.push_back({Grade::kBroken, kTopic, error.what(), "", Effect::kIgnored});
  }
  return findings;
}

}  // namespace verity::tools
