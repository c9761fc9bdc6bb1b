// SPDX-License-Identifier: BSD-3-Clause
//
// `verity-types sig of EXPRESSION`: the signature of a type.
#include <cinttypes>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "signature/describe.h"
#include "types/commands.h"
#include "types/expression.h"
#include "util/text.h"

namespace verity::types {

namespace {

using signature::Level;
using signature::Signature;
using signature::Type;
using util::format;

std::string hash_text(const Type& type, Level level) {
  return format("%016" PRIx64, type.signature(1, level).hash);
}

void print_json(const Type& type) {
  nlohmann::ordered_json json;
  json["schema"] = 1;
  json["type"] = signature::describe(type, 1);
  json["elements"] = type.count();
  json["bytes"] = type.bytes();
  json["hash_layout"] = hash_text(type, Level::kLayout);
  json["hash_names"] = hash_text(type, Level::kNames);
  std::printf("%s\n", json.dump(2).c_str());
}

void print_text(const Type& type) {
  std::printf("type      %s\n", signature::describe(type, 1).c_str());
  std::printf("elements  %" PRIu64 ", %" PRIu64 " bytes of data\n", type.count(), type.bytes());
  std::printf("hash      %s  by class and size\n", hash_text(type, Level::kLayout).c_str());
  std::printf("          %s  by name\n", hash_text(type, Level::kNames).c_str());
}

int run(const std::string& expression, bool as_json) {
  Type type;
  std::string error = parse_type(expression, &type);
  if (error.empty() &&
      (type.count() == signature::kTooMany || type.bytes() == signature::kTooMany)) {
    error = "more elements or bytes than 64 bits count";
  }
  if (!error.empty()) {
    std::fprintf(stderr, "verity-types sig of: %s\n", error.c_str());
    return kExitError;
  }
  as_json ? print_json(type) : print_text(type);
  return kExitOk;
}

}  // namespace

void add_of_command(CLI::App& sig, int* exit_code) {
  struct Options {
    std::string expression;
    bool json = false;
  };
  auto options = std::make_shared<Options>();
  CLI::App* command = sig.add_subcommand("of", "The signature of a type");
  command->add_option("EXPRESSION", options->expression, "As in '100 x {int, 3 x double}'")
      ->required();
  command->add_flag("--json", options->json, "Print JSON");
  command->callback([=] { *exit_code = run(options->expression, options->json); });
}

}  // namespace verity::types
