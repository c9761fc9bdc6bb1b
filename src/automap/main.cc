// SPDX-License-Identifier: BSD-3-Clause
//
// verity-types-automap, which `verity-types automap` runs: reads headers, writes the generated
// ones.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "automap/emit/emit.h"
#include "automap/parse/front_end.h"
#include "util/build_config.h"

namespace verity::automap {

namespace {

constexpr const char* kName = "verity-types automap";
constexpr int kExitOk = 0;
constexpr int kExitRefused = 1;
constexpr int kExitError = 2;  // wrong use, headers that do not compile

struct Options {
  Input input;
  Settings settings;
  std::string language;
  std::string pointers = "refuse";
  std::string unions = "refuse";
  std::string output, prefix, directives, depfile;
  bool keep_going = false;
  bool check = false;
};

int fail(const std::string& words) {
  std::fprintf(stderr, "%s: %s\n", kName, words.c_str());
  return kExitError;
}

void add_options(CLI::App& app, Options* options) {
  app.set_version_flag("--version", std::string(PACKAGE_VERSION) + ", " + front_end_version());
  app.add_option("HEADER", options->input.headers, "Header, as #include would name it")->required();
  app.add_option("--output", options->output,
                 "Write STEM.h and STEM_mpi.h (default: the first header's name and _automap)");
  app.add_option("--prefix", options->prefix,
                 "Prefix of generated names (default: the first header's name)");
  app.add_option("--only", options->settings.only, "Map this struct and what it needs (repeatable)")
      ->take_all()
      ->expected(1);
  app.add_option("--directives", options->directives,
                 "File of directives for headers that cannot be edited");
  app.add_option("--pointers", options->pointers, "What becomes of pointers without a directive")
      ->check(CLI::IsMember({"refuse", "ignore"}));
  app.add_option("--unions", options->unions, "What becomes of unions without a directive")
      ->check(CLI::IsMember({"refuse", "bytes"}));
  app.add_option("--language", options->language, "Language of the headers (default: C for .h)")
      ->check(CLI::IsMember({"c", "c++"}));
  app.add_option("--depfile", options->depfile,
                 "Write a make rule with the headers that the output depends on");
  app.add_flag("--keep-going", options->keep_going,
               "Write what can be mapped even if something is refused");
  app.add_flag("--check", options->check, "Print how each struct is mapped; write nothing");
  app.footer("Arguments after -- are the compiler's: -I, -D, -std=.");
}

std::string stem_of(const std::string& header) {
  return std::filesystem::path(header).stem().string();
}

bool is_cxx(const Options& options) {
  if (!options.language.empty()) return options.language == "c++";
  const std::string extension =
      std::filesystem::path(options.input.headers.front()).extension().string();
  return extension != ".h" && extension != ".c";
}

std::string identifier_of(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
  return text;
}

std::string add_outside(const std::string& name, Model* model) {
  if (name.empty()) return "";
  std::ifstream file(name);
  if (!file) return name + ": cannot be read";
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  std::vector<OutsideDirective> all;
  std::string problem = parse_directive_file(name, text, &all);
  return problem.empty() ? apply_outside(all, model) : problem;
}

// "shapes.h" within the generated shapes.h would be the generated one.
bool hides_header(const Options& options) {
  const std::string name = std::filesystem::path(options.output + ".h").filename().string();
  return std::ranges::any_of(options.input.headers, [&](const std::string& header) {
    return std::filesystem::path(header).filename().string() == name;
  });
}

bool write_file(const std::string& name, const std::string& text) {
  std::ofstream file(name, std::ios::trunc);
  file << text;
  file.close();
  return !file.fail();
}

// As gcc -MD -MP writes it: a header that vanishes is no error of make.
std::string dependencies(const std::string& target, const Model& model) {
  std::string rule = target + ":", rest;
  for (const std::string& file : model.files) {
    rule += " \\\n  " + file;
    rest += file + ":\n";
  }
  return rule + "\n" + rest;
}

unsigned print_refusals(const Model& model, const Plan& plan) {
  unsigned refused = 0;
  for (RecordId id = 0; id < model.records.size(); ++id) {
    const Mapping& mapping = plan.of(id);
    if (!mapping.considered || mapping.mapped) continue;
    // One that is empty was only looked at as a member.
    if (mapping.empty && !model.records[id].requested) continue;
    ++refused;
    for (const Refusal& refusal : mapping.refusals) {
      std::fprintf(stderr, "%s: %s\n", to_string(refusal.place).c_str(), refusal.words.c_str());
    }
  }
  return refused;
}

void print_check(const Model& model, const Plan& plan) {
  for (RecordId id = 0; id < model.records.size(); ++id) {
    const Mapping& mapping = plan.of(id);
    if (!mapping.considered) continue;
    const Record& record = model.records[id];
    std::printf("%-8s %s (%s)\n", mapping.mapped ? "mapped" : "refused", record.words.c_str(),
                to_string(record.place).c_str());
  }
}

int write_output(const Options& options, const Output& output) {
  const std::string header = options.output + ".h", mpi_header = options.output + "_mpi.h";
  if (!write_file(header, emit_header(output))) return fail(header + ": cannot be written");
  if (!write_file(mpi_header, emit_mpi_header(output)))
    return fail(mpi_header + ": cannot be written");
  if (!options.depfile.empty() &&
      !write_file(options.depfile, dependencies(header + " " + mpi_header, output.model))) {
    return fail(options.depfile + ": cannot be written");
  }
  return kExitOk;
}

int run(Options& options) {
  options.input.cxx = is_cxx(options);
  options.settings.ignore_pointers = options.pointers == "ignore";
  options.settings.unions_as_bytes = options.unions == "bytes";
  if (options.output.empty()) options.output = stem_of(options.input.headers.front()) + "_automap";
  if (options.prefix.empty())
    options.prefix = identifier_of(stem_of(options.input.headers.front()));
  if (hides_header(options))
    return fail("--output: " + options.output +
                ".h would hide the header of that name, which it includes");
  Model model;
  const std::string problems = read_headers(options.input, &model);
  if (!problems.empty()) {
    std::fputs(problems.c_str(), stderr);
    return kExitError;
  }
  if (const std::string problem = add_outside(options.directives, &model); !problem.empty())
    return fail(problem);
  if (const std::string name = unknown_record(model, options.settings); !name.empty())
    return fail("--only: the headers define no struct '" + name + "'");
  const Plan plan = make_plan(model, options.settings);
  const unsigned refused = print_refusals(model, plan);
  if (options.check) print_check(model, plan);
  std::printf("%zu mapped, %u refused\n", plan.order.size(), refused);
  const int verdict = refused == 0 || options.keep_going ? kExitOk : kExitRefused;
  if (options.check || verdict != kExitOk) return verdict;
  if (plan.order.empty()) return fail("the headers define no struct that is mapped");
  const Output output{.model = model,
                      .plan = plan,
                      .types = types_of(plan),
                      .prefix = options.prefix,
                      .stem = std::filesystem::path(options.output).filename().string(),
                      .generator = std::string(kName) + " " + PACKAGE_VERSION};
  return write_output(options, output);
}

// Takes what stands behind -- away.
std::vector<std::string> split_arguments(int* argc, char** argv) {
  char** const end = argv + *argc;
  char** const dashes = std::find_if(
      argv, end, [](const char* argument) { return std::string_view(argument) == "--"; });
  if (dashes == end) return {};
  *argc = static_cast<int>(dashes - argv);
  return {dashes + 1, end};
}

}  // namespace

}  // namespace verity::automap

int main(int argc, char** argv) {
  using namespace verity::automap;
  Options options;
  CLI::App app(
      "Write MPI datatypes, signatures and traversal functions for the structs of C and C++ "
      "headers",
      kName);
  add_options(app, &options);
  try {
    options.input.arguments = split_arguments(&argc, argv);
    app.parse(argc, argv);
    return run(options);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kExitOk : kExitError;
  } catch (const std::exception& error) { return fail(error.what()); }
}
