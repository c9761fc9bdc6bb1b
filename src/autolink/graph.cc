// SPDX-License-Identifier: BSD-3-Clause
#include "autolink/graph.h"

#include <algorithm>
#include <cstring>

namespace verity::autolink {

namespace {

constexpr uint64_t kLongRun = 16;  // elements: shorter runs are added again rather than remembered
constexpr uint64_t kAll = ~uint64_t{0};
constexpr size_t kAhead = 8;  // elements that are fetched before they are visited

// Elements behind a pointer.
uint64_t elements_of(const verity_automap_link& link) {
  if (link.kind != VERITY_AUTOMAP_STRING) return link.count;
  return std::strlen(static_cast<const char*>(link.target)) + 1;
}

// Runs of all types in the order of their addresses: a heap of each type's next one. Of runs at one
// address, that of elements that hold the others comes first.
class Merge {
 public:
  struct Next {
    Run run;
    TypeNumber type = 0;
    bool is_part = false;  // of a run whose next one is in the heap already
  };
  Merge(const Schema& schema, const std::vector<Places>& places)
      : schema_(schema), places_(places), cursors_(places.size()) {
    for (TypeNumber type = 0; type < places.size(); ++type) push_next(type);
  }
  [[nodiscard]] bool empty() const noexcept { return heap_.empty(); }
  [[nodiscard]] Next pop() {
    std::pop_heap(heap_.begin(), heap_.end(), *this);
    const Next next = heap_.back();
    heap_.pop_back();
    if (!next.is_part) push_next(next.type);
    return next;
  }
  void push(const Next& next) {
    heap_.push_back(next);
    std::push_heap(heap_.begin(), heap_.end(), *this);
  }
  // Of a heap with the first one at its top: whether `a` comes after `b`.
  bool operator()(const Next& a, const Next& b) const {
    if (a.run.begin != b.run.begin) return a.run.begin > b.run.begin;
    return a.type != b.type && schema_.nested(b.type, 0, a.type) != 0;
  }

 private:
  void push_next(TypeNumber type) {
    const Run run = places_[type].next(&cursors_[type], kAll);
    if (run.count != 0) push({run, type, false});
  }
  const Schema& schema_;
  const std::vector<Places>& places_;
  std::vector<Places::Cursor> cursors_;
  std::vector<Next> heap_;
};

}  // namespace

void Graph::note(const void* target, TypeNumber type, uint64_t count) {
  Places& places = places_[type];
  if (!places.has_room_at(target)) {
    granules_[type] = 1;
    is_granular_ = false;
    return;
  }
  if (count >= kLongRun) {
    const auto [longest, is_new] = long_runs_.insert(target, type, count);
    if (!is_new && *longest >= count) return;
    *longest = count;
  }
  if (!schema_.has_links(type)) return places.add_run(target, count);
  const auto* element = static_cast<const uint8_t*>(target);
  for (const uint64_t size = schema_.size(type); count != 0; element += size, --count) {
    if (!places.add(element)) continue;
    Target* last = later_.empty() ? nullptr : &later_.back();
    if (last != nullptr && last->type == type && last->begin + last->count * size == element) {
      ++last->count;
    } else {
      later_.push_back({element, 1, type});
    }
  }
}

void Graph::note(const verity_automap_link& link) {
  // A reference leads to what owned pointers reach, or out of the structure: it is resolved when
  // all is known.
  if (link.target == nullptr || link.kind == VERITY_AUTOMAP_REFERENCE) return;
  const uint64_t count = elements_of(link);
  if (count != 0) note(link.target, schema_.target(link), count);
}

void Graph::visit(const Target& target) {
  const auto on_link = [](void* self, const verity_automap_link* link) {
    static_cast<Graph*>(self)->note(*link);
    return 0;
  };
  for (uint64_t i = 0; i < target.count; ++i) {
    (void)schema_.links(target.type, target.begin + i * schema_.size(target.type), on_link, this);
  }
}

bool Graph::try_collect(TypeNumber type, const void* root, uint64_t count) {
  places_.clear();
  for (TypeNumber t = 0; t < schema_.count(); ++t)
    places_.emplace_back(schema_.size(t), granules_[t]);
  long_runs_ = {};
  is_granular_ = true;
  if (root != nullptr && count != 0) note(root, type, count);
  while (!later_.empty()) {
    now_.swap(later_);
    for (size_t next = 0; next < now_.size(); ++next) {
      if (next + kAhead < now_.size()) __builtin_prefetch(now_[next + kAhead].begin);
      visit(now_[next]);
    }
    now_.clear();
  }
  return is_granular_;
}

// The elements of *inner_p that begin inside of `outer`; the others are left there.
std::string Graph::take_out(const Target& outer, Target* inner_p) {
  const uint64_t size = schema_.size(inner_p->type), outer_size = schema_.size(outer.type);
  const uint8_t* end = outer.begin + outer.count * outer_size;
  for (; inner_p->count != 0 && inner_p->begin < end; inner_p->begin += size, --inner_p->count) {
    const auto distance = static_cast<uint64_t>(inner_p->begin - outer.begin);
    if (schema_.nested(outer.type, distance % outer_size, inner_p->type) == 0) {
      return std::string("an element of type ") + schema_.name(inner_p->type) +
             " lies across others of type " + schema_.name(outer.type);
    }
    places_[inner_p->type].remove(inner_p->begin);
    has_nested_ = true;
  }
  return {};
}

std::string Graph::take_out_nested() {
  Merge merge(schema_, places_);
  Target outer{nullptr, 0, 0};
  while (!merge.empty()) {
    const Merge::Next next = merge.pop();
    Target run{next.run.begin, next.run.count, next.type};
    const uint64_t outer_size = schema_.size(outer.type);
    const uint8_t* outer_end = outer.begin + outer.count * outer_size;
    if (run.begin >= outer_end) {
      outer = run;
      continue;
    }
    const auto distance = static_cast<uint64_t>(run.begin - outer.begin);
    if (distance % outer_size == 0 && schema_.nested(run.type, 0, outer.type) != 0) {
      // A run of elements goes on as the first member of another type's element: it ends there.
      merge.push({{run.begin, outer.count - distance / outer_size}, outer.type, true});
      outer = run;
      continue;
    }
    std::string error = take_out(outer, &run);
    if (!error.empty()) return error;
    if (run.count != 0) merge.push({{run.begin, run.count}, run.type, true});
  }
  return {};
}

// Whether `count` elements at the target are sent as neighbours.
bool Graph::is_whole(const void* target, TypeNumber type, uint64_t count) {
  const uint64_t link = link_of(target, type);
  if (link == 0) return false;
  const auto* last = static_cast<const uint8_t*>(target) + (count - 1) * schema_.size(type);
  if (!is_interior(link)) return places_[type].find(last) == index_of(link) + count - 1;
  const Interior& place = interiors_[link & ~kInteriorBit];
  return schema_.nested(place.type, place.offset, type) >= count;
}

// What owned pointers lead to, where elements inside of others were taken out.
std::string Graph::check_owned(TypeNumber type) {
  const auto on_link = [](void* self, const verity_automap_link* link) {
    auto* graph = static_cast<Graph*>(self);
    if (link->target == nullptr || link->kind == VERITY_AUTOMAP_REFERENCE) return 0;
    const uint64_t count = elements_of(*link);
    return count == 0 || graph->is_whole(link->target, graph->schema_.target(*link), count) ? 0 : 1;
  };
  Places::Cursor cursor;
  for (Run run = places_[type].next(&cursor, kAll); run.count != 0;
       run = places_[type].next(&cursor, kAll)) {
    for (uint64_t i = 0; i < run.count; ++i) {
      if (schema_.links(type, run.begin + i * schema_.size(type), on_link, this) != 0) {
        return std::string("a pointer of an element of type ") + schema_.name(type) +
               " leads across others";
      }
    }
  }
  return {};
}

std::string Graph::collect(TypeNumber type, const void* root, uint64_t count) {
  while (!try_collect(type, root, count)) {}
  for (TypeNumber t = 0; t < schema_.count(); ++t) {
    places_[t].sort();
    if (places_[t].overlaps())
      return std::string("two elements of type ") + schema_.name(t) + " overlap";
  }
  std::string error = take_out_nested();
  for (TypeNumber t = 0; t < schema_.count(); ++t) {
    places_[t].number();
    if (places_[t].count() > kMostElements)
      return std::string("too many elements of type ") + schema_.name(t);
  }
  if (has_nested_ && root != nullptr && error.empty() && !is_whole(root, type, count))
    error = "the root lies across others";
  for (TypeNumber t = 0; t < schema_.count() && has_nested_ && error.empty(); ++t) {
    if (schema_.has_links(t)) error = check_owned(t);
  }
  long_runs_ = {};
  return error;
}

uint64_t Graph::link_of(const verity_automap_link& link) {
  if (link.target == nullptr || (link.count == 0 && link.kind != VERITY_AUTOMAP_STRING)) return 0;
  const TypeNumber type = schema_.target(link);
  const uint64_t first = link_of(link.target, type);
  if (first == 0 || link.kind != VERITY_AUTOMAP_REFERENCE || link.count == 1) return first;
  // A reference to several: what follows the first may not be a part of the structure.
  const auto* last =
      static_cast<const uint8_t*>(link.target) + (link.count - 1) * schema_.size(type);
  return !is_interior(first) && places_[type].find(last) == index_of(first) + link.count - 1 ? first
                                                                                             : 0;
}

// Types whose elements may have one of `type` inside.
const std::vector<TypeNumber>& Graph::holders(TypeNumber type) {
  if (!holders_[type]) {
    std::vector<TypeNumber>& found = holders_[type].emplace();
    for (TypeNumber outer = 0; outer < schema_.count(); ++outer) {
      if (!places_[outer].empty() && schema_.holds(outer, type)) found.push_back(outer);
    }
  }
  return *holders_[type];
}

// Zero: a reference out of the structure.
uint64_t Graph::interior(const void* target, TypeNumber type) {
  if (target == nullptr) return 0;
  const auto* address = static_cast<const uint8_t*>(target);
  for (const TypeNumber outer : holders(type)) {
    const uint8_t* element = places_[outer].last_until(address);
    if (element == nullptr) continue;
    const auto offset = static_cast<uint64_t>(address - element);
    if (offset >= schema_.size(outer) || schema_.nested(outer, offset, type) == 0) continue;
    const auto [entry, is_new] = interior_places_.insert(target, type, interiors_.size());
    if (is_new) interiors_.push_back({outer, 0, places_[outer].find(element), offset});
    return kInteriorBit | *entry;
  }
  return 0;
}

}  // namespace verity::autolink
