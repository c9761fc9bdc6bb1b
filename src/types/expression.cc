// SPDX-License-Identifier: BSD-3-Clause
#include "types/expression.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <vector>

namespace verity::types {

namespace {

using signature::Type;

bool is(int (*kind)(int), char c) { return kind(static_cast<unsigned char>(c)) != 0; }

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  std::string parse(Type* type_p) {
    Type type;
    bool good = parse_type(0, &type);
    skip_blanks();
    if (good && at_ != text_.size()) good = fail("expected the end");
    if (good) *type_p = std::move(type);
    return error_;
  }

 private:
  bool parse_type(unsigned depth, Type* type_p) {
    if (depth == kMaxExpressionDepth) return fail("too many types in each other");
    skip_blanks();
    const char next = at_ < text_.size() ? text_[at_] : '\0';
    if (is(std::isdigit, next)) return parse_copies(depth, type_p);
    if (next == '{') return parse_struct(depth, type_p);
    if (is(std::isalpha, next)) return parse_name(type_p);
    return fail("expected a number, '{' or the name of a basic type");
  }

  bool parse_copies(unsigned depth, Type* type_p) {
    uint64_t copies = 0;
    const char* const end = text_.data() + text_.size();
    const auto [rest, problem] = std::from_chars(text_.data() + at_, end, copies);
    if (problem != std::errc()) return fail("the number does not fit 64 bits");
    at_ = static_cast<std::size_t>(rest - text_.data());
    if (!accept('x')) return fail("expected 'x' after the number of copies");
    Type child;
    if (!parse_type(depth + 1, &child)) return false;
    *type_p = Type::repeat(child, copies);
    return true;
  }

  bool parse_struct(unsigned depth, Type* type_p) {
    std::vector<Type::Item> items;
    ++at_;
    do {
      Type child;
      if (!parse_type(depth + 1, &child)) return false;
      items.push_back({std::move(child), 1});
    } while (accept(','));
    if (!accept('}')) return fail("expected ',' or '}'");
    *type_p = Type::sequence(items);
    return true;
  }

  bool parse_name(Type* type_p) {
    const std::size_t start = at_;
    while (at_ < text_.size() &&
           (is(std::isalnum, text_[at_]) || text_[at_] == '_' || text_[at_] == ' '))
      ++at_;
    std::string_view word = text_.substr(start, at_ - start);
    word = word.substr(0, word.find_last_not_of(' ') + 1);
    const auto basic = signature::find_basic(mpi_name(word));
    at_ = basic ? at_ : start;
    if (!basic) return fail("no basic type of MPI is called '" + std::string(word) + "'");
    *type_p = Type::leaf(*basic);
    return true;
  }

  static std::string mpi_name(std::string_view word) {
    std::string name(word);
    for (char& c : name) {
      c = c == ' ' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    }
    return name.starts_with("MPI_") ? name : "MPI_" + name;
  }

  void skip_blanks() { at_ = std::min(text_.find_first_not_of(' ', at_), text_.size()); }

  bool accept(char wanted) {
    skip_blanks();
    if (at_ == text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }

  bool fail(const std::string& what) {
    error_ = "at character " + std::to_string(at_ + 1) + ": " + what;
    return false;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string error_;
};

}  // namespace

std::string parse_type(std::string_view text, signature::Type* type_p) {
  return Parser(text).parse(type_p);
}

}  // namespace verity::types
