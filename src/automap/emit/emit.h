// SPDX-License-Identifier: BSD-3-Clause
//
// The generated headers, as text: STEM.h needs no MPI, STEM_mpi.h builds the datatypes. Both are
// C11 and C++17.
#ifndef VERITY_AUTOMAP_EMIT_EMIT_H
#define VERITY_AUTOMAP_EMIT_EMIT_H

#include <string>
#include <vector>

#include "automap/emit/signature_of.h"
#include "automap/plan/plan.h"

namespace verity::automap {

struct Output {
  const Model& model;
  const Plan& plan;
  std::vector<RecordTypes> types;
  std::string prefix;     // of every generated name
  std::string stem;       // of the generated files' names, without a folder
  std::string generator;  // "verity-types automap 0.1.0"
};

[[nodiscard]] std::string emit_header(const Output& output);      // STEM.h
[[nodiscard]] std::string emit_mpi_header(const Output& output);  // STEM_mpi.h

// ---- parts of STEM.h
// ----------------------------------------------------------------------------- Names for types
// that have none, static assertions on size and offsets.
[[nodiscard]] std::string emit_layout(const Output& output);
// Numbers of the types, their signatures and fields.
[[nodiscard]] std::string emit_signatures(const Output& output);
// visit and set_link of each record that has links.
[[nodiscard]] std::string emit_links(const Output& output);
// The table of all types, and the hash of all that a peer must agree with.
[[nodiscard]] std::string emit_schema(const Output& output);

// ---- shared
// --------------------------------------------------------------------------------------
// PREFIX_what_IDENTIFIER
[[nodiscard]] std::string name_for(const Output& output, const char* what, RecordId id);
// How generated code calls the type of a record.
[[nodiscard]] std::string type_name(const Output& output, RecordId id);
// Pointers in one element.
[[nodiscard]] uint64_t link_count(const Plan& plan, RecordId id);
// Records first, then the basic types that pointers lead to.
[[nodiscard]] std::vector<signature::BasicType> target_basics(const Plan& plan);
// "{3, 0x...u, 0x...u}": number of elements, hash by class and size, hash by name.
[[nodiscard]] std::string signature_text(const signature::Type& type);
// #ifndef of a file, and its comment.
[[nodiscard]] std::string file_begin(const Output& output, const std::string& stem);
[[nodiscard]] std::string file_end(const std::string& stem);

}  // namespace verity::automap

#endif
