// SPDX-License-Identifier: BSD-3-Clause
#include "tools/doctor/facts/shell_facts.h"

#include <strings.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "health/files/folder.h"
#include "health/files/segment.h"
#include "policy/policy_file.h"
#include "tools/doctor/checks/shell_settings.h"
#include "tools/doctor/checks/variable_names.h"
#include "tools/env/transports.h"
#include "tools/subprocess.h"

namespace verity::tools {

namespace {

using Variables = std::vector<Variable>;
using Names = std::vector<std::string>;

// A probe leaves nothing behind and is part of no job, but says what its first process would: no
// health file, no attestation, no warning about variables that UCX does not know.
const Variables kWithoutTrace = {{"UCX_VERITY_HEALTH", "n"},
                                 {"UCX_VERITY_ATTEST", "never"},
                                 {"UCX_VERITY_ATTEST_FILE", ""},
                                 {"UCX_VERITY_FAULT_LOG", ""},
                                 {"UCX_WARN_UNUSED_ENV_VARS", "n"},
                                 {"UCX_LOG_LEVEL", "warn"},
                                 {"UCX_LOG_FILE", ""},
                                 {"PMIX_RANK", "0"}};

Variables environment_with(std::initializer_list<std::string_view> prefixes) {
  Variables variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = std::min(text.find('='), text.size());
    const std::string_view name = text.substr(0, equals);
    const bool wanted = std::any_of(prefixes.begin(), prefixes.end(), [&](std::string_view prefix) {
      return name.starts_with(prefix);
    });
    if (wanted)
      variables.push_back(
          {std::string(name), std::string(text.substr(std::min(equals + 1, text.size())))});
  }
  std::sort(variables.begin(), variables.end(),
            [](const Variable& a, const Variable& b) { return a.name < b.name; });
  return variables;
}

std::string file_of_folders(const std::string& folders, const std::string& name) {
  std::istringstream stream(folders);
  for (std::string folder; std::getline(stream, folder, ':');) {
    if (access((folder + "/" + name).c_str(), R_OK) == 0) return folder + "/" + name;
  }
  return {};
}

// The plugin that UCX finds by this shell's variables; empty: none.
std::string plugin_of_shell(const Facts& facts, const Variables& set) {
  const std::string* value = find_value(set, plugin_variable(parse_version(facts.ucx.version)));
  return value == nullptr ? "" : file_of_folders(*value, "libuct_verity" + facts.ucx.suffix);
}

bool preload_exists(const Variables& set) {
  const std::string* value = find_value(set, "LD_PRELOAD");
  if (value == nullptr) return false;
  const std::string entry = preload_entry(*value);
  // A bare name is found by the dynamic linker's own search.
  return !entry.empty() &&
         (entry.find('/') == std::string::npos || access(entry.c_str(), R_OK) == 0);
}

// What the refusal says may stand there: the plugin's words, or those of UCX's parser.
std::string allowed_by(const std::string& messages) {
  for (const std::string_view mark : {"allowed: ", "Expected: "}) {
    const std::size_t at = messages.find(mark);
    if (at == std::string::npos) continue;
    const std::string rest = messages.substr(at + mark.size());
    return rest.substr(0, rest.find('\n'));
  }
  return "see 'ucx_info -cf'";
}

// Values that the library for datatypes reads itself; it uses the default in place of others.
const char* type_check_words(const std::string& name) {
  if (name == "UCX_VERITY_TYPECHECK") return "off, warn, error";
  if (name == "UCX_VERITY_TYPECHECK_LEVEL") return "layout, names";
  return nullptr;
}

bool is_one_of(const std::string& value, const std::string& words) {
  std::istringstream stream(words);
  for (std::string word; stream >> word;) {
    if (word.ends_with(',')) word.pop_back();
    if (strcasecmp(word.c_str(), value.c_str()) == 0) return true;
  }
  return value.empty();
}

// The plugin's words about these values, where it refuses them; nothing where it works with them.
std::optional<std::string> refusal_of(const Facts& facts, const Variables& values) {
  Variables environment = facts.wanted;
  environment.insert(environment.end(), values.begin(), values.end());
  const ProbeResult probe = probe_ucx(environment, ucx_variables(), false);
  if (!wrappers(probe.ucx.devices).empty()) return std::nullopt;
  return probe.messages;
}

// The variable that the plugin's line "ucx-verity: NAME: bad value; ..." names.
std::string named_in(const std::string& messages) {
  const std::size_t at = messages.find("UCX_VERITY_");
  return at == std::string::npos ? "UCX_VERITY" : messages.substr(at, messages.find(':', at) - at);
}

// Each by itself, where they do not fit together: those that are wrong alone are to blame.
void find_refused(const Facts& facts, const Variables& values, std::vector<BadValue>* found) {
  if (values.empty()) return;
  const auto all = refusal_of(facts, values);
  if (!all) return;
  const std::size_t before = found->size();
  for (const Variable& variable : values) {
    if (const auto refusal = refusal_of(facts, {variable}))
      found->push_back({variable.name, variable.value, allowed_by(*refusal), true});
  }
  if (found->size() > before) return;
  const std::string name = named_in(*all);
  const std::string* value = find_value(values, name);
  found->push_back({name, value == nullptr ? "" : *value, allowed_by(*all), true});
}

// The plugin alone knows its values, and so they are tried on it.
std::vector<BadValue> bad_values(const Facts& facts, const Variables& set) {
  std::vector<BadValue> found;
  if (!facts.probe.ran || wrappers(facts.probe.ucx.devices).empty()) return found;
  Variables values;
  for (const Variable& variable : set) {
    if (!is_variable_name(variable.name)) continue;
    if (const char* words = type_check_words(variable.name)) {
      if (!is_one_of(variable.value, words))
        found.push_back({variable.name, variable.value, words, false});
      continue;
    }
    values.push_back(variable);
  }
  find_refused(facts, values, &found);
  return found;
}

// Of a file that processes are to write. Where its name has signs that stand for something, the
// folder is not known here.
std::string folder_of(const std::string& file) {
  const std::size_t slash = file.rfind('/');
  const std::string folder =
      slash == std::string::npos ? "." : file.substr(0, std::max<std::size_t>(slash, 1));
  return folder.find('%') == std::string::npos ? folder : "";
}

std::vector<BadFolder> bad_folders(const Variables& set) {
  std::vector<BadFolder> found;
  for (const char* name : {"UCX_VERITY_HEALTH_DIR", "UCX_VERITY_ATTEST_FILE",
                           "UCX_VERITY_FAULT_LOG", "UCX_VERITY_TYPECHECK_LOG"}) {
    const std::string* value = find_value(set, name);
    if (value == nullptr || value->empty()) continue;
    const bool is_folder = std::string_view(name).ends_with("_DIR");
    const std::string folder = is_folder ? *value : folder_of(*value);
    if (folder.empty()) continue;
    if (access(folder.c_str(), F_OK) != 0) {
      found.push_back({name, *value,
                       (is_folder ? "the folder" : "the folder " + folder) + " does not exist",
                       folder});
    } else if (is_folder) {
      const std::string problem = health::folder_problem(folder);
      if (!problem.empty()) found.push_back({name, *value, problem, ""});
    }
  }
  return found;
}

// Of jobs whose health files go where no variable or file says.
std::vector<BadFolder> bad_default_folder(const ShellFacts& shell) {
  const auto said = [&](const char* name) {
    const std::string* plugin = find_value(shell.probe.ucx.settings, name);
    return plugin != nullptr ? *plugin : value_in_force(shell.settings, name);
  };
  const std::string* enabled = find_value(shell.set, "UCX_VERITY_HEALTH");
  if (!said("UCX_VERITY_HEALTH_DIR").empty() || (enabled != nullptr && !is_yes(*enabled)))
    return {};
  const std::string folder = health::default_directory(geteuid());
  const std::string existing = access(folder.c_str(), F_OK) == 0 ? folder : "/dev/shm";
  const std::string problem = health::folder_problem(existing);
  if (problem.empty()) return {};
  return {{"", existing, problem, ""}};
}

// Of UCX's own names it cannot be seen who has them: the component says it.
void name_wrappers(ProbeResult* result) {
  Names wrapped;
  std::vector<Device>& devices = result->ucx.devices;
  for (std::size_t i = 0, end = devices.size(); i < end; ++i) {
    if (devices[i].component != "verity" || devices[i].transport.starts_with('v')) continue;
    Device wrapper = devices[i];
    wrapped.push_back(wrapper.transport);
    wrapper.transport = wrapper_of(wrapper.transport);
    devices.push_back(wrapper);
  }
  for (Lane& lane : result->context.lanes) {
    if (std::find(wrapped.begin(), wrapped.end(), lane.transport) != wrapped.end())
      lane.transport = wrapper_of(lane.transport);
  }
}

Variables variables_of(const nlohmann::json& object) {
  Variables variables;
  for (const auto& [name, value] : object.items()) variables.push_back({name, value});
  return variables;
}

void read_json(const nlohmann::json& json, bool with_context, ProbeResult* result) {
  result->ucx.version = json["ucx"];
  result->ucx.library = json["library"];
  result->ucx.suffix = json["suffix"];
  for (const auto& device : json["devices"])
    result->ucx.devices.push_back({device[0], device[1], device[2], device[3]});
  result->ucx.settings = variables_of(json["settings"]);
  if (with_context) {
    result->context.error = json["error"];
    result->context.settings = variables_of(json["context"]);
    for (const auto& lane : json["lanes"])
      result->context.lanes.push_back({lane[0], lane[1], lane[2]});
  }
  name_wrappers(result);
}

}  // namespace

Names ucx_variables() {
  Names names;
  for (const Variable& variable : environment_with({"UCX_"})) names.push_back(variable.name);
  return names;
}

Variables probe_environment(const Variables& set) {
  Variables environment = kWithoutTrace;
  // What is under test goes last, and so counts.
  environment.insert(environment.end(), set.begin(), set.end());
  return environment;
}

ProbeResult probe_ucx(const Variables& set, const Names& unset, bool with_context) {
  Names command = {own_path(), "probe"};
  if (with_context) command.push_back("--context");
  const ProcessResult child = run_process(command, probe_environment(set), unset, kProbeSeconds);
  ProbeResult result;
  result.messages = child.err;
  const auto json = nlohmann::json::parse(child.out, nullptr, false);
  if (child.status != 0 || json.is_discarded()) return result;
  read_json(json, with_context, &result);
  result.ran = true;
  return result;
}

namespace {

// Of the plugin that this shell's jobs load, or of this installation.
std::string module_folder(const Facts& facts, const Variables& set) {
  const std::string plugin = plugin_of_shell(facts, set);
  return plugin.empty() ? facts.install.module_dir : plugin.substr(0, plugin.rfind('/'));
}

// Those of UCX's own that this shell does not set, and that are not at their default: of ucx.conf.
Variables set_by_file(const Variables& in_force, const Variables& set) {
  Variables found;
  for (const Variable& variable : in_force) {
    if (find_value(set, variable.name) == nullptr && variable.value != "all")
      found.push_back(variable);
  }
  return found;
}

}  // namespace

ShellFacts gather_shell(const Facts& facts) {
  ShellFacts shell;
  shell.set = environment_with({"LD_PRELOAD", "UCX", "OMPI_MCA_", "MPIR_CVAR_"});
  shell.preload_exists = preload_exists(shell.set);
  shell.module_dir_fits = !plugin_of_shell(facts, shell.set).empty();
  shell.probe = probe_ucx({}, {}, true);
  policy::Policy policy = policy::read_site(module_folder(facts, shell.set));
  drop_refused_files(shell.probe.messages, &policy);
  shell.policy_errors = policy.errors;
  shell.settings = settings_in_force(policy, shell.set);
  shell.set_by_file = set_by_file(shell.probe.context.settings, shell.set);
  const std::string* transparent = find_value(shell.probe.ucx.settings, "UCX_VERITY_TRANSPARENT");
  shell.transparent =
      is_yes(transparent != nullptr ? *transparent
                                    : value_in_force(shell.settings, "UCX_VERITY_TRANSPARENT"));
  shell.bad_values = bad_values(facts, shell.set);
  shell.bad_folders = bad_folders(shell.set);
  for (BadFolder& bad : bad_default_folder(shell)) shell.bad_folders.push_back(std::move(bad));
  return shell;
}

}  // namespace verity::tools
