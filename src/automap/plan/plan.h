// SPDX-License-Identifier: BSD-3-Clause
//
// What becomes of each record: the blocks of its datatype and its links to other elements, or the
// reasons why it is refused.
#ifndef VERITY_AUTOMAP_PLAN_PLAN_H
#define VERITY_AUTOMAP_PLAN_PLAN_H

#include <string>
#include <vector>

#include "automap/plan/directive.h"
#include "automap/plan/model.h"

namespace verity::automap {

struct Settings {
  bool ignore_pointers = false;  // those without a directive, instead of refusing them
  bool unions_as_bytes = false;  // the same of unions
  std::vector<std::string>
      only;  // identifiers or names of the records to map; empty: all that were requested
};

struct Refusal {
  Place place;
  std::string words;  // "struct particle, member flags: a bit-field has no address ..."
};

// Elements of an array with these dimensions; 1 without any.
[[nodiscard]] inline uint64_t copies_of(const std::vector<uint64_t>& dimensions) {
  uint64_t copies = 1;
  for (const uint64_t dimension : dimensions) copies *= dimension;
  return copies;
}

// Equal elements that lie behind each other.
struct Block {
  enum class Of : uint8_t {
    kBasic,
    kRecord,
    kLink,  // places of pointers: only in the linked form of the datatype, where each is a 64-bit
            // number
  };
  std::string member;  // C's name within the record: "pos", "u.i"; empty where there is none for it
  bool sized = true;   // sizeof the member is `size`; not so where it names the beginning of an
                       // anonymous union
  Of of = Of::kBasic;
  uint64_t offset = 0;
  uint64_t size = 0;  // bytes, of all
  uint64_t copies = 1;
  signature::BasicType basic;
  RecordId record = kNoRecord;
};

// A member of a union is in use when a member of the record has one of these values.
struct Condition {
  std::string tag;  // C's name within the record
  std::vector<std::string> values;
};

enum class LinkKind : uint8_t { kOwned, kReference, kString };

// One step of a visit to all links of an element: a pointer, or a member whose own record has
// links.
struct Step {
  Place place;
  std::string member;
  std::vector<uint64_t> dimensions;
  uint64_t offset = 0;
  std::vector<Condition> conditions;  // all of them hold
  bool nested = false;
  RecordId record =
      kNoRecord;  // nested: the member's; else what the pointer points to, if that is a record
  signature::BasicType basic;  // what it points to otherwise
  LinkKind kind = LinkKind::kOwned;
  unsigned levels = 1;  // 2: to an array of pointers
  std::string count;    // C's name within the record, or a number; empty: 1
};

struct Mapping {
  bool considered = false;
  bool mapped = false;
  bool empty =
      false;  // all of its members are left out: alone it is refused, as a member it takes no part
  bool has_values = false;  // its datatype is not empty without links
  bool has_links = false;
  std::vector<Refusal> refusals;
  std::vector<Block> blocks;
  std::vector<Step> steps;
};

struct Plan {
  std::vector<Mapping> mappings;  // as Model::records
  std::vector<RecordId> order;    // those that are mapped: what a record contains stands before it
  [[nodiscard]] const Mapping& of(RecordId id) const { return mappings[id]; }
};

[[nodiscard]] Plan make_plan(const Model& model, const Settings& settings);
// A name in Settings::only that no requested record has; empty when there is none.
[[nodiscard]] std::string unknown_record(const Model& model, const Settings& settings);

}  // namespace verity::automap

#endif
