// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <bit>

#include "automap/emit/emit.h"

namespace verity::automap {

namespace {

constexpr const char* kByteOrder =
    std::endian::native == std::endian::little ? "__ORDER_LITTLE_ENDIAN__" : "__ORDER_BIG_ENDIAN__";

// X(identifier, type) for each record that a predicate holds for, so that a program can do
// something for all.
template <typename Predicate>
std::string list_macro(const Output& output, const char* name, Predicate predicate) {
  std::string text = "#define " + output.prefix + "_" + name + "(X)";
  for (const RecordId id : output.plan.order) {
    if (predicate(output.plan.of(id)))
      text +=
          " \\\n  X(" + output.model.records[id].identifier + ", " + type_name(output, id) + ")";
  }
  return text + "\n";
}

uint64_t number_of(const Output& output, RecordId id) {
  return static_cast<uint64_t>(std::ranges::find(output.plan.order, id) -
                               output.plan.order.begin());
}

std::string field_row(const Output& output, const Block& block) {
  const std::string size = std::to_string(block.copies == 0 ? 0 : block.size / block.copies);
  const bool nested = block.of == Block::Of::kRecord;
  const std::string type = nested ? output.model.records[block.record].words
                                  : std::string(signature::name_of(block.basic.id));
  return "  {\"" + block.member + "\", \"" + (block.of == Block::Of::kLink ? "link" : type) +
         "\", " + (nested ? std::to_string(number_of(output, block.record)) : "-1") + ", " +
         std::to_string(block.offset) + ", " + size + ", " + std::to_string(block.copies) + "},\n";
}

std::string hash_text(const std::string& text) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3u;
  return "UINT64_C(" + std::to_string(hash) + ")";
}

// All that a peer must agree with before it can read elements: layouts, types, what links lead to.
std::string description(const Output& output) {
  std::string text = kByteOrder;
  for (const RecordId id : output.plan.order) {
    const Record& record = output.model.records[id];
    text += "\n" + record.identifier + " " + std::to_string(record.size) + " " +
            std::to_string(record.alignment) + "\n";
    for (const Block& block : output.plan.of(id).blocks) text += field_row(output, block);
    for (const Step& step : output.plan.of(id).steps) {
      text += step.member + " " + std::to_string(step.offset) + " " +
              std::to_string(static_cast<unsigned>(step.kind)) + " " + std::to_string(step.levels) +
              " " +
              (step.record == kNoRecord ? std::string(signature::name_of(step.basic.id))
                                        : output.model.records[step.record].identifier);
      if (!step.count.empty()) text += " count " + step.count;
      for (const uint64_t dimension : step.dimensions) text += " " + std::to_string(dimension);
      for (const Condition& condition : step.conditions) {
        text += " " + condition.tag + " =";
        for (const std::string& value : condition.values) text += " " + value;
      }
      text += "\n";
    }
  }
  return text;
}

std::string table_row(const Output& output, RecordId id) {
  const Record& record = output.model.records[id];
  const Mapping& mapping = output.plan.of(id);
  const std::string functions =
      mapping.has_links ? name_for(output, "links", id) + ", " + name_for(output, "set_link", id)
                        : "VERITY_AUTOMAP_NONE, VERITY_AUTOMAP_NONE";
  return "  {\"" + record.words + "\", " + std::to_string(record.size) + ", " +
         std::to_string(record.alignment) + ", " + signature_text(output.types[id].values) +
         ",\n   " + signature_text(output.types[id].linked) + ",\n   " +
         name_for(output, "fields", id) + ", " + std::to_string(mapping.blocks.size()) + ", " +
         std::to_string(link_count(output.plan, id)) + ", " + functions + "},\n";
}

}  // namespace

std::string emit_signatures(const Output& output) {
  if (output.plan.order.empty()) return "";
  std::string text =
      "/* The types with values, and those with links to other elements. */\n" +
      list_macro(output, "RECORDS", [](const Mapping& mapping) { return mapping.has_values; }) +
      list_macro(output, "LINKED_RECORDS",
                 [](const Mapping& mapping) { return mapping.has_links; }) +
      "\n/* Numbers of the types in " + output.prefix + "_schema. */\nenum {\n";
  for (const RecordId id : output.plan.order) text += "  " + name_for(output, "number", id) + ",\n";
  for (const signature::BasicType& basic : target_basics(output.plan)) {
    text += "  " + output.prefix + "_number_" + std::string(signature::name_of(basic.id)) + ",\n";
  }
  text += "  " + output.prefix +
          "_number_end\n};\n\n/* Signatures: basic elements, hash by class and size, hash by name. "
          "*/\n";
  for (const RecordId id : output.plan.order) {
    const std::string constant = "VERITY_AUTOMAP_CONSTANT verity_automap_signature ";
    if (output.plan.of(id).has_values) {
      text += constant + name_for(output, "signature", id) + " =\n  " +
              signature_text(output.types[id].values) + ";\n";
    }
    if (output.plan.of(id).has_links) {
      text += constant + name_for(output, "linked_signature", id) + " =\n  " +
              signature_text(output.types[id].linked) + ";\n";
    }
  }
  text += "\n/* Fields: name, type, number of the type or -1, offset, bytes of one, how many. */\n";
  for (const RecordId id : output.plan.order) {
    text += "VERITY_AUTOMAP_CONSTANT verity_automap_field " + name_for(output, "fields", id) +
            "[] = {\n";
    for (const Block& block : output.plan.of(id).blocks) text += field_row(output, block);
    text += "};\n";
  }
  return text + "\n";
}

std::string emit_schema(const Output& output) {
  if (output.plan.order.empty()) return "";
  const std::vector<signature::BasicType> basics = target_basics(output.plan);
  std::string text =
      "VERITY_AUTOMAP_CONSTANT verity_automap_type " + output.prefix + "_types[] = {\n";
  for (const RecordId id : output.plan.order) text += table_row(output, id);
  for (const signature::BasicType& basic : basics) {
    const std::string size = std::to_string(basic.size),
                      signature = signature_text(signature::Type::leaf(basic));
    text += "  {\"" + std::string(signature::name_of(basic.id)) + "\", " + size + ", " + size +
            ", " + signature + ",\n   " + signature +
            ",\n   VERITY_AUTOMAP_NONE, 0, 0, VERITY_AUTOMAP_NONE, VERITY_AUTOMAP_NONE},\n";
  }
  text += "};\n\n/* Its hash differs where sizes, offsets, types, links or the byte order do. */\n";
  text += "VERITY_AUTOMAP_ASSERT(__BYTE_ORDER__ == " + std::string(kByteOrder) +
          ", \"the byte order is another one\");\n";
  return text + "VERITY_AUTOMAP_CONSTANT verity_automap_schema " + output.prefix +
         "_schema = {\n  " + hash_text(description(output)) + ", " +
         std::to_string(output.plan.order.size() + basics.size()) + ", " + output.prefix +
         "_types};\n\n";
}

}  // namespace verity::automap
