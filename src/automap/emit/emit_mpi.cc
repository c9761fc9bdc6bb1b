// SPDX-License-Identifier: BSD-3-Clause
#include "automap/emit/emit.h"

namespace verity::automap {

namespace {

enum class Form { kValues, kLinked };

bool has_form(const Mapping& mapping, Form form) {
  return form == Form::kValues ? mapping.has_values : mapping.has_links;
}

// The builder of a record's datatype within another: a record without links has one form for both.
std::string builder_name(const Output& output, RecordId id, Form form) {
  return name_for(output,
                  form == Form::kLinked && output.plan.of(id).has_links ? "mpi_linked" : "mpi", id);
}

bool in_datatype(const Output& output, const Block& block, Form form) {
  switch (block.of) {
    case Block::Of::kBasic: return true;
    case Block::Of::kLink: return form == Form::kLinked;
    case Block::Of::kRecord:
      return form == Form::kLinked || output.plan.of(block.record).has_values;
  }
  return false;
}

struct Rows {
  std::string lengths, displacements, types, nested, freed;
  unsigned count = 0;
};

Rows rows_of(const Output& output, const Mapping& mapping, Form form) {
  Rows rows;
  for (const Block& block : mapping.blocks) {
    if (!in_datatype(output, block, form)) continue;
    const char* const comma = rows.count == 0 ? "" : ", ";
    rows.lengths += comma + std::to_string(block.copies);
    rows.displacements += comma + std::to_string(block.offset);
    const std::string index = std::to_string(rows.count++);
    if (block.of != Block::Of::kRecord) {
      rows.types += comma + std::string(signature::name_of(block.basic.id));
      continue;
    }
    rows.types += comma + std::string("MPI_DATATYPE_NULL");
    rows.nested +=
        "  if (status == MPI_SUCCESS) status = " + builder_name(output, block.record, form) +
        "(&types[" + index + "]);\n";
    rows.freed += "  verity_automap_free(&types[" + index + "]);\n";
  }
  return rows;
}

std::string builder(const Output& output, RecordId id, Form form) {
  const Record& record = output.model.records[id];
  const Mapping& mapping = output.plan.of(id);
  if (!has_form(mapping, form)) return "";
  const Rows rows = rows_of(output, mapping, form);
  return "/* " + record.words +
         (form == Form::kLinked ? ", with its links as 64-bit numbers" : "") +
         " */\nVERITY_AUTOMAP_FUNCTION int " + builder_name(output, id, form) +
         "(MPI_Datatype* newtype) {\n  const int lengths[] = {" + rows.lengths +
         "};\n  const MPI_Aint displacements[] = {" + rows.displacements +
         "};\n  MPI_Datatype types[] = {" + rows.types + "};\n  int status = MPI_SUCCESS;\n" +
         rows.nested + "  if (status == MPI_SUCCESS) {\n    status = verity_automap_struct(" +
         std::to_string(rows.count) + ", lengths, displacements, types, " +
         std::to_string(record.size) + ", newtype);\n  }\n" + rows.freed +
         "  return status;\n}\n\n";
}

}  // namespace

std::string emit_mpi_header(const Output& output) {
  const std::string stem = output.stem + "_mpi";
  std::string text = file_begin(output, stem) +
                     "#include <ucx-verity/automap_mpi.h>\n\n#include \"" + output.stem +
                     ".h\"\n\n";
  text +=
      "/* Each builds a committed datatype, the caller's to free with MPI_Type_free; its extent is "
      "the size of the type, so that\n"
      " * arrays are sent with their number of elements. Returns MPI_SUCCESS, or the error of an "
      "MPI call. */\n\n";
  for (const RecordId id : output.plan.order)
    text += builder(output, id, Form::kValues) + builder(output, id, Form::kLinked);
  return text + file_end(stem);
}

}  // namespace verity::automap
