// SPDX-License-Identifier: BSD-3-Clause
//
// The structure behind a pointer: its elements, numbered by type, and what each pointer in it becomes on the way.
//
// 1. Breadth first from the root, each target is noted as a run of elements of a type; each element with pointers is visited once.
// 2. Runs of one type that overlap become one (a pointer into an array). A run that lies inside of an element of another type (a pointer
//    to a member) is no block of its own: pointers there become interior ones.
// 3. The elements of a type are numbered in the order of their addresses.
#ifndef VERITY_AUTOLINK_GRAPH_H
#define VERITY_AUTOLINK_GRAPH_H

#include <string>
#include <vector>

#include "autolink/flat_map.h"
#include "autolink/link.h"
#include "autolink/schema.h"

namespace verity::autolink {

struct Block {
  const uint8_t* begin = nullptr;
  uint64_t count = 0;
  uint64_t first = 0;  // number of its first element among those of its type
};

class Graph {
 public:
  // Keeps a reference to the schema.
  explicit Graph(const Schema& schema) : schema_(schema), blocks_(schema.count()), counts_(schema.count()) {}

  // Finds all that `count` elements at `root` lead to. Returns "", or why the structure cannot be sent. May throw std::bad_alloc.
  [[nodiscard]] std::string collect(TypeNumber type, const void* root, uint64_t count);

  [[nodiscard]] uint64_t count(TypeNumber type) const noexcept { return counts_[type]; }
  // In the order of their first elements.
  [[nodiscard]] const std::vector<Block>& blocks(TypeNumber type) const noexcept { return blocks_[type]; }
  // What a pointer becomes. Zero: null, or it leads out of the structure. May add an interior place.
  [[nodiscard]] uint64_t link_of(const verity_automap_link& link);
  [[nodiscard]] uint64_t link_of(const void* target, TypeNumber type);
  [[nodiscard]] const std::vector<Interior>& interiors() const noexcept { return interiors_; }

 private:
  struct Run {
    const uint8_t* begin;
    uint64_t count;
    TypeNumber type;
    [[nodiscard]] const uint8_t* end(const Schema& schema) const noexcept { return begin + count * schema.size(type); }
  };

  void note(const verity_automap_link& link);
  void note(const void* target, TypeNumber type, uint64_t count);
  void visit_all();
  [[nodiscard]] std::string merge_runs(std::vector<Run>* runs_p) const;
  [[nodiscard]] std::string take_out_nested(std::vector<Run>* runs_p) const;
  void number(const std::vector<Run>& runs);
  [[nodiscard]] uint64_t interior(const uint8_t* target, TypeNumber type);

  const Schema& schema_;
  FlatMap targets_;   // length of the longest run at an address
  FlatMap visited_;   // elements with pointers
  std::vector<Run> queue_;
  std::vector<std::vector<Block>> blocks_;
  std::vector<uint64_t> counts_;
  FlatMap numbers_;   // of the first element of each block, and of those that links were made for
  std::vector<Interior> interiors_;
  FlatMap interior_places_;
};

}  // namespace verity::autolink

#endif
