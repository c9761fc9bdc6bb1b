// SPDX-License-Identifier: BSD-3-Clause
#include <clang-c/Index.h>

#include <memory>

#include "automap/parse/clang_reader.h"
#include "automap/parse/front_end.h"

namespace verity::automap {

namespace {

struct DisposeIndex {
  void operator()(void* index) const { clang_disposeIndex(index); }
};
struct DisposeUnit {
  void operator()(CXTranslationUnit unit) const { clang_disposeTranslationUnit(unit); }
};
using Unit = std::unique_ptr<CXTranslationUnitImpl, DisposeUnit>;

// A file that exists only in memory, beside where the command runs.
std::string main_name(const Input& input) {
  return input.cxx ? "verity-types-automap.cc" : "verity-types-automap.c";
}

std::string main_text(const Input& input) {
  std::string text;
  for (const std::string& header : input.headers) text += "#include \"" + header + "\"\n";
  return text;
}

// Errors of the compiler, in its own words; those of the file in memory (a header that is not
// found) without a place.
std::string errors_of(CXTranslationUnit unit, const std::string& main) {
  std::string lines;
  for (unsigned i = 0; i < clang_getNumDiagnostics(unit); ++i) {
    const CXDiagnostic diagnostic = clang_getDiagnostic(unit, i);
    if (clang_getDiagnosticSeverity(diagnostic) >= CXDiagnostic_Error) {
      const Position position = position_of(clang_getDiagnosticLocation(diagnostic));
      const std::string file = name_of(position.file);
      lines +=
          (file.empty() || file == main ? "" : file + ":" + std::to_string(position.line) + ": ") +
          take_text(clang_getDiagnosticSpelling(diagnostic)) + "\n";
    }
    clang_disposeDiagnostic(diagnostic);
  }
  return lines;
}

struct Inclusions {
  std::vector<CXFile> requested;   // by the file in memory itself
  std::vector<std::string> names;  // all but that file
};

Inclusions inclusions_of(CXTranslationUnit unit) {
  Inclusions all;
  clang_getInclusions(
      unit,
      [](CXFile file, CXSourceLocation*, unsigned depth, CXClientData data) {
        auto* inclusions = static_cast<Inclusions*>(data);
        if (depth == 1) inclusions->requested.push_back(file);
        if (depth >= 1) inclusions->names.push_back(name_of(file));
      },
      &all);
  return all;
}

}  // namespace

std::string read_headers(const Input& input, Model* model_p) {
  const std::unique_ptr<void, DisposeIndex> index(clang_createIndex(0, 0));
  const std::string name = main_name(input), text = main_text(input);
  CXUnsavedFile file{.Filename = name.c_str(), .Contents = text.c_str(), .Length = text.size()};
  std::vector<const char*> arguments = {"-x", input.cxx ? "c++" : "c",
                                        input.cxx ? "-std=gnu++17" : "-std=gnu11",
                                        "-D__VERITY_AUTOMAP__"};
  for (const std::string& argument : input.arguments) arguments.push_back(argument.c_str());
  CXTranslationUnit parsed = nullptr;
  const unsigned options =
      CXTranslationUnit_SkipFunctionBodies | CXTranslationUnit_DetailedPreprocessingRecord;
  const CXErrorCode code =
      clang_parseTranslationUnit2(index.get(), name.c_str(), arguments.data(),
                                  static_cast<int>(arguments.size()), &file, 1, options, &parsed);
  const Unit unit(parsed);
  if (code != CXError_Success)
    return "libclang cannot parse with these arguments (error " + std::to_string(code) + ")\n";
  if (std::string errors = errors_of(unit.get(), name); !errors.empty()) return errors;
  Inclusions inclusions = inclusions_of(unit.get());
  Model model{.cxx = input.cxx,
              .headers = input.headers,
              .files = std::move(inclusions.names),
              .records = {}};
  Reader reader(unit.get(), std::move(inclusions.requested), &model);
  reader.read_unit(clang_getTranslationUnitCursor(unit.get()));
  std::string unused = reader.unused_directives();
  if (unused.empty()) *model_p = std::move(model);
  return unused;
}

std::string front_end_version() { return take_text(clang_getClangVersion()); }

}  // namespace verity::automap
