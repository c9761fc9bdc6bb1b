// SPDX-License-Identifier: BSD-3-Clause
#include "autolink/schema.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace verity::autolink {

namespace {

constexpr uint64_t kMostTypes = 1 << 18;
constexpr unsigned kMostDepth =
    200;  // of structures in structures: the compiler that made the schema allows no cycle

bool is_link(const verity_automap_field& field) noexcept {
  return std::strcmp(field.type, "link") == 0;
}

std::string problem_of(const verity_automap_type& type) {
  if (type.name == nullptr || type.size == 0) return "a type without a name or size";
  if (!std::has_single_bit(type.alignment) || type.size % type.alignment != 0)
    return std::string("the alignment of ") + type.name;
  if (type.link_count != 0 && (type.links == nullptr || type.set_link == nullptr))
    return std::string("the functions of ") + type.name;
  return {};
}

}  // namespace

std::optional<Schema> Schema::make(const verity_automap_schema* given, std::string* error_p) {
  if (given == nullptr || given->types == nullptr || given->count == 0 ||
      given->count > kMostTypes) {
    *error_p = "no schema, or one without types";
    return std::nullopt;
  }
  for (uint64_t i = 0; i < given->count; ++i) {
    *error_p = problem_of(given->types[i]);
    if (!error_p->empty()) return std::nullopt;
  }
  Schema schema(given);
  schema.blanks_.resize(schema.count());
  for (TypeNumber type = 0; type < schema.count(); ++type) {
    if (schema.is_pointer(type)) {
      schema.blanks_[type].links = {{0, sizeof(void*)}};
      continue;
    }
    *error_p = schema.find_blanks(type);
    if (!error_p->empty()) return std::nullopt;
  }
  return schema;
}

std::string Schema::find_blanks(TypeNumber type) {
  const verity_automap_type& of = at(type);
  Blanks& blanks = blanks_[type];
  if (blanks.state == Blanks::State::kOpen) return std::string(of.name) + " contains itself";
  if (of.fields == nullptr || blanks.state == Blanks::State::kKnown) return {};
  blanks.state = Blanks::State::kOpen;
  std::vector<const verity_automap_field*> fields;
  for (uint64_t i = 0; i < of.field_count; ++i) fields.push_back(&of.fields[i]);
  std::sort(fields.begin(), fields.end(),
            [](const auto* a, const auto* b) { return a->offset < b->offset; });
  uint64_t covered = 0;  // bytes from the beginning
  const auto leave_blank_until = [&](uint64_t end) {
    // A packed struct's pointers need not be aligned.
    if (covered + sizeof(void*) <= end) blanks.left_out.push_back({covered, end - covered});
  };
  for (const verity_automap_field* field : fields) {
    leave_blank_until(field->offset);
    covered = std::max(covered, field->offset + field->size * field->copies);
    if (is_link(*field)) blanks.links.push_back({field->offset, field->size * field->copies});
    if (!is_nested(*field)) continue;
    const auto nested = static_cast<TypeNumber>(field->number);
    std::string error = find_blanks(nested);
    if (!error.empty()) return error;
    if (has_blanks(nested))
      blanks.nested.push_back({nested, field->offset, field->size, field->copies});
    blanks.leaves_out |= leaves_out(nested);
  }
  leave_blank_until(of.size);
  blanks.leaves_out |= !blanks.left_out.empty();
  blanks.state = Blanks::State::kKnown;
  return {};
}

void Schema::blank(TypeNumber type, uint8_t* element) const noexcept {
  for (const auto* ranges : {&blanks_[type].links, &blanks_[type].left_out}) {
    for (const Blanks::Range& range : *ranges) std::memset(element + range.offset, 0, range.size);
  }
  for (const Blanks::Nested& nested : blanks_[type].nested) {
    for (uint64_t copy = 0; copy < nested.copies; ++copy)
      blank(nested.type, element + nested.offset + copy * nested.size);
  }
}

void Schema::blank_left_out(TypeNumber type, uint8_t* element) const noexcept {
  for (const Blanks::Range& range : blanks_[type].left_out)
    std::memset(element + range.offset, 0, range.size);
  for (const Blanks::Nested& nested : blanks_[type].nested) {
    if (!leaves_out(nested.type)) continue;
    for (uint64_t copy = 0; copy < nested.copies; ++copy)
      blank_left_out(nested.type, element + nested.offset + copy * nested.size);
  }
}

int Schema::links(TypeNumber type, const void* address, verity_automap_visitor visit,
                  void* context) const {
  if (!is_pointer(type))
    return at(type).links != nullptr ? at(type).links(address, 0, 0, visit, context) : 0;
  verity_automap_link link{};
  link.kind = VERITY_AUTOMAP_OWNED;
  link.type = static_cast<int>(type - own_);
  link.levels = 1;
  link.count = 1;
  std::memcpy(&link.target, address, sizeof(link.target));
  return visit(context, &link);
}

void Schema::set_link(TypeNumber type, void* address, uint64_t number, void* target) const {
  if (is_pointer(type)) {
    std::memcpy(address, &target, sizeof(target));
  } else {
    at(type).set_link(address, number, target);
  }
}

uint64_t Schema::nested(TypeNumber outer, uint64_t offset, TypeNumber inner) const {
  return is_pointer(outer) ? 0 : nested(outer, offset, inner, 0);
}

bool Schema::is_of(const verity_automap_field& field, TypeNumber inner) const {
  if (field.size != size(inner)) return false;
  if (is_pointer(inner)) return is_link(field);
  return field.number == static_cast<int>(inner) || std::strcmp(field.type, at(inner).name) == 0;
}

bool Schema::holds(TypeNumber outer, TypeNumber inner, unsigned depth) const {
  const verity_automap_type& type = at(outer);
  if (type.fields == nullptr || depth > kMostDepth) return false;
  for (uint64_t i = 0; i < type.field_count; ++i) {
    const verity_automap_field& field = type.fields[i];
    if (is_of(field, inner)) return true;
    if (is_nested(field) && holds(static_cast<TypeNumber>(field.number), inner, depth + 1))
      return true;
  }
  return false;
}

uint64_t Schema::nested(TypeNumber outer, uint64_t offset, TypeNumber inner, unsigned depth) const {
  const verity_automap_type& type = at(outer);
  if (type.fields == nullptr || depth > kMostDepth) return 0;
  for (uint64_t i = 0; i < type.field_count; ++i) {
    const verity_automap_field& field = type.fields[i];
    if (offset < field.offset || offset - field.offset >= field.size * field.copies) continue;
    const uint64_t copy = (offset - field.offset) / field.size;
    const uint64_t within = (offset - field.offset) % field.size;
    if (within == 0 && is_of(field, inner)) return field.copies - copy;
    if (is_nested(field))
      return nested(static_cast<TypeNumber>(field.number), within, inner, depth + 1);
  }
  return 0;
}

}  // namespace verity::autolink
