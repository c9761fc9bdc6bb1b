// SPDX-License-Identifier: BSD-3-Clause
#include "types/layout.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <functional>
#include <numeric>
#include <utility>

namespace verity::types {

namespace {

using normalize::Displacements;
using normalize::Node;

constexpr unsigned kMaxDepth = 200;
constexpr int64_t kMaxDisplacement = int64_t{1} << 61;

bool is_letter(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// Sums and products of bytes; `good` falls and stays false when one does not fit.
class Bytes {
 public:
  int64_t product(int64_t a, int64_t b) { return checked(__builtin_mul_overflow(a, b, &result_)); }
  int64_t sum(int64_t a, int64_t b) { return checked(__builtin_add_overflow(a, b, &result_)); }
  [[nodiscard]] bool good() const { return good_; }

 private:
  int64_t checked(bool overflow) {
    good_ = good_ && !overflow && result_ < kMaxDisplacement && result_ > -kMaxDisplacement;
    return good_ ? result_ : 0;
  }

  int64_t result_ = 0;
  bool good_ = true;
};

// Puts `node` around the layout. The bounds are those of all copies.
bool surround(Layout* layout, Node node) {
  Bytes bytes;
  int64_t low = 0, high = 0;
  if (node.kind == normalize::Kind::kVector) {
    const int64_t last = bytes.product(static_cast<int64_t>(node.count) - 1, node.stride);
    low = std::min<int64_t>(0, last);
    high = std::max<int64_t>(0, last);
    bytes.product(static_cast<int64_t>(node.count), node.stride);
  } else {
    const auto [least, most] = std::ranges::minmax(node.indices);
    low = least;
    high = most;
  }
  layout->lower_bound = bytes.sum(layout->lower_bound, low);
  layout->extent = bytes.sum(layout->extent, bytes.sum(high, -low));
  layout->path.insert(layout->path.begin(), std::move(node));
  return bytes.good();
}

// The words of the text: names, numbers and lists of them. Keeps the first error.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  // Numbers to the end, with or without < , >.
  std::string parse_list(Displacements* list) {
    const bool bracketed = accept('<');
    while (!at_end() && !(bracketed && peek() == '>')) {
      if (!parse_number(&list->emplace_back())) return error_;
      accept(',');
      if (list->size() > kMaxLayoutIndices) {
        fail("more than " + std::to_string(kMaxLayoutIndices) + " displacements");
        return error_;
      }
    }
    if (bracketed && !accept('>')) fail("expected '>'");
    if (error_.empty() && !at_end()) fail("expected the end");
    return error_;
  }

  std::string_view parse_name() {
    skip_blanks();
    const std::size_t start = at_;
    while (at_ < text_.size() && is_letter(text_[at_])) ++at_;
    return text_.substr(start, at_ - start);
  }
  // The next error is reported where this name began.
  void unread(std::string_view name) { at_ -= name.size(); }

  bool parse_number(int64_t* number) {
    skip_blanks();
    const char* const end = text_.data() + text_.size();
    const auto [rest, problem] = std::from_chars(text_.data() + at_, end, *number);
    if (problem == std::errc::result_out_of_range ||
        (problem == std::errc() && (*number >= kMaxDisplacement || *number <= -kMaxDisplacement)))
      return fail("a number beyond 2^61");
    if (problem != std::errc()) return fail("expected a number");
    at_ = static_cast<std::size_t>(rest - text_.data());
    return true;
  }

  bool parse_count(uint64_t* count) {
    int64_t number;
    skip_blanks();
    const std::size_t start = at_;
    if (!parse_number(&number)) return false;
    if (number < 1) {
      at_ = start;
      return fail("a count below 1");
    }
    *count = static_cast<uint64_t>(number);
    return true;
  }

  bool parse_array(Displacements* numbers) {
    if (!accept('<')) return fail("expected a list as <1,2,3>");
    do {
      if (!parse_number(&numbers->emplace_back())) return false;
      if (numbers->size() > kMaxLayoutIndices)
        return fail("more than " + std::to_string(kMaxLayoutIndices) + " numbers");
    } while (accept(','));
    return accept('>') || fail("expected ',' or '>'");
  }

  void skip_blanks() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }
  bool at_end() {
    skip_blanks();
    return at_ == text_.size();
  }
  char peek() {
    skip_blanks();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool accept(char wanted) {
    if (peek() != wanted) return false;
    ++at_;
    return true;
  }
  bool comma() { return accept(',') || fail("expected ','"); }
  bool too_large() { return fail("the layout reaches beyond 2^61 bytes"); }

  bool fail(const std::string& what) {
    if (error_.empty()) error_ = "at character " + std::to_string(at_ + 1) + ": " + what;
    return false;
  }
  [[nodiscard]] const std::string& error() const { return error_; }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
  std::string error_;
};

class Parser : Scanner {
 public:
  using Scanner::Scanner;

  std::string parse(Layout* layout_p) {
    Layout layout;
    bool good = parse_type(0, &layout);
    if (good && !at_end()) good = fail("expected the end");
    if (good) *layout_p = std::move(layout);
    return error();
  }

 private:
  using Builder = bool (Parser::*)(unsigned depth, Layout* layout);

  bool parse_type(unsigned depth, Layout* layout) {
    if (depth == kMaxDepth) return fail("too many types in each other");
    const std::string_view name = parse_name();
    if (const auto basic = signature::find_basic(name)) return make_basic(*basic, layout);
    const Builder builder = find_builder(name);
    if (builder == nullptr) {
      unread(name);
      if (name.ends_with("struct"))
        return fail(
            "a struct has elements of several types: only layouts of equal elements are "
            "normalized");
      return fail(
          "no basic type of MPI and none of contiguous, vector, hvector, indexed_block, "
          "hindexed_block, indexed, hindexed, "
          "subarray, resized, dup");
    }
    if (!accept('(')) return fail("expected '('");
    if (!(this->*builder)(depth + 1, layout)) return false;
    return accept(')') || fail("expected ')'");
  }

  static Builder find_builder(std::string_view name) {
    for (const std::string_view prefix : {"MPI_Type_create_", "MPI_Type_"}) {
      if (name.starts_with(prefix)) {
        name.remove_prefix(prefix.size());
        break;
      }
    }
    static constexpr std::array<std::pair<std::string_view, Builder>, 10> kBuilders{
        {{"contiguous", &Parser::parse_contiguous},
         {"vector", &Parser::parse_vector},
         {"hvector", &Parser::parse_hvector},
         {"indexed_block", &Parser::parse_indexed_block},
         {"hindexed_block", &Parser::parse_hindexed_block},
         {"indexed", &Parser::parse_indexed},
         {"hindexed", &Parser::parse_hindexed},
         {"subarray", &Parser::parse_subarray},
         {"resized", &Parser::parse_resized},
         {"dup", &Parser::parse_type}}};
    const auto* found =
        std::ranges::find(kBuilders, name, &std::pair<std::string_view, Builder>::first);
    return found == kBuilders.end() ? nullptr : found->second;
  }

  static bool make_basic(const signature::BasicType& basic, Layout* layout) {
    *layout = {
        .path = {normalize::contiguous(1)}, .basic = basic, .lower_bound = 0, .extent = basic.size};
    return true;
  }

  bool parse_contiguous(unsigned depth, Layout* layout) {
    uint64_t count = 0;
    return parse_count(&count) && comma() && parse_type(depth, layout) &&
           add(layout, normalize::vector(count, layout->extent));
  }

  bool parse_vector(unsigned depth, Layout* layout) { return parse_strided(depth, layout, false); }
  bool parse_hvector(unsigned depth, Layout* layout) { return parse_strided(depth, layout, true); }
  bool parse_strided(unsigned depth, Layout* layout, bool in_bytes) {
    uint64_t count = 0, blocklength = 0;
    int64_t stride = 0;
    if (!parse_count(&count) || !comma() || !parse_count(&blocklength) || !comma() ||
        !parse_number(&stride) || !comma() || !parse_type(depth, layout))
      return false;
    Bytes bytes;
    if (!in_bytes) stride = bytes.product(stride, layout->extent);
    if (!bytes.good()) return too_large();
    return add(layout, normalize::vector(blocklength, layout->extent)) &&
           add(layout, normalize::vector(count, stride));
  }

  bool parse_indexed_block(unsigned depth, Layout* layout) {
    return parse_equal_blocks(depth, layout, false);
  }
  bool parse_hindexed_block(unsigned depth, Layout* layout) {
    return parse_equal_blocks(depth, layout, true);
  }
  bool parse_equal_blocks(unsigned depth, Layout* layout, bool in_bytes) {
    uint64_t blocklength = 0;
    Displacements indices;
    if (!parse_count(&blocklength) || !comma() || !parse_array(&indices) || !comma() ||
        !parse_type(depth, layout))
      return false;
    return (in_bytes || scale(&indices, layout->extent)) &&
           add(layout, normalize::vector(blocklength, layout->extent)) &&
           add(layout, normalize::indexed(std::move(indices)));
  }

  bool parse_indexed(unsigned depth, Layout* layout) { return parse_blocks(depth, layout, false); }
  bool parse_hindexed(unsigned depth, Layout* layout) { return parse_blocks(depth, layout, true); }
  bool parse_blocks(unsigned depth, Layout* layout, bool in_bytes) {
    Displacements lengths, indices;
    if (!parse_array(&lengths) || !comma() || !parse_array(&indices) || !comma()) return false;
    if (lengths.size() != indices.size())
      return fail("as many blocklengths as displacements are needed");
    if (std::ranges::any_of(lengths, [](int64_t length) { return length < 0; }))
      return fail("a blocklength is negative");
    if (!parse_type(depth, layout) || !(in_bytes || scale(&indices, layout->extent))) return false;
    return add_blocks(layout, lengths, indices);
  }

  bool parse_subarray(unsigned depth, Layout* layout) {
    Displacements sizes, subsizes, starts;
    if (!parse_array(&sizes) || !comma() || !parse_array(&subsizes) || !comma() ||
        !parse_array(&starts) || !comma())
      return false;
    if (sizes.size() != subsizes.size() || sizes.size() != starts.size())
      return fail("sizes, subsizes and starts differ in number");
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      if (subsizes[i] < 1 || starts[i] < 0 || starts[i] > sizes[i] - subsizes[i])
        return fail("dimension " + std::to_string(i) +
                    " of the subarray is not within the array's");
    }
    return parse_type(depth, layout) && add_subarray(layout, sizes, subsizes, starts);
  }

  bool parse_resized(unsigned depth, Layout* layout) {
    int64_t lower_bound = 0, extent = 0;
    if (!parse_number(&lower_bound) || !comma() || !parse_number(&extent) || !comma() ||
        !parse_type(depth, layout))
      return false;
    layout->lower_bound = lower_bound;
    layout->extent = extent;
    return true;
  }

  bool add(Layout* layout, Node node) { return surround(layout, std::move(node)) || too_large(); }

  // Blocks of different lengths are written out: one index for each element of a block.
  bool add_blocks(Layout* layout, const Displacements& lengths, const Displacements& indices) {
    if (std::ranges::adjacent_find(lengths, std::not_equal_to<>()) == lengths.end() &&
        lengths[0] > 0)
      return add(layout, normalize::vector(static_cast<uint64_t>(lengths[0]), layout->extent)) &&
             add(layout, normalize::indexed(indices));
    Bytes bytes;
    Displacements all;
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      if (lengths[i] > static_cast<int64_t>(kMaxLayoutIndices - all.size()))
        return fail("blocks of different lengths, with more than " +
                    std::to_string(kMaxLayoutIndices) + " elements");
      for (int64_t k = 0; k < lengths[i]; ++k)
        all.push_back(bytes.sum(indices[i], bytes.product(k, layout->extent)));
    }
    if (!bytes.good()) return too_large();
    if (all.empty()) return fail("a type without elements");
    return add(layout, normalize::indexed(std::move(all)));
  }

  // The bounds are the whole array's: MPI counts from its first element, wherever the element type
  // has its lower bound.
  bool add_subarray(Layout* layout, const Displacements& sizes, const Displacements& subsizes,
                    const Displacements& starts) {
    Bytes bytes;
    int64_t stride = layout->extent, first = 0;
    for (std::size_t i = sizes.size(); i-- > 0;) {
      if (!add(layout, normalize::vector(static_cast<uint64_t>(subsizes[i]), stride))) return false;
      first = bytes.sum(first, bytes.product(starts[i], stride));
      stride = bytes.product(stride, sizes[i]);
    }
    if (!bytes.good()) return too_large();
    if (first != 0 && !add(layout, normalize::indexed({first}))) return false;
    layout->lower_bound = 0;
    layout->extent = stride;
    return true;
  }

  bool scale(Displacements* indices, int64_t extent) {
    Bytes bytes;
    for (int64_t& index : *indices) index = bytes.product(index, extent);
    return bytes.good() || too_large();
  }
};

}  // namespace

std::string parse_layout(std::string_view text, Layout* layout_p) {
  return Parser(text).parse(layout_p);
}

std::string parse_displacements(std::string_view text, const signature::BasicType& basic,
                                Layout* layout_p) {
  Displacements list;
  if (std::string problem = Scanner(text).parse_list(&list); !problem.empty()) return problem;
  if (list.empty()) return "no displacements";
  Bytes bytes;
  for (int64_t& displacement : list) displacement = bytes.product(displacement, basic.size);
  Layout layout{
      .path = {normalize::contiguous(1)}, .basic = basic, .lower_bound = 0, .extent = basic.size};
  if (!bytes.good() || !surround(&layout, normalize::indexed(std::move(list))))
    return "a displacement beyond 2^61 bytes";
  *layout_p = std::move(layout);
  return "";
}

}  // namespace verity::types
