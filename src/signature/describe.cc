// SPDX-License-Identifier: BSD-3-Clause
#include "signature/describe.h"

#include <vector>

namespace verity::signature {

namespace {

using Part = Type::Node::Part;

constexpr unsigned kMaxWordsDepth = 12;
constexpr uint8_t kLeafBit = 0x80;
constexpr uint8_t kLongSequence = 0x7f;

// ---- words
// -----------------------------------------------------------------------------------------

void put_words(std::string& out, const Type& type, uint64_t copies, size_t limit, unsigned depth);

void put_fields(std::string& out, const Type& type, size_t limit, unsigned depth) {
  out += '{';
  const char* between = "";
  for (const Part& part : type.node().parts()) {
    out += between;
    if (out.size() > limit || depth == kMaxWordsDepth) {
      out += "...";
      break;
    }
    put_words(out, part.type, part.copies, limit, depth + 1);
    between = ", ";
  }
  out += '}';
}

void put_words(std::string& out, const Type& type, uint64_t copies, size_t limit, unsigned depth) {
  const auto parts = type.node().parts();
  if (parts.size() == 1 && multiply_counts(copies, parts[0].copies) != kTooMany &&
      depth < kMaxWordsDepth) {
    return put_words(out, parts[0].type, copies * parts[0].copies, limit, depth + 1);
  }
  if (depth == 0 || copies != 1) out += std::to_string(copies) + " x ";
  if (type.node().leaf()) {
    out += to_words(type.basic());
  } else {
    put_fields(out, type, limit, depth);
  }
}

// ---- bytes
// -----------------------------------------------------------------------------------------

class Writer {
 public:
  Writer(void* out, size_t capacity) noexcept
      : out_(static_cast<uint8_t*>(out)), capacity_(capacity) {}

  void byte(unsigned value) noexcept {
    if (length_ < capacity_) {
      out_[length_++] = static_cast<uint8_t>(value);
    } else {
      failed_ = true;
    }
  }
  void number(uint64_t value) noexcept {
    for (; value > 0x7f; value >>= 7) byte(0x80 | (value & 0x7f));
    byte(static_cast<unsigned>(value));
  }
  void fail() noexcept { failed_ = true; }
  [[nodiscard]] bool failed() const noexcept { return failed_; }
  [[nodiscard]] size_t length() const noexcept { return failed_ ? 0 : length_; }

 private:
  uint8_t* out_;
  size_t capacity_;
  size_t length_ = 0;
  bool failed_ = false;
};

void put_node(Writer& out, const Type& type, unsigned depth) noexcept {
  if (depth == kMaxDescriptionDepth) return out.fail();
  if (type.node().leaf()) {
    out.byte(kLeafBit | type.basic().cls);
    out.byte(type.basic().id);
    return out.number(type.basic().size);
  }
  const auto parts = type.node().parts();
  if (parts.size() < kLongSequence) {
    out.byte(static_cast<unsigned>(parts.size()));
  } else {
    out.byte(kLongSequence);
    out.number(parts.size());
  }
  for (const Part& part : parts) {
    out.number(part.copies);
    put_node(out, part.type, depth + 1);
    if (out.failed()) return;
  }
}

// Takes nodes off the bytes. Each method returns nullptr or what is wrong.
class Reader {
 public:
  explicit Reader(std::span<const uint8_t> bytes) noexcept : left_(bytes) {}

  [[nodiscard]] size_t left() const noexcept { return left_.size(); }

  [[nodiscard]] const char* node(unsigned depth, Type* type_p) {
    if (depth == kMaxDescriptionDepth) return "depth: too many nodes in each other";
    uint8_t first;
    if (!byte(&first)) return "node: the description ends before it";
    return (first & kLeafBit) != 0 ? leaf(first & 0x7f, type_p) : sequence(first, depth, type_p);
  }

 private:
  bool byte(uint8_t* value_p) noexcept {
    if (left_.empty()) return false;
    *value_p = left_.front();
    left_ = left_.subspan(1);
    return true;
  }

  // In the shortest form only, and 64 bits.
  bool number(uint64_t* value_p) noexcept {
    uint64_t value = 0;
    uint8_t next;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (!byte(&next) || (shift == 63 && next > 1) || (shift != 0 && next == 0)) return false;
      value |= uint64_t{next & 0x7fu} << shift;
      if ((next & 0x80) == 0) {
        *value_p = value;
        return true;
      }
    }
    return false;
  }

  const char* leaf(unsigned cls, Type* type_p) {
    uint8_t id;
    uint64_t size;
    if (!byte(&id)) return "basic type: the description ends before it";
    if (!number(&size)) return "size: no number";
    const auto basic = make_basic(id, size);
    if (!basic) return "basic type: no such number, or no such size";
    if (basic->cls != cls) return "class: not the basic type's";
    *type_p = Type::leaf(*basic);
    return nullptr;
  }

  const char* sequence(uint64_t fields, unsigned depth, Type* type_p) {
    if (fields == kLongSequence && (!number(&fields) || fields < kLongSequence))
      return "fields: no such number of them";
    // Each takes two bytes at least.
    if (fields > left_.size() / 2) return "fields: more than the description has room for";
    std::vector<Type::Item> items;
    for (; fields != 0; --fields) {
      uint64_t copies;
      Type type;
      if (!number(&copies) || copies == 0) return "copies: no number, or none";
      if (const char* wrong = node(depth + 1, &type)) return wrong;
      items.push_back({std::move(type), copies});
    }
    *type_p = Type::sequence(items);
    return nullptr;
  }

  std::span<const uint8_t> left_;
};

}  // namespace

std::string describe(const Type& type, uint64_t copies, size_t limit) {
  if (type.count() == 0 || copies == 0) return "nothing";
  std::string out;
  put_words(out, type, copies, limit, 0);
  return out;
}

size_t encode(const Type& type, void* out, size_t capacity) noexcept {
  Writer writer(out, capacity);
  put_node(writer, type, 0);
  return writer.length();
}

const char* decode(std::span<const uint8_t> bytes, Type* type_p) {
  Reader reader(bytes);
  Type type;
  if (const char* wrong = reader.node(0, &type)) return wrong;
  if (reader.left() != 0) return "length: bytes after the description";
  *type_p = std::move(type);
  return nullptr;
}

}  // namespace verity::signature
