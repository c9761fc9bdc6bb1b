// SPDX-License-Identifier: BSD-3-Clause
#include "automap/parse/clang_comments.h"

#include <algorithm>
#include <string_view>

namespace verity::automap {

namespace {

struct Token {
  CXTokenKind kind;
  std::string text;
  Position begin, end;
};

std::vector<Token> tokens_of(CXTranslationUnit unit, CXFile file, std::size_t size) {
  const CXSourceRange range =
      clang_getRange(clang_getLocationForOffset(unit, file, 0),
                     clang_getLocationForOffset(unit, file, static_cast<unsigned>(size)));
  CXToken* tokens = nullptr;
  unsigned count = 0;
  clang_tokenize(unit, range, &tokens, &count);
  std::vector<Token> all;
  for (unsigned i = 0; i < count; ++i) {
    const CXSourceRange extent = clang_getTokenExtent(unit, tokens[i]);
    all.push_back(
        {clang_getTokenKind(tokens[i]), take_text(clang_getTokenSpelling(unit, tokens[i])),
         position_of(clang_getRangeStart(extent)), position_of(clang_getRangeEnd(extent))});
  }
  clang_disposeTokens(unit, tokens, count);
  return all;
}

}  // namespace

Extent extent_of(CXCursor cursor) {
  const CXSourceRange range = clang_getCursorExtent(cursor);
  return {position_of(clang_getRangeStart(range)), position_of(clang_getRangeEnd(range))};
}

std::vector<DirectiveText> Comments::of_member(const Extent& member,
                                               const std::vector<Extent>& members) {
  std::vector<DirectiveText> found;
  if (member.begin.file == nullptr) return found;
  const auto another_begins_before = [&](unsigned offset) {
    return std::ranges::any_of(members, [&](const Extent& other) {
      return other.begin.offset > member.end.offset && other.begin.offset < offset;
    });
  };
  for (Comment& comment : of_file(member.begin.file)) {
    // Behind a } are the directives of what it ends.
    const bool behind = !comment.leads && comment.line == member.end.line &&
                        comment.offset >= member.end.offset && comment.brace < member.end.offset &&
                        !another_begins_before(comment.offset);
    if (!behind && !(comment.leads && comment.next == member.begin.offset)) continue;
    comment.used = true;
    found.push_back(comment.directive);
  }
  return found;
}

std::vector<DirectiveText> Comments::of_record(const Extent& record) {
  std::vector<DirectiveText> found;
  if (record.begin.file == nullptr) return found;
  for (Comment& comment : of_file(record.begin.file)) {
    if (comment.used || !comment.leads || comment.next != record.begin.offset) continue;
    comment.used = true;
    found.push_back(comment.directive);
  }
  return found;
}

std::vector<DirectiveText> Comments::unused(CXFile file) {
  std::vector<DirectiveText> found;
  for (const Comment& comment : of_file(file)) {
    if (!comment.used && !skipped(file, comment.offset)) found.push_back(comment.directive);
  }
  return found;
}

Comments::Comments_& Comments::of_file(CXFile file) {
  const auto [it, inserted] = files_.try_emplace(file);
  if (inserted) it->second = read_file(file);
  return it->second;
}

Comments::Comments_ Comments::read_file(CXFile file) {
  std::size_t size = 0;
  const char* const contents = clang_getFileContents(unit_, file, &size);
  // Most headers have none: they are not split into tokens.
  if (contents == nullptr || std::string_view(contents, size).find('~') == std::string_view::npos)
    return {};
  const std::vector<Token> tokens = tokens_of(unit_, file, size);
  const std::string name = name_of(file);
  Comments_ comments;
  unsigned brace = 0;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i].text == "}") brace = tokens[i].begin.offset;
    std::string text;
    if (tokens[i].kind != CXToken_Comment || !directive_in_comment(tokens[i].text, &text)) continue;
    // clang gives the declaration of a typedef's struct from the word struct on.
    std::size_t next = i + 1;
    while (next < tokens.size() &&
           (tokens[next].kind == CXToken_Comment || tokens[next].text == "typedef"))
      ++next;
    const Position& begin = tokens[i].begin;
    comments.push_back({.directive = {.text = text, .place = {name, begin.line}},
                        .line = begin.line,
                        .offset = begin.offset,
                        .next = next < tokens.size() ? tokens[next].begin.offset : ~0u,
                        .brace = brace,
                        .leads = i == 0 || tokens[i - 1].end.line < begin.line});
  }
  return comments;
}

bool Comments::skipped(CXFile file, unsigned offset) const {
  CXSourceRangeList* const ranges = clang_getSkippedRanges(unit_, file);
  bool inside = false;
  for (unsigned i = 0; ranges != nullptr && i < ranges->count; ++i) {
    inside = inside || (position_of(clang_getRangeStart(ranges->ranges[i])).offset <= offset &&
                        offset < position_of(clang_getRangeEnd(ranges->ranges[i])).offset);
  }
  clang_disposeSourceRangeList(ranges);
  return inside;
}

}  // namespace verity::automap
