// SPDX-License-Identifier: BSD-3-Clause
//
// The comments of a file that are directives, and what they belong to: a comment that begins its
// line to the declaration behind it, any other to the declarations before it on its line.
#ifndef VERITY_AUTOMAP_PARSE_CLANG_COMMENTS_H
#define VERITY_AUTOMAP_PARSE_CLANG_COMMENTS_H

#include <map>
#include <vector>

#include "automap/parse/clang_text.h"
#include "automap/plan/directive.h"

namespace verity::automap {

// Where a declaration begins and ends in its file.
struct Extent {
  Position begin, end;
};
[[nodiscard]] Extent extent_of(CXCursor cursor);

class Comments {
 public:
  explicit Comments(CXTranslationUnit unit) : unit_(unit) {}

  // Of a member; `members` are all of its record.
  [[nodiscard]] std::vector<DirectiveText> of_member(const Extent& member,
                                                     const std::vector<Extent>& members);
  // Of a record; those that already belong to a member are the member's.
  [[nodiscard]] std::vector<DirectiveText> of_record(const Extent& record);
  // Directives in a file that of_member() and of_record() returned to none.
  [[nodiscard]] std::vector<DirectiveText> unused(CXFile file);

 private:
  struct Comment {
    DirectiveText directive;
    unsigned line, offset;  // where it begins
    unsigned next;          // offset of the declaration behind it
    unsigned brace;         // offset of the last } before it; 0: there is none
    bool leads = false;     // it is the first on its line
    bool used = false;
  };
  using Comments_ = std::vector<Comment>;

  Comments_& of_file(CXFile file);
  Comments_ read_file(CXFile file);
  [[nodiscard]] bool skipped(CXFile file, unsigned offset) const;

  CXTranslationUnit unit_;
  std::map<CXFile, Comments_> files_;
};

}  // namespace verity::automap

#endif
