// SPDX-License-Identifier: BSD-3-Clause
//
// Records as the front end would give them, written by hand.
#ifndef VERITY_TEST_UNIT_AUTOMAP_CASE_H
#define VERITY_TEST_UNIT_AUTOMAP_CASE_H

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "automap/plan/plan.h"

namespace verity::automap::test {

inline Shape basic(std::string_view name) {
  Shape shape;
  shape.kind = Kind::kBasic;
  shape.basic = *signature::find_basic(name);
  shape.size = shape.alignment = shape.basic.size;
  return shape;
}

inline Shape pointer_to(Shape target) {
  Shape shape;
  shape.kind = Kind::kPointer;
  shape.size = shape.alignment = 8;
  shape.target.push_back(std::move(target));
  return shape;
}

inline Shape unsupported(std::string problem, uint64_t size = 8) {
  Shape shape;
  shape.problem = std::move(problem);
  shape.size = size;
  return shape;
}

inline Shape record_shape(RecordId id, uint64_t size) {
  Shape shape;
  shape.kind = Kind::kRecord;
  shape.record = id;
  shape.size = size;
  return shape;
}

// In file case.h; each record on a line by itself, its members on those behind it.
class ModelCase {
 public:
  ModelCase() { model.headers = {"case.h"}; }

  RecordId add(const std::string& name, uint64_t size, bool is_union = false) {
    Record record;
    record.identifier = name;
    record.spelling = record.words = (is_union ? "union " : "struct ") + name;
    record.size = size;
    record.alignment = 8;
    record.is_union = is_union;
    record.requested = true;
    record.place = {"case.h", ++line};
    model.records.push_back(std::move(record));
    return model.records.size() - 1;
  }

  Member& member(RecordId id, const std::string& name, uint64_t offset, Shape shape,
                 const std::string& directive = "", std::vector<uint64_t> dimensions = {}) {
    Member member;
    member.name = name;
    member.place = {"case.h", ++line};
    member.offset = offset;
    member.size = shape.size;
    for (const uint64_t dimension : dimensions) member.size *= dimension;
    member.dimensions = std::move(dimensions);
    member.shape = std::move(shape);
    if (!directive.empty()) member.directives.push_back({directive, member.place});
    model.records[id].members.push_back(std::move(member));
    return model.records[id].members.back();
  }

  [[nodiscard]] Plan plan(const Settings& settings = {}) const {
    return make_plan(model, settings);
  }

  // "case.h:2: struct a, member x: ..." of the first reason against a record; "" when it is mapped.
  [[nodiscard]] std::string refusal(RecordId id, const Settings& settings = {}) const {
    const Plan made = plan(settings);
    if (made.of(id).mapped) return "";
    if (made.of(id).refusals.empty()) return "not considered";
    const Refusal& first = made.of(id).refusals.front();
    return to_string(first.place) + ": " + first.words;
  }

  Model model;
  unsigned line = 0;
};

}  // namespace verity::automap::test

#endif
