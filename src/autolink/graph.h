// SPDX-License-Identifier: BSD-3-Clause
//
// The structure behind a pointer: its elements, numbered by type, and what each pointer in it
// becomes on the way.
//
// 1. Breadth first from the root, the elements behind each owned pointer are added to the places of
//    their type; those with pointers are visited when they are new.
// 2. An element that lies inside of one of another type (a pointer to a member led to it) is taken
//    out again: pointers there become interior ones.
// 3. The elements of a type are numbered in the order of their addresses.
#ifndef VERITY_AUTOLINK_GRAPH_H
#define VERITY_AUTOLINK_GRAPH_H

#include <optional>
#include <string>
#include <vector>

#include "autolink/flat_map.h"
#include "autolink/link.h"
#include "autolink/places.h"
#include "autolink/schema.h"

namespace verity::autolink {

class Graph {
 public:
  // Keeps a reference to the schema.
  explicit Graph(const Schema& schema) : schema_(schema), holders_(schema.count()) {
    for (TypeNumber type = 0; type < schema.count(); ++type) {
      granules_.push_back(schema.alignment(type) < kMostGranule ? schema.alignment(type)
                                                                : kMostGranule);
    }
  }

  // Finds all that `count` elements at `root` lead to. Returns "", or why the structure cannot be
  // sent. May throw std::bad_alloc.
  [[nodiscard]] std::string collect(TypeNumber type, const void* root, uint64_t count);

  [[nodiscard]] uint64_t count(TypeNumber type) const noexcept { return places_[type].count(); }
  [[nodiscard]] const Places& places(TypeNumber type) const noexcept { return places_[type]; }
  // What a pointer becomes. Zero: null, or it leads out of the structure. May add an interior
  // place.
  [[nodiscard]] uint64_t link_of(const verity_automap_link& link);
  [[nodiscard]] uint64_t link_of(const void* target, TypeNumber type) {
    const uint64_t number = places_[type].find(target);
    return number != Places::kNone ? element_link(type, number) : interior(target, type);
  }
  [[nodiscard]] const std::vector<Interior>& interiors() const noexcept { return interiors_; }

 private:
  static constexpr uint64_t kMostGranule = 64;  // bytes
  struct Target {
    const uint8_t* begin;
    uint64_t count;
    TypeNumber type;
  };

  // False: an element lies at an address that is no multiple of its type's granule, which is 1
  // then.
  [[nodiscard]] bool try_collect(TypeNumber type, const void* root, uint64_t count);
  void note(const verity_automap_link& link);
  void note(const void* target, TypeNumber type, uint64_t count);
  void visit(const Target& target);
  [[nodiscard]] std::string take_out_nested();
  [[nodiscard]] std::string take_out(const Target& outer, Target* inner_p);
  [[nodiscard]] std::string check_owned(TypeNumber type);
  [[nodiscard]] uint64_t interior(const void* target, TypeNumber type);
  [[nodiscard]] const std::vector<TypeNumber>& holders(TypeNumber type);
  [[nodiscard]] bool is_whole(const void* target, TypeNumber type, uint64_t count);

  const Schema& schema_;
  std::vector<Places> places_;  // by type
  std::vector<uint64_t> granules_;
  bool is_granular_ = true;          // so far
  FlatMap long_runs_;                // count of the longest one at an address
  std::vector<Target> now_, later_;  // to visit
  bool has_nested_ = false;
  std::vector<std::optional<std::vector<TypeNumber>>> holders_;
  std::vector<Interior> interiors_;
  FlatMap interior_places_;
};

}  // namespace verity::autolink

#endif
