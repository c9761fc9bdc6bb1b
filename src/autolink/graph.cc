// SPDX-License-Identifier: BSD-3-Clause
#include "autolink/graph.h"

#include <algorithm>
#include <cstring>

namespace verity::autolink {

namespace {

// Elements behind a pointer.
uint64_t elements_of(const verity_automap_link& link) {
  if (link.kind != VERITY_AUTOMAP_STRING) return link.count;
  return std::strlen(static_cast<const char*>(link.target)) + 1;
}

const Block* block_with(const std::vector<Block>& blocks, const uint8_t* address, uint64_t size) {
  auto after = std::upper_bound(blocks.begin(), blocks.end(), address, [](const uint8_t* a, const Block& b) { return a < b.begin; });
  if (after == blocks.begin()) return nullptr;
  const Block& block = *(after - 1);
  return static_cast<uint64_t>(address - block.begin) < block.count * size ? &block : nullptr;
}

}  // namespace

void Graph::note(const void* target, TypeNumber type, uint64_t count) {
  const auto [longest, is_new] = targets_.insert(target, type, count);
  if (!is_new && *longest >= count) return;
  *longest = std::max(*longest, count);
  queue_.push_back({static_cast<const uint8_t*>(target), count, type});
}

void Graph::note(const verity_automap_link& link) {
  // A reference leads to what owned pointers reach, or out of the structure: it is resolved when all is known.
  if (link.target == nullptr || link.kind == VERITY_AUTOMAP_REFERENCE) return;
  const uint64_t count = elements_of(link);
  if (count != 0) note(link.target, schema_.target(link), count);
}

void Graph::visit_all() {
  const auto on_link = [](void* self, const verity_automap_link* link) {
    static_cast<Graph*>(self)->note(*link);
    return 0;
  };
  for (size_t next = 0; next < queue_.size(); ++next) {
    const Run run = queue_[next];
    if (!schema_.has_links(run.type)) continue;
    for (uint64_t i = 0; i < run.count; ++i) {
      const uint8_t* element = run.begin + i * schema_.size(run.type);
      if (visited_.insert(element, run.type, 0).second) (void)schema_.links(run.type, element, on_link, this);
    }
  }
}

std::string Graph::merge_runs(std::vector<Run>* runs_p) const {
  for (const FlatMap::Entry& entry : targets_.slots()) {
    if (entry.address != nullptr) runs_p->push_back({static_cast<const uint8_t*>(entry.address), entry.value, entry.type});
  }
  std::sort(runs_p->begin(), runs_p->end(), [](const Run& a, const Run& b) { return a.type != b.type ? a.type < b.type : a.begin < b.begin; });
  size_t kept = 0;
  for (const Run& run : *runs_p) {
    Run* last = kept != 0 ? &(*runs_p)[kept - 1] : nullptr;
    if (last == nullptr || last->type != run.type || run.begin >= last->end(schema_)) {
      (*runs_p)[kept++] = run;
      continue;
    }
    const uint64_t size = schema_.size(run.type);
    const auto distance = static_cast<uint64_t>(run.begin - last->begin);
    if (distance % size != 0) return std::string("two elements of type ") + schema_.name(run.type) + " overlap";
    last->count = std::max(last->count, distance / size + run.count);
  }
  runs_p->resize(kept);
  return {};
}

// By address, the longer first; of equals the one that contains the other. What lies in the last one outside is taken out.
std::string Graph::take_out_nested(std::vector<Run>* runs_p) const {
  std::sort(runs_p->begin(), runs_p->end(), [this](const Run& a, const Run& b) {
    if (a.begin != b.begin) return a.begin < b.begin;
    if (a.end(schema_) != b.end(schema_)) return a.end(schema_) > b.end(schema_);
    return a.type != b.type && schema_.nested(a.type, 0, b.type) != 0;
  });
  size_t kept = 0;
  for (const Run& run : *runs_p) {
    const Run* outer = kept != 0 ? &(*runs_p)[kept - 1] : nullptr;
    if (outer == nullptr || run.begin >= outer->end(schema_)) {
      (*runs_p)[kept++] = run;
      continue;
    }
    const auto distance = static_cast<uint64_t>(run.begin - outer->begin);
    if (schema_.nested(outer->type, distance % schema_.size(outer->type), run.type) < run.count) {
      return std::string("an element of type ") + schema_.name(run.type) + " lies across others of type " + schema_.name(outer->type);
    }
  }
  runs_p->resize(kept);
  return {};
}

void Graph::number(const std::vector<Run>& runs) {
  for (const Run& run : runs) {
    blocks_[run.type].push_back({run.begin, run.count, counts_[run.type]});
    numbers_.insert(run.begin, run.type, counts_[run.type]);
    counts_[run.type] += run.count;
  }
}

std::string Graph::collect(TypeNumber type, const void* root, uint64_t count) {
  if (root != nullptr && count != 0) note(root, type, count);
  visit_all();
  std::vector<Run> runs;
  std::string error = merge_runs(&runs);
  if (error.empty()) error = take_out_nested(&runs);
  if (!error.empty()) return error;
  number(runs);
  for (TypeNumber t = 0; t < schema_.count(); ++t) {
    if (counts_[t] > kMostElements) return std::string("too many elements of type ") + schema_.name(t);
  }
  queue_ = {};
  targets_ = {};
  visited_ = {};
  return {};
}

uint64_t Graph::link_of(const verity_automap_link& link) {
  if (link.target == nullptr || (link.count == 0 && link.kind != VERITY_AUTOMAP_STRING)) return 0;
  const TypeNumber type = schema_.target(link);
  const uint64_t first = link_of(link.target, type);
  if (first == 0 || link.kind != VERITY_AUTOMAP_REFERENCE || link.count == 1) return first;
  // A reference to several: what follows the first may not be a part of the structure.
  const auto* last = static_cast<const uint8_t*>(link.target) + (link.count - 1) * schema_.size(type);
  return !is_interior(first) && link_of(last, type) == first + link.count - 1 ? first : 0;
}

uint64_t Graph::link_of(const void* target, TypeNumber type) {
  if (target == nullptr) return 0;
  if (const uint64_t* number = numbers_.get(target, type)) return element_link(type, *number);
  const auto* address = static_cast<const uint8_t*>(target);
  const uint64_t size = schema_.size(type);
  const Block* block = block_with(blocks_[type], address, size);
  if (block == nullptr || static_cast<uint64_t>(address - block->begin) % size != 0) return interior(address, type);
  const uint64_t number = block->first + static_cast<uint64_t>(address - block->begin) / size;
  numbers_.insert(target, type, number);
  return element_link(type, number);
}

uint64_t Graph::interior(const uint8_t* target, TypeNumber type) {
  if (const uint64_t* entry = interior_places_.get(target, type)) return *entry;
  uint64_t found = 0;  // a reference out of the structure
  for (TypeNumber outer = 0; outer < schema_.count() && found == 0; ++outer) {
    const uint64_t size = schema_.size(outer);
    const Block* block = block_with(blocks_[outer], target, size);
    if (block == nullptr) continue;
    const auto distance = static_cast<uint64_t>(target - block->begin);
    if (schema_.nested(outer, distance % size, type) == 0) continue;
    found = kInteriorBit | interiors_.size();
    interiors_.push_back({outer, 0, block->first + distance / size, distance % size});
  }
  interior_places_.insert(target, type, found);
  return found;
}

}  // namespace verity::autolink
