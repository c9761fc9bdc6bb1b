// SPDX-License-Identifier: BSD-3-Clause
#include "automap/plan/directive.h"

#include <algorithm>
#include <cctype>

namespace verity::automap {

namespace {

std::string_view trim(std::string_view text) {
  const auto blank = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

// The parts between the separators, trimmed.
std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t end = std::min(text.find(separator, start), text.size());
    parts.emplace_back(trim(text.substr(start, end - start)));
    start = end + 1;
  }
  return parts;
}

// A name (qualified, in C++) or a number.
bool is_value(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == ':';
  });
}

std::string add_word(std::string_view word, Directive* directive) {
  struct Flag {
    std::string_view word;
    bool Directive::*flag;
  };
  constexpr Flag kFlags[] = {{"ignore", &Directive::ignore},
                             {"owned", &Directive::owned},
                             {"reference", &Directive::reference},
                             {"string", &Directive::string},
                             {"bytes", &Directive::bytes}};
  for (const Flag& known : kFlags) {
    if (known.word != word) continue;
    directive->*known.flag = true;
    return "";
  }
  return "unknown directive '" + std::string(word) +
         "': expected owned, reference, string, ignore, bytes, count = MEMBER, tag = MEMBER or "
         "when = VALUE";
}

std::string add_assignment(std::string_view name, std::string_view value, Directive* directive) {
  const std::vector<std::string> values = split(value, '|');
  if (!std::ranges::all_of(values, is_value))
    return std::string(name) + " = needs a name or a number";
  if (name == "when") {
    directive->when.insert(directive->when.end(), values.begin(), values.end());
    return "";
  }
  if (name != "count" && name != "tag") return add_word(std::string(name) + " = ", directive);
  std::string& target = name == "count" ? directive->count : directive->tag;
  if (values.size() != 1) return std::string(name) + " = needs one name";
  if (!target.empty() && target != values[0]) return std::string(name) + " = is given twice";
  target = values[0];
  return "";
}

}  // namespace

std::string add_directive(std::string_view text, Directive* directive) {
  for (const std::string& part : split(text, ',')) {
    const std::size_t equals = part.find('=');
    const std::string problem =
        equals == std::string::npos
            ? add_word(part, directive)
            : add_assignment(trim(std::string_view(part).substr(0, equals)),
                             trim(std::string_view(part).substr(equals + 1)), directive);
    if (!problem.empty()) return problem;
  }
  if (directive->owned + directive->reference + directive->string + directive->ignore +
          directive->bytes >
      1) {
    return "only one of owned, reference, string, ignore and bytes can be true";
  }
  if (!directive->count.empty() && !directive->owned && !directive->reference)
    return "count = needs owned or reference";
  return "";
}

std::string read_directives(const std::vector<DirectiveText>& texts, Directive* directive_p,
                            Place* error_p) {
  for (const DirectiveText& text : texts) {
    const std::string problem = add_directive(text.text, directive_p);
    if (problem.empty()) continue;
    *error_p = text.place;
    return problem;
  }
  return "";
}

bool directive_in_comment(std::string_view comment, std::string* text_p) {
  if (comment.starts_with("/*") && comment.ends_with("*/")) comment.remove_suffix(2);
  if (comment.size() < 2) return false;
  comment.remove_prefix(2);
  if (!comment.starts_with('~')) return false;
  comment = trim(comment.substr(1));
  if (!comment.starts_with("AM")) return false;
  comment.remove_prefix(2);
  if (!comment.empty() && std::isspace(static_cast<unsigned char>(comment.front())) == 0)
    return false;
  *text_p = std::string(trim(comment));
  return true;
}

std::string parse_directive_file(const std::string& name, std::string_view text,
                                 std::vector<OutsideDirective>* all_p) {
  unsigned line = 0;
  for (std::string& row : split(text, '\n')) {
    ++line;
    row = row.substr(0, row.find('#'));
    if (trim(row).empty()) continue;
    const Place place{name, line};
    // The colon of a directive stands alone; :: is C++'s.
    std::size_t colon = row.find(':');
    while (colon != std::string::npos && colon + 1 < row.size() && row[colon + 1] == ':')
      colon = row.find(':', colon + 2);
    if (colon == std::string::npos)
      return to_string(place) + ": expected 'RECORD.MEMBER: directive'";
    std::string_view target = trim(std::string_view(row).substr(0, colon));
    for (const std::string_view word : {"struct ", "union ", "class "}) {
      if (target.starts_with(word)) target = trim(target.substr(word.size()));
    }
    const std::size_t dot = target.find('.');
    OutsideDirective entry{
        .record = std::string(target.substr(0, dot)),
        .member = dot == std::string_view::npos ? "" : std::string(target.substr(dot + 1)),
        .directive = {.text = std::string(trim(std::string_view(row).substr(colon + 1))),
                      .place = place}};
    Directive checked;
    const std::string problem = add_directive(entry.directive.text, &checked);
    if (!problem.empty()) return to_string(place) + ": " + problem;
    all_p->push_back(std::move(entry));
  }
  return "";
}

namespace {

bool fits(const std::string& pattern, const Record& record) {
  if (pattern == "*" || pattern == record.identifier) return true;
  const std::string& named = record.cxx_spelling.empty() ? record.spelling : record.cxx_spelling;
  return pattern == named || "struct " + pattern == named || "union " + pattern == named;
}

}  // namespace

std::string apply_outside(std::vector<OutsideDirective>& all, Model* model) {
  for (OutsideDirective& entry : all) {
    for (Record& record : model->records) {
      if (!fits(entry.record, record)) continue;
      if (entry.member.empty()) {
        record.directives.push_back(entry.directive);
        entry.used = true;
      }
      for (Member& member : record.members) {
        if (entry.member.empty() || (entry.member != "*" && entry.member != member.name)) continue;
        member.directives.push_back(entry.directive);
        entry.used = true;
      }
    }
    if (!entry.used && entry.record != "*") {
      return to_string(entry.directive.place) + ": no header declares " + entry.record +
             (entry.member.empty() ? "" : " with a member " + entry.member);
    }
  }
  return "";
}

}  // namespace verity::automap
