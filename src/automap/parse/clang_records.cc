// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cctype>

#include "automap/parse/clang_reader.h"

namespace verity::automap {

namespace {

bool is_record(CXCursor cursor) {
  const CXCursorKind kind = clang_getCursorKind(cursor);
  return kind == CXCursor_StructDecl || kind == CXCursor_UnionDecl || kind == CXCursor_ClassDecl;
}

std::string identifier_from(const std::string& spelling) {
  std::string identifier;
  for (const char c : spelling) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      identifier += c;
    } else if (!identifier.empty() && (c == '_' || identifier.back() != '_')) {
      identifier += '_';
    }
  }
  return identifier;
}

std::string without_keyword(std::string spelling) {
  for (const char* word : {"const ", "struct ", "union ", "class "}) {
    if (spelling.starts_with(word)) spelling.erase(0, std::string(word).size());
  }
  return spelling;
}

// clang writes "(unnamed struct at file:line)" for what has no name.
bool unnamed(CXCursor declaration) {
  return words_of(clang_getCursorType(declaration)).find('(') != std::string::npos;
}

bool is_hidden(CXCursor declaration) {
  for (CXCursor outer = declaration; is_record(outer);
       outer = clang_getCursorSemanticParent(outer)) {
    const CX_CXXAccessSpecifier access = clang_getCXXAccessSpecifier(outer);
    if (access == CX_CXXPrivate || access == CX_CXXProtected) return true;
  }
  return false;
}

// What makes a class something else than a sequence of its members, or unknown to generated code.
std::string class_problem(CXCursor declaration) {
  std::string problem;
  if (is_hidden(declaration)) problem = "it is not public, so generated code cannot name it";
  const auto look = [&](CXCursor child) {
    if (clang_getCursorKind(child) == CXCursor_CXXBaseSpecifier)
      problem = "it has a base class, so it is more than its members";
    if (clang_CXXMethod_isVirtual(child) != 0)
      problem = "it has virtual functions, so it is more than its members";
    return problem.empty() ? CXChildVisit_Continue : CXChildVisit_Break;
  };
  visit_children(declaration, look);
  // An instance of a template shows its members alone.
  const CXCursor pattern = clang_getSpecializedCursorTemplate(declaration);
  if (clang_Cursor_isNull(pattern) == 0) visit_children(pattern, look);
  return problem;
}

bool is_base(CXCursor child) { return clang_getCursorKind(child) == CXCursor_CXXBaseSpecifier; }

// Of which the class has a pointer to a table.
bool is_virtual(CXCursor child) {
  return is_base(child) ? clang_isVirtualBase(child) != 0 : clang_CXXMethod_isVirtual(child) != 0;
}

std::vector<CXCursor> fields_of(CXCursor declaration) {
  std::vector<CXCursor> fields;
  clang_Type_visitFields(
      clang_getCursorType(declaration),
      [](CXCursor field, CXClientData data) {
        static_cast<std::vector<CXCursor>*>(data)->push_back(field);
        return CXVisit_Continue;
      },
      &fields);
  return fields;
}

// C++'s name of a struct that C has within another: outer::inner. Empty when a struct around it has
// no name.
std::string scoped_name(CXCursor declaration) {
  std::string name = name_of(declaration);
  for (CXCursor outer = clang_getCursorLexicalParent(declaration); is_record(outer);
       outer = clang_getCursorLexicalParent(outer)) {
    if (unnamed(outer)) return "";
    name = without_keyword(words_of(clang_getCursorType(outer))) + "::" + name;
  }
  return name;
}

}  // namespace

void Reader::read_unit(CXCursor unit) {
  visit_children(unit, [&](CXCursor cursor) {
    const CXCursorKind kind = clang_getCursorKind(cursor);
    if (kind == CXCursor_Namespace || kind == CXCursor_LinkageSpec ||
        kind == CXCursor_UnexposedDecl)
      return CXChildVisit_Recurse;
    if (!is_record(cursor) || clang_isCursorDefinition(cursor) == 0) return CXChildVisit_Continue;
    const CXFile file = position_of(clang_getCursorLocation(cursor)).file;
    const bool wanted = std::ranges::any_of(
        requested_, [&](CXFile known) { return clang_File_isEqual(known, file) != 0; });
    if (!wanted) return CXChildVisit_Continue;
    // What has no name is reached through the member whose type it is; so are declarations within
    // it.
    if (!unnamed(cursor)) model_->records[record_of(cursor, {})].requested = true;
    return CXChildVisit_Recurse;
  });
}

std::string Reader::unused_directives() {
  std::string lines;
  for (const CXFile file : requested_) {
    for (const DirectiveText& directive : comments_.unused(file)) {
      lines += to_string(directive.place) + ": the directive '" + directive.text +
               "' belongs to no member: it stands behind a member on its line, or begins the line "
               "before it\n";
    }
  }
  return lines;
}

RecordId Reader::record_of(CXCursor declaration, const Use& use) {
  const CXCursor definition = clang_getCursorDefinition(declaration);
  if (clang_Cursor_isNull(definition) == 0) declaration = definition;
  const unsigned hash = clang_hashCursor(declaration);
  const auto [first, last] = known_.equal_range(hash);
  for (auto it = first; it != last; ++it) {
    if (clang_equalCursors(it->second.first, declaration) != 0) return it->second.second;
  }
  const RecordId id = model_->records.size();
  known_.emplace(hash, std::pair(declaration, id));
  model_->records.emplace_back();
  Record record = read_record(declaration, id, use);
  record.requested = model_->records[id].requested;
  model_->records[id] = std::move(record);
  return id;
}

Record Reader::read_record(CXCursor declaration, RecordId id, const Use& use) {
  const CXType type = clang_getCursorType(declaration);
  Record record;
  name_record(declaration, use, &record);
  model_->records[id] = record;  // its name, for what its members say of it
  record.place = place_of(declaration);
  record.is_union = clang_getCursorKind(declaration) == CXCursor_UnionDecl;
  const long long size = clang_Type_getSizeOf(type);
  record.complete = size >= 0;
  if (!record.complete) return record;
  record.size = static_cast<uint64_t>(size);
  record.alignment = static_cast<uint64_t>(clang_Type_getAlignOf(type));
  record.accessible = !is_hidden(declaration);
  record.problem = class_problem(declaration);
  read_bases(declaration, &record);
  record.directives = comments_.of_record(extent_of(declaration));
  // The members of an anonymous struct are those of the record around it.
  read_members(declaration, clang_Cursor_isAnonymousRecordDecl(declaration) != 0 ? use.owner : id,
               &record);
  return record;
}

void Reader::read_bases(CXCursor declaration, Record* record) {
  const auto look = [&](CXCursor child) {
    record->has_hidden_pointer |= is_virtual(child);
    if (!is_base(child)) return CXChildVisit_Continue;
    const CXType type = clang_getCanonicalType(clang_getCursorType(child));
    const CXCursor base = clang_getTypeDeclaration(type);
    if (is_record(base) && clang_Type_getSizeOf(type) >= 0) {
      record->bases.push_back(record_of(base, {}));
    } else {
      record->has_unknown_bases = true;  // it depends on a parameter of the template
    }
    return CXChildVisit_Continue;
  };
  visit_children(declaration, look);
  const CXCursor pattern = clang_getSpecializedCursorTemplate(declaration);
  if (clang_Cursor_isNull(pattern) == 0) visit_children(pattern, look);
}

void Reader::name_record(CXCursor declaration, const Use& use, Record* record) {
  const std::string spelling = words_of(clang_getCanonicalType(clang_getCursorType(declaration)));
  const bool within_record = is_record(clang_getCursorLexicalParent(declaration));
  const std::string scoped = within_record ? scoped_name(declaration) : "";
  if (!unnamed(declaration) && (!within_record || !scoped.empty())) {
    record->spelling = spelling;
    record->words = spelling;
    if (within_record && !model_->cxx) record->cxx_spelling = scoped;
    record->identifier =
        identifier_from(without_keyword(record->cxx_spelling.empty() ? spelling : scoped));
    return;
  }
  const bool is_union = clang_getCursorKind(declaration) == CXCursor_UnionDecl;
  record->owner = use.owner;
  record->owner_member = use.member;
  const std::string owner = use.owner == kNoRecord ? "" : model_->records[use.owner].identifier;
  record->identifier = identifier_from(owner + "_" + use.member.substr(0, use.member.find('[')));
  record->words =
      std::string(is_union ? "union " : "struct ") +
      (owner.empty() ? "without a name" : owner + "." + use.member.substr(0, use.member.find('[')));
}

void Reader::read_members(CXCursor declaration, RecordId owner, Record* record) {
  const std::vector<CXCursor> fields = fields_of(declaration);
  std::vector<Extent> extents;
  for (const CXCursor field : fields) {
    // libclang gives the member of an anonymous record the extent of the word struct alone.
    extents.push_back(extent_of(name_of(field).empty() && clang_Cursor_isBitField(field) == 0
                                    ? clang_getTypeDeclaration(clang_getCursorType(field))
                                    : field));
  }
  for (std::size_t i = 0; i < fields.size(); ++i) {
    // Before the member's type is read, whose own record may begin at the same place.
    std::vector<DirectiveText> directives = comments_.of_member(extents[i], extents);
    Member member = read_member(fields[i], owner);
    member.directives = std::move(directives);
    record->members.push_back(std::move(member));
  }
}

Member Reader::read_member(CXCursor field, RecordId owner) {
  Member member;
  const CXType type = clang_getCursorType(field);
  member.name = name_of(field);
  member.place = place_of(field);
  member.bit_field = clang_Cursor_isBitField(field) != 0;
  const long long bits = clang_Cursor_getOffsetOfField(field);
  member.offset = bits < 0 ? 0 : static_cast<uint64_t>(bits) / 8;
  const long long size = clang_Type_getSizeOf(type);
  member.size = size < 0 ? 0 : static_cast<uint64_t>(size);
  member.constant = clang_isConstQualifiedType(type) != 0;
  const CX_CXXAccessSpecifier access = clang_getCXXAccessSpecifier(field);
  member.accessible = access != CX_CXXPrivate && access != CX_CXXProtected;
  member.shape = shape_of(type, {.owner = owner, .member = member.name}, &member.dimensions);
  return member;
}

}  // namespace verity::automap
