// SPDX-License-Identifier: BSD-3-Clause
#include <set>

#include "automap/emit/emit.h"

namespace verity::automap {

namespace {

std::string assertion(const std::string& condition, const std::string& words) {
  return "VERITY_AUTOMAP_ASSERT(" + condition + ", \"" + words + "\");\n";
}

// A name for a type that has none, or one that C and C++ write differently. That of the record
// around it comes first.
void add_alias(const Output& output, RecordId id, std::set<RecordId>* done, std::string* text) {
  const Record& record = output.model.records[id];
  const std::string name = type_name(output, id);
  if (name == record.spelling || !done->insert(id).second) return;
  if (record.spelling.empty()) {
    add_alias(output, record.owner, done, text);
    *text += "typedef __typeof__(((" + type_name(output, record.owner) + "*)0)->" +
             record.owner_member + ") " + name + ";\n";
  } else if (record.cxx_spelling.empty()) {
    *text += "typedef " + record.spelling + " " + name + ";\n";
  } else {
    *text += "#ifdef __cplusplus\ntypedef " + record.cxx_spelling + " " + name +
             ";\n#else\ntypedef " + record.spelling + " " + name + ";\n#endif\n";
  }
}

std::string assertions(const Output& output, RecordId id) {
  const Record& record = output.model.records[id];
  const std::string type = type_name(output, id);
  std::string text = assertion("sizeof(" + type + ") == " + std::to_string(record.size),
                               record.words + ": another size");
  for (const Block& block : output.plan.of(id).blocks) {
    if (block.member.empty()) continue;
    const std::string words = record.words + ", member " + block.member;
    text +=
        assertion("offsetof(" + type + ", " + block.member + ") == " + std::to_string(block.offset),
                  words + ": another offset");
    if (!block.sized) continue;
    text += assertion(
        "sizeof(((" + type + "*)0)->" + block.member + ") == " + std::to_string(block.size),
        words + ": another size");
  }
  // Links within a union, whose block is that of the union.
  for (const Step& step : output.plan.of(id).steps) {
    if (step.conditions.empty()) continue;
    text +=
        assertion("offsetof(" + type + ", " + step.member + ") == " + std::to_string(step.offset),
                  record.words + ", member " + step.member + ": another offset");
  }
  return text;
}

}  // namespace

std::string emit_layout(const Output& output) {
  std::string text;
  std::set<RecordId> done;
  for (const RecordId id : output.plan.order) {
    const Record& record = output.model.records[id];
    text += "/* " + record.words + ", " + to_string(record.place) + " */\n";
    add_alias(output, id, &done, &text);
    text += assertions(output, id) + "\n";
  }
  if (!output.model.cxx) return text;
  // Only types of standard layout are mapped; what is left out of one may make it another.
  return "#pragma GCC diagnostic push\n#pragma GCC diagnostic ignored \"-Winvalid-offsetof\"\n" +
         text + "#pragma GCC diagnostic pop\n\n";
}

std::string emit_header(const Output& output) {
  std::string text = file_begin(output, output.stem) + "#include <ucx-verity/automap.h>\n\n";
  for (const std::string& header : output.model.headers) text += "#include \"" + header + "\"\n";
  return text + "\n" + emit_layout(output) + emit_signatures(output) + emit_links(output) +
         emit_schema(output) + file_end(output.stem);
}

}  // namespace verity::automap
