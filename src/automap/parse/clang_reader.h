// SPDX-License-Identifier: BSD-3-Clause
//
// Walks the declarations of a translation unit and fills the model.
#ifndef VERITY_AUTOMAP_PARSE_CLANG_READER_H
#define VERITY_AUTOMAP_PARSE_CLANG_READER_H

#include <unordered_map>
#include <utility>
#include <vector>

#include "automap/parse/clang_comments.h"
#include "automap/plan/model.h"

namespace verity::automap {

class Reader {
 public:
  // `requested`: the files whose records are mapped.
  Reader(CXTranslationUnit unit, std::vector<CXFile> requested, Model* model)
      : comments_(unit), requested_(std::move(requested)), model_(model) {}

  void read_unit(CXCursor unit);
  // Lines about directives in the requested files that belong to nothing.
  [[nodiscard]] std::string unused_directives();

 private:
  // Where a type was met, for one that has no name.
  struct Use {
    RecordId owner = kNoRecord;
    std::string member;  // "in", "in[0]"
  };

  RecordId record_of(CXCursor declaration, const Use& use);
  Record read_record(CXCursor declaration, RecordId id, const Use& use);
  void name_record(CXCursor declaration, const Use& use, Record* record);
  void read_bases(CXCursor declaration, Record* record);
  void read_members(CXCursor declaration, RecordId owner, Record* record);
  Member read_member(CXCursor field, RecordId owner);

  // clang_shapes.cc
  Shape shape_of(CXType type, const Use& use, std::vector<uint64_t>* dimensions);
  CXType strip(CXType type, std::vector<uint64_t>* dimensions, Use* use, bool* found_typedef) const;
  Shape record_shape(CXType type, const Use& use, std::vector<uint64_t>* dimensions);
  Shape pointer_shape(CXType type, const Use& use);

  Comments comments_;
  std::vector<CXFile> requested_;
  Model* model_;
  std::unordered_multimap<unsigned, std::pair<CXCursor, RecordId>> known_;  // by clang_hashCursor
};

// Of an enumeration: what its values are stored as. Nothing where MPI has no such basic type.
[[nodiscard]] std::optional<signature::BasicType> basic_of_enum(CXType type);
[[nodiscard]] std::optional<signature::BasicType> basic_of_kind(CXType canonical);

}  // namespace verity::automap

#endif
