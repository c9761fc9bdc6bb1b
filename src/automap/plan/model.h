// SPDX-License-Identifier: BSD-3-Clause
//
// What the headers declare, as facts: records (structs, classes, unions) and their members with the
// layout that the compiler gives them. The front end (clang_*.cc) fills it; nothing is decided
// here.
#ifndef VERITY_AUTOMAP_PLAN_MODEL_H
#define VERITY_AUTOMAP_PLAN_MODEL_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "signature/basic.h"

namespace verity::automap {

struct Place {
  std::string file;
  unsigned line = 0;
};

// Index into Model::records.
using RecordId = std::size_t;
inline constexpr RecordId kNoRecord = SIZE_MAX;

// The text of a directive, without /*~ AM and */, and where it stands.
struct DirectiveText {
  std::string text;
  Place place;
};

enum class Kind : uint8_t { kUnsupported, kBasic, kRecord, kPointer };

// A type, without the dimensions of an array of it.
struct Shape {
  Kind kind = Kind::kUnsupported;
  std::string words;  // as the header spells it
  uint64_t size = 0;  // bytes
  uint64_t alignment = 1;
  signature::BasicType basic;   // kBasic
  RecordId record = kNoRecord;  // kRecord
  std::vector<Shape> target;    // kPointer: exactly one
  std::string problem;          // kUnsupported: why, as in "a function pointer"
};

struct Member {
  std::string
      name;  // empty: an anonymous struct or union, whose members are named as the record's own
  Place place;
  uint64_t offset = 0;               // bytes from the beginning of the record
  uint64_t size = 0;                 // bytes, of the whole array
  std::vector<uint64_t> dimensions;  // empty: no array
  Shape shape;                       // of one element
  bool bit_field = false;
  bool constant = false;   // the member itself, not what it points to
  bool accessible = true;  // false: private or protected
  std::vector<DirectiveText> directives;
};

struct Record {
  std::string identifier;    // unique part of generated names: "particle", "ns_particle"
  std::string words;         // for messages: "struct particle"
  std::string spelling;      // how C and C++ name the type; empty for an unnamed one
  std::string cxx_spelling;  // where C++ needs another one than C: a struct that another contains
  // An unnamed type is the type of `owner_member` ("in[0]") of this record.
  RecordId owner = kNoRecord;
  std::string owner_member;
  Place place;
  uint64_t size = 0;
  uint64_t alignment = 1;
  bool is_union = false;
  bool complete = true;    // false: only declared
  bool requested = false;  // in one of the headers that were named
  bool accessible = true;  // false: private or protected, or within such a class
  std::string problem;     // why nothing like it can be mapped: "it has a base class ..."
  // What a class has beside its members.
  std::vector<RecordId> bases;
  bool has_unknown_bases = false;   // libclang shows those of a template, not of its instance
  bool has_hidden_pointer = false;  // for virtual functions or virtual bases
  std::vector<Member> members;
  std::vector<DirectiveText> directives;
};

struct Model {
  bool cxx = false;                  // read as C++
  std::vector<std::string> headers;  // as they were named
  std::vector<std::string> files;    // every file that was read
  std::vector<Record> records;
};

// "file:line"
[[nodiscard]] inline std::string to_string(const Place& place) {
  return place.file + ":" + std::to_string(place.line);
}

}  // namespace verity::automap

#endif
