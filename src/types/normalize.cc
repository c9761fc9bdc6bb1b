// SPDX-License-Identifier: BSD-3-Clause
//
// `verity-types normalize`: the least-cost description of a layout.
#include <cinttypes>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>

#include "normalize/calls.h"
#include "normalize/canonical.h"
#include "normalize/optimal.h"
#include "types/commands.h"
#include "types/layout.h"
#include "types/measure.h"

namespace verity::types {

namespace {

using normalize::CostModel;
using normalize::TypePath;

struct Options {
  std::string layout;
  std::string file;
  std::string element = "MPI_INT";
  std::string model = "storage";
  std::vector<uint64_t> constants;
  uint64_t measure = 0;
  bool all = false;
  bool json = false;
};

struct Result {
  Layout given;
  normalize::Canonical canonical;
  TypePath path;
  CostModel model;
};

CostModel cost_model(const Options& options) {
  CostModel model =
      options.model == "processing" ? normalize::kProcessingCost : normalize::kStorageCost;
  if (options.constants.empty()) return model;
  model.contiguous = options.constants[0];
  model.vector = options.constants[1];
  model.indexed = options.constants[2];
  model.index = options.constants[3];
  model.step = options.constants[4];
  return model;
}

std::string read_layout(const Options& options, std::string* text) {
  if (options.file.empty()) {
    *text = options.layout;
    return "";
  }
  std::ifstream file;
  if (options.file != "-") file.open(options.file);
  std::istream& input = options.file == "-" ? std::cin : file;
  text->assign(std::istreambuf_iterator<char>(input), {});
  return input.bad() || (options.file != "-" && !file.is_open()) ? options.file + ": cannot be read"
                                                                 : "";
}

// A list of displacements begins with a number or <; anything else is a datatype.
bool is_list(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first == std::string::npos ||
         std::string_view("0123456789-<").find(text[first]) != std::string_view::npos;
}

std::string normalize_text(const Options& options, Result* result) {
  std::string text;
  if (std::string problem = read_layout(options, &text); !problem.empty()) return problem;
  const auto element = signature::find_basic(options.element);
  if (!element) return "--element: no basic type of MPI is called '" + options.element + "'";
  std::string problem = is_list(text) ? parse_displacements(text, *element, &result->given)
                                      : parse_layout(text, &result->given);
  if (!problem.empty()) return problem;
  const int64_t size = result->given.basic.size;
  problem = normalize::canonical(result->given.path, size, &result->canonical);
  if (!problem.empty()) return problem;
  result->model = cost_model(options);
  result->path = normalize::optimal_path(result->canonical, size, result->model);
  return "";
}

normalize::Element element_of(const Layout& layout) {
  return {.name = signature::name_of(layout.basic.id),
          .size = layout.basic.size,
          .lower_bound = layout.lower_bound,
          .extent = layout.extent};
}

// "2 + 1 a copy"
std::string constants(uint64_t node, uint64_t copy) {
  return std::to_string(node) + (copy == 0 ? "" : " + " + std::to_string(copy) + " a copy");
}

void print_text(const Result& result, std::size_t most) {
  const normalize::Element element = element_of(result.given);
  const CostModel& model = result.model;
  const auto print_path = [&](const char* name, const TypePath& path) {
    std::printf("%-11s %s\n%11s cost %" PRIu64 "\n", name, to_string(path, most).c_str(), "",
                cost(path, model));
  };
  std::printf("layout      %" PRIu64 " x %s, lower bound %" PRId64 ", extent %" PRId64
              " bytes; displacements in bytes\n",
              result.canonical.elements, std::string(element.name).c_str(), element.lower_bound,
              element.extent);
  std::printf("cost        of %s: con %" PRIu64 ", vec %s, idx %s%s\n",
              model.processing ? "processing" : "storage", model.contiguous,
              constants(model.vector, model.step).c_str(),
              constants(model.indexed, model.index).c_str(),
              model.processing ? ", at each visit" : "");
  print_path("given", result.given.path);
  print_path("normalized", result.path);
  std::printf("\n%s\n%s", draw(result.path, element, most).c_str(),
              mpi_calls(result.path, element, most).c_str());
}

nlohmann::ordered_json path_json(const TypePath& path) {
  nlohmann::ordered_json nodes = nlohmann::ordered_json::array();
  for (const normalize::Node& node : path) {
    nlohmann::ordered_json json;
    json["kind"] = node.kind == normalize::Kind::kContiguous ? "con"
                   : node.kind == normalize::Kind::kVector   ? "vec"
                                                             : "idx";
    json["count"] = node.count;
    if (node.kind == normalize::Kind::kVector) json["stride"] = node.stride;
    if (node.kind == normalize::Kind::kIndexed) json["displacements"] = node.indices;
    nodes.push_back(std::move(json));
  }
  return nodes;
}

void print_json(const Result& result) {
  const normalize::Element element = element_of(result.given);
  nlohmann::ordered_json json;
  json["schema"] = 1;
  json["element"] = element.name;
  json["elements"] = result.canonical.elements;
  json["lower_bound"] = element.lower_bound;
  json["extent"] = element.extent;
  json["given"] = {{"path", path_json(result.given.path)},
                   {"cost", cost(result.given.path, result.model)}};
  json["normalized"] = {{"path", path_json(result.path)},
                        {"cost", cost(result.path, result.model)}};
  json["calls"] = mpi_calls(result.path, element, SIZE_MAX);
  std::printf("%s\n", json.dump(2).c_str());
}

int run(const Options& options) {
  if (options.measure != 0) {
    measure_normalization(options.measure, options.json);
    return kExitOk;
  }
  Result result;
  if (const std::string problem = normalize_text(options, &result); !problem.empty()) {
    std::fprintf(stderr, "verity-types normalize: %s\n", problem.c_str());
    return kExitError;
  }
  options.json ? print_json(result) : print_text(result, options.all ? SIZE_MAX : 32);
  return kExitOk;
}

}  // namespace

void add_normalize_command(CLI::App& app, int* exit_code) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "normalize", "The least-cost description of a layout, and the MPI calls that build it");
  CLI::Option* layout = command->add_option(
      "LAYOUT", options->layout,
      "Displacements, '0 1 2 7 8 9', or a datatype, 'vector(3, 2, 7, MPI_INT)'");
  command->add_option("--file", options->file, "Read it from a file (-: standard input)")
      ->excludes(layout);
  command
      ->add_option("--element", options->element, "Type of the elements of a list of displacements")
      ->capture_default_str();
  command->add_option("--cost", options->model, "What is minimized")
      ->check(CLI::IsMember({"storage", "processing"}))
      ->capture_default_str();
  command
      ->add_option(
          "--constants", options->constants,
          "Costs of contiguous, vector, indexed-block, each copy of an idx, each copy of a vec")
      ->expected(5)
      ->delimiter(',')
      ->check(CLI::Range(uint64_t{0}, normalize::kMaxCostConstant));
  command
      ->add_option("--measure", options->measure,
                   "Print how long layouts of up to so many displacements take, and how that grows")
      ->check(CLI::Range(uint64_t{20'000}, kMaxMeasured))
      ->excludes(layout);
  command->add_flag("--all", options->all,
                    "Print all displacements of an idx instead of the first 32");
  command->add_flag("--json", options->json, "Print JSON");
  command->callback([=] {
    if (options->layout.empty() && options->file.empty() && options->measure == 0)
      throw CLI::RequiredError("LAYOUT, --file or --measure");
    *exit_code = run(*options);
  });
}

}  // namespace verity::types
