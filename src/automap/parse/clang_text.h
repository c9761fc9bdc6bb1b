// SPDX-License-Identifier: BSD-3-Clause
#ifndef VERITY_AUTOMAP_PARSE_CLANG_TEXT_H
#define VERITY_AUTOMAP_PARSE_CLANG_TEXT_H

#include <clang-c/Index.h>

#include <string>

#include "automap/plan/model.h"

namespace verity::automap {

[[nodiscard]] inline std::string take_text(CXString text) {
  const char* const characters = clang_getCString(text);
  std::string result = characters == nullptr ? "" : characters;
  clang_disposeString(text);
  return result;
}

[[nodiscard]] inline std::string name_of(CXCursor cursor) {
  return take_text(clang_getCursorSpelling(cursor));
}
[[nodiscard]] inline std::string words_of(CXType type) {
  return take_text(clang_getTypeSpelling(type));
}

// A position in a file; file is null for one that is in none.
struct Position {
  CXFile file = nullptr;
  unsigned line = 0;
  unsigned offset = 0;
};

[[nodiscard]] inline Position position_of(CXSourceLocation location) {
  Position position;
  clang_getFileLocation(location, &position.file, &position.line, nullptr, &position.offset);
  return position;
}

// As the compiler found it, without "./"; libclang names the folders of another compiler from its
// own, as in /../lib/gcc.
[[nodiscard]] inline std::string name_of(CXFile file) {
  std::string name = file == nullptr ? "" : take_text(clang_getFileName(file));
  if (name.starts_with("/../")) {
    std::string real = take_text(clang_File_tryGetRealPathName(file));
    if (!real.empty()) name = std::move(real);
  }
  return name.starts_with("./") ? name.substr(2) : name;
}

[[nodiscard]] inline Place place_of(CXCursor cursor) {
  const Position position = position_of(clang_getCursorLocation(cursor));
  return {name_of(position.file), position.line};
}

// Calls visit(CXCursor) for each child; it returns what the visit does next.
template <typename Visit>
void visit_children(CXCursor parent, Visit visit) {
  clang_visitChildren(
      parent,
      [](CXCursor cursor, CXCursor, CXClientData data) {
        return (*static_cast<Visit*>(data))(cursor);
      },
      &visit);
}

}  // namespace verity::automap

#endif
