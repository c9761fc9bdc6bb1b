// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cctype>
#include <climits>
#include <utility>

#include "automap/plan/planner.h"

namespace verity::automap {

namespace {

bool is_number(const std::string& text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return std::isdigit(static_cast<unsigned char>(c)) != 0;
  });
}

bool is_integer(const signature::BasicType& basic) {
  using signature::Class;
  const auto cls = static_cast<Class>(basic.cls);
  return cls == Class::kSigned || cls == Class::kUnsigned || cls == Class::kChar ||
         cls == Class::kBool;
}

bool is_char(const Shape& shape) {
  return shape.kind == Kind::kBasic && shape.basic.size == 1 && is_integer(shape.basic);
}

bool has_pointer_shape(const Shape& shape) {
  return shape.kind == Kind::kPointer || shape.problem.starts_with("a pointer to a ") ||
         shape.problem == "an atomic pointer" || shape.problem == "a reference";
}

// Whether something as large as a pointer may lie beside the members.
bool has_room_for_pointer(const Record& record) {
  constexpr uint64_t kPointer = 8;
  std::vector<std::pair<uint64_t, uint64_t>> covered;  // from, until
  for (const Member& member : record.members)
    covered.emplace_back(member.offset, member.offset + member.size);
  covered.emplace_back(record.size, record.size);
  std::ranges::sort(covered);
  uint64_t end = 0;
  for (const auto& [from, until] : covered) {
    if (end + kPointer <= from) return true;
    end = std::max(end, until);
  }
  return false;
}

}  // namespace

void Planner::refuse_member(const Scope& scope, const Member& member, const std::string& reason) {
  const std::string name =
      member.name.empty()
          ? "the anonymous " +
                std::string(model_.records[member.shape.record].is_union ? "union" : "struct")
          : "member " + scope.prefix + member.name;
  refuse(scope.root, member.place,
         name.starts_with("member ") ? name + ": " + reason : name + " " + reason);
}

void Planner::add_members(const Scope& scope, const Record& record) {
  for (const Member& member : record.members) {
    if (member.name.empty() && member.bit_field) continue;  // padding
    add_member(scope, member);
  }
}

void Planner::add_member(const Scope& scope, const Member& member) {
  Directive directive;
  Place place;
  std::string problem = read_directives(member.directives, &directive, &place);
  if (problem.empty()) problem = check_directive(member, directive);
  const bool chosen = !scope.conditions.empty() && scope.conditions.back().values == directive.when;
  if (problem.empty() && !directive.when.empty() && !chosen)
    problem = "when = is for the members of a union with a tag";
  if (!problem.empty()) return refuse_member(scope, member, problem);
  const bool bare_pointer = has_pointer_shape(member.shape) && !directive.links();
  if (directive.ignore || (bare_pointer && settings_.ignore_pointers)) return;
  if (member.bit_field) {
    return refuse_member(scope, member,
                         "a bit-field has no address: make it a whole integer, or map the struct "
                         "with the directive bytes");
  }
  if (!member.accessible)
    return refuse_member(
        scope, member,
        "it is not public, so generated code cannot name it (directive ignore leaves it out)");
  if (std::ranges::count(member.dimensions, 0u) != 0) {
    return refuse_member(
        scope, member,
        "an array whose length is not part of its type (directive ignore leaves it out)");
  }
  if (copies_of(member.dimensions) > INT_MAX || (directive.bytes && member.size > INT_MAX)) {
    return refuse_member(scope, member, "MPI counts no more than INT_MAX elements in a block");
  }
  if (directive.bytes && check_bytes(scope, member)) return add_bytes(scope, member);
  if (directive.bytes) return;
  switch (member.shape.kind) {
    case Kind::kBasic: return add_basic(scope, member);
    case Kind::kRecord: return add_record(scope, member, directive);
    case Kind::kPointer: return add_pointer(scope, member, directive);
    case Kind::kUnsupported: break;
  }
  const bool is_opaque = member.shape.size != 0 && !has_pointer_shape(member.shape);
  refuse_member(scope, member,
                member.shape.problem + (is_opaque ? " (directives: bytes, or ignore)"
                                                  : " (directive ignore leaves it out)"));
}

std::string Planner::check_directive(const Member& member, const Directive& directive) const {
  const bool is_union =
      member.shape.kind == Kind::kRecord && model_.records[member.shape.record].is_union;
  if (directive.links() && member.shape.kind != Kind::kPointer)
    return "owned, reference and string are for pointers to data";
  if (directive.string && !is_char(member.shape.target[0])) return "string is for pointers to char";
  if (!directive.tag.empty() && !is_union) return "tag = is for unions";
  if (!directive.tag.empty() && (directive.bytes || directive.ignore))
    return "a tag has no use with bytes or ignore";
  if (directive.bytes && has_pointer_shape(member.shape))
    return "a pointer's bytes mean nothing elsewhere: owned, reference, string or ignore";
  return "";
}

void Planner::add_block(const Scope& scope, const Member& member, Block block) {
  if (scope.within_bytes) return;
  block.member = scope.prefix + member.name;
  block.offset = scope.offset + member.offset;
  block.size = member.size;
  plan_.mappings[scope.root].blocks.push_back(std::move(block));
}

void Planner::add_basic(const Scope& scope, const Member& member) {
  Block block;
  block.copies = copies_of(member.dimensions);
  block.basic = member.shape.basic;
  add_block(scope, member, std::move(block));
}

bool Planner::check_bytes(const Scope& scope, const Member& member) {
  if (member.shape.kind != Kind::kRecord) return true;
  const std::string why = pointers_in(model_.records[member.shape.record]);
  if (!why.empty()) refuse_member(scope, member, "it cannot be mapped as bytes: " + why);
  return why.empty();
}

// As bytes, whatever is in them.
void Planner::add_bytes(const Scope& scope, const Member& member) {
  if (scope.within_bytes) return;
  Block block{.member = scope.prefix + member.name,
              .offset = scope.offset + member.offset,
              .size = member.size,
              .copies = member.size,
              .basic = *signature::find_basic("MPI_BYTE"),
              .record = kNoRecord};
  if (member.name.empty()) {
    const std::string first = name_at_begin(model_.records[member.shape.record]);
    block.member = first.empty() ? "" : scope.prefix + first;
    block.sized = false;
  }
  plan_.mappings[scope.root].blocks.push_back(std::move(block));
}

// A member that begins where an anonymous record does, which itself has no name.
std::string Planner::name_at_begin(const Record& record) const {
  for (const Member& member : record.members) {
    if (member.offset != 0 || member.bit_field) continue;
    if (!member.name.empty()) return member.name;
    const std::string inner = name_at_begin(model_.records[member.shape.record]);
    if (!inner.empty()) return inner;
  }
  return "";
}

// Returns why the bytes of a record mean nothing elsewhere, or "".
std::string Planner::pointers_in(const Record& record) const {
  if (record.has_hidden_pointer)
    return "it has virtual functions or virtual base classes, whose pointers mean nothing "
           "elsewhere";
  for (const RecordId base : record.bases) {
    std::string why = pointers_in(model_.records[base]);
    if (!why.empty()) return why;
  }
  for (const Member& member : record.members) {
    Directive directive;
    Place place;
    const bool readable = read_directives(member.directives, &directive, &place).empty();
    if (readable && directive.ignore) continue;
    if (member.shape.kind == Kind::kRecord) {
      std::string why = pointers_in(model_.records[member.shape.record]);
      if (!why.empty()) return why;
    } else if (has_pointer_shape(member.shape) && !settings_.ignore_pointers) {
      return "it has pointers, which mean nothing elsewhere";
    }
  }
  if (!has_room_for_pointer(record)) return "";
  if (record.has_unknown_bases)
    return "it has base classes that cannot be looked into and may hold pointers";
  if (record.members.empty() && record.bases.empty())
    return "its members are not known and may be pointers";
  return "";
}

void Planner::add_record(const Scope& scope, const Member& member, const Directive& directive) {
  const Record& record = model_.records[member.shape.record];
  if (record.is_union) return add_union(scope, member, directive);
  if (member.name.empty()) {
    Scope inner = scope;
    inner.offset += member.offset;
    return add_members(inner, record);
  }
  plan_record(member.shape.record);
  const Mapping& mapping = plan_.of(member.shape.record);
  if (mapping.empty) return;
  if (!mapping.mapped) return refuse_member(scope, member, why_not(member.shape.record));
  Block block;
  block.of = Block::Of::kRecord;
  block.copies = copies_of(member.dimensions);
  block.record = member.shape.record;
  add_block(scope, member, std::move(block));
  if (!mapping.has_links) return;
  const uint64_t offset = scope.offset + member.offset;
  if (offset % record.alignment != 0 || record.alignment > model_.records[scope.root].alignment)
    return refuse_member(scope, member, "its pointers are not aligned, as the struct is packed");
  plan_.mappings[scope.root].steps.push_back({.place = member.place,
                                              .member = scope.prefix + member.name,
                                              .dimensions = member.dimensions,
                                              .offset = offset,
                                              .conditions = scope.conditions,
                                              .nested = true,
                                              .record = member.shape.record,
                                              .basic = {},
                                              .count = ""});
}

// Its datatype is bytes whichever member is in use; the links are those of the member that the tag
// names.
void Planner::add_union(const Scope& scope, const Member& member, const Directive& directive) {
  const std::string& tag = directive.tag;
  if (tag.empty()) {
    if (!settings_.unions_as_bytes) {
      return refuse_member(
          scope, member,
          "a union: which member is in use? (directives: tag = MEMBER, bytes, or ignore)");
    }
    return check_bytes(scope, member) ? add_bytes(scope, member) : void();
  }
  if (find_integer(scope.root, tag) == nullptr) {
    return refuse_member(
        scope, member,
        "the tag '" + tag + "' is no integer member of " + model_.records[scope.root].words);
  }
  if (!member.dimensions.empty()) {
    return refuse_member(scope, member,
                         "an array of unions cannot have one tag: put union and tag into a struct");
  }
  add_bytes(scope, member);
  Scope inner = scope;
  inner.offset += member.offset;
  inner.within_bytes = true;
  if (!member.name.empty()) inner.prefix += member.name + ".";
  for (const Member& choice : model_.records[member.shape.record].members)
    add_choice(inner, choice, tag);
}

void Planner::add_choice(const Scope& scope, const Member& choice, const std::string& tag) {
  Directive directive;
  Place place;
  const std::string problem = read_directives(choice.directives, &directive, &place);
  if (problem.empty() && directive.when.empty() && !directive.ignore) {
    return refuse_member(scope, choice,
                         "for which values of " + tag + " is it in use? (directive when = VALUE)");
  }
  Scope chosen = scope;
  chosen.conditions.push_back({tag, directive.when});
  add_member(chosen, choice);
}

const Member* Planner::find_integer(RecordId root, const std::string& name) const {
  std::vector<const Record*> open = {&model_.records[root]};
  while (!open.empty()) {
    const Record* record = open.back();
    open.pop_back();
    for (const Member& member : record->members) {
      const bool simple = member.dimensions.empty() && !member.bit_field && member.accessible;
      if (member.name == name && simple && member.shape.kind == Kind::kBasic &&
          is_integer(member.shape.basic))
        return &member;
      if (member.name.empty() && member.shape.kind == Kind::kRecord)
        open.push_back(&model_.records[member.shape.record]);
    }
  }
  return nullptr;
}

void Planner::add_pointer(const Scope& scope, const Member& member, const Directive& directive) {
  if (!directive.links()) {
    return refuse_member(
        scope, member,
        "a pointer: what does it point to? (directives: owned, reference, string, or ignore)");
  }
  if (member.constant)
    return refuse_member(
        scope, member,
        "a constant pointer cannot be set on the receiving side (directive ignore leaves it out)");
  if (member.size != 8 * copies_of(member.dimensions))
    return refuse_member(scope, member, "a pointer of another size than 8 bytes");
  Step step{.place = member.place,
            .member = scope.prefix + member.name,
            .dimensions = member.dimensions,
            .offset = scope.offset + member.offset,
            .conditions = scope.conditions,
            .record = kNoRecord,
            .basic = {},
            .kind = directive.string  ? LinkKind::kString
                    : directive.owned ? LinkKind::kOwned
                                      : LinkKind::kReference,
            .count = directive.count};
  std::string problem = check_target(member.shape.target[0], directive, &step);
  if (problem.empty()) problem = check_count(scope, directive.count);
  if (!problem.empty()) return refuse_member(scope, member, problem);
  Block block;
  block.of = Block::Of::kLink;
  block.copies = copies_of(member.dimensions);
  block.basic = *signature::find_basic("MPI_UINT64_T");
  add_block(scope, member, std::move(block));
  plan_.mappings[scope.root].steps.push_back(std::move(step));
}

std::string Planner::check_target(const Shape& target, const Directive& directive,
                                  Step* step) const {
  const Shape* shape = &target;
  if (shape->kind == Kind::kPointer && !directive.string) {
    step->levels = 2;
    shape = &shape->target[0];
  }
  switch (shape->kind) {
    case Kind::kBasic: step->basic = shape->basic; return "";
    case Kind::kRecord:
      if (model_.records[shape->record].is_union)
        return "it points to a union, which has no tag of its own (directive ignore leaves it out)";
      step->record = shape->record;
      return "";
    case Kind::kPointer:
      return "a pointer to pointers to pointers (directive ignore leaves it out)";
    case Kind::kUnsupported: break;
  }
  return "it points to " + shape->problem + " (directive ignore leaves it out)";
}

std::string Planner::check_count(const Scope& scope, const std::string& name) const {
  if (name.empty() || is_number(name) || find_integer(scope.root, name) != nullptr) return "";
  return "the count '" + name + "' is no integer member of " + model_.records[scope.root].words;
}

}  // namespace verity::automap
