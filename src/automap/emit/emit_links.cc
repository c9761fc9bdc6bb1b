// SPDX-License-Identifier: BSD-3-Clause
#include "automap/emit/emit.h"

namespace verity::automap {

namespace {

std::string number(uint64_t value) { return std::to_string(value); }

// "self->child[i / 3][i % 3]"
std::string place_of(const Step& step) {
  std::string text = "self->" + step.member;
  uint64_t behind = copies_of(step.dimensions);
  for (std::size_t d = 0; d < step.dimensions.size(); ++d) {
    behind /= step.dimensions[d];
    std::string index = behind == 1 ? "i" : "i / " + number(behind);
    if (d != 0)
      index = behind == 1 ? "i % " + number(step.dimensions[d])
                          : "(" + index + ") % " + number(step.dimensions[d]);
    text += "[" + index + "]";
  }
  return text;
}

std::string condition_of(const Step& step) {
  std::string text;
  for (const Condition& condition : step.conditions) {
    std::string any;
    for (const std::string& value : condition.values) {
      any += (any.empty() ? "" : " || ") + std::string("(int64_t)self->") + condition.tag +
             " == (int64_t)" + value;
    }
    text += (text.empty() ? "" : " && ") +
            (condition.values.size() > 1 && step.conditions.size() > 1 ? "(" + any + ")" : any);
  }
  return text;
}

std::string count_of(const Step& step) {
  if (step.kind == LinkKind::kString) return "0";
  if (step.count.empty()) return "1";
  const bool literal = step.count.find_first_not_of("0123456789") == std::string::npos;
  return literal ? step.count : "verity_automap_count((int64_t)self->" + step.count + ")";
}

const char* kind_name(LinkKind kind) {
  switch (kind) {
    case LinkKind::kOwned: return "VERITY_AUTOMAP_OWNED";
    case LinkKind::kReference: return "VERITY_AUTOMAP_REFERENCE";
    case LinkKind::kString: return "VERITY_AUTOMAP_STRING";
  }
  return "";
}

// "first + 3 + i * 2"
std::string scaled(const char* base, uint64_t offset, bool is_array, uint64_t stride) {
  return base + (offset == 0 ? "" : " + " + number(offset)) +
         (is_array ? " + i" + (stride == 1 ? "" : " * " + number(stride)) : "");
}

std::string target_number(const Output& output, const Step& step) {
  if (step.record != kNoRecord) return name_for(output, "number", step.record);
  return output.prefix + "_number_" + std::string(signature::name_of(step.basic.id));
}

std::string visit_call(const Output& output, const Step& step, uint64_t before) {
  const bool is_array = !step.dimensions.empty();
  const uint64_t stride = step.nested ? output.model.records[step.record].size : sizeof(void*);
  const std::string offset = scaled("offset", step.offset, is_array, stride);
  if (step.nested) {
    return name_for(output, "links", step.record) + "(&" + place_of(step) + ", " +
           scaled("first", before, is_array, link_count(output.plan, step.record)) + ", " + offset +
           ", visit, context)";
  }
  return "verity_automap_visit_link(visit, context, " + std::string(kind_name(step.kind)) + ", " +
         target_number(output, step) + ", " + number(step.levels) + ", " + count_of(step) + ", " +
         scaled("first", before, is_array, 1) + ", " + offset + ",\n" + std::string(37, ' ') +
         "(const void*)" + place_of(step) + ")";
}

std::string visit_step(const Output& output, const Step& step, uint64_t before) {
  const std::string condition = condition_of(step);
  const std::string first =
      step.dimensions.empty()
          ? "  if (stop == 0"
          : "  for (uint64_t i = 0; i < " + number(copies_of(step.dimensions)) + " && stop == 0";
  const std::string last = step.dimensions.empty() ? "" : "; ++i";
  const std::string guard = condition.empty() ? "" : " && (" + condition + ")";
  return first + guard + last + ") {\n    stop = " + visit_call(output, step, before) + ";\n  }\n";
}

// Of one link, of several in a row.
std::string range_of(uint64_t before, uint64_t links) {
  if (links == 1) return "link == " + number(before);
  // No comparison that is always true: the compiler would warn.
  if (before == 0) return "link < " + number(links);
  return "link >= " + number(before) + " && link < " + number(before + links);
}

std::string set_step(const Output& output, const Step& step, uint64_t before) {
  const uint64_t each = step.nested ? link_count(output.plan, step.record) : 1;
  const uint64_t links = copies_of(step.dimensions) * each;
  const std::string relative = before == 0 ? "link" : "(link - " + number(before) + ")";
  std::string text = "  if (" + range_of(before, links) + ") {\n";
  if (!step.dimensions.empty())
    text += "    const uint64_t i = " + relative + (each == 1 ? "" : " / " + number(each)) + ";\n";
  if (step.nested) {
    return text + "    return " + name_for(output, "set_link", step.record) + "(&" +
           place_of(step) + ", " + (each == 1 ? "0" : relative + " % " + number(each)) +
           ", target);\n  }\n";
  }
  const std::string place = place_of(step);
  return text + "    " + place + " = (__typeof__(" + place + "))target;\n    return 0;\n  }\n";
}

std::string functions(const Output& output, RecordId id) {
  const std::string type = type_name(output, id);
  std::string visits, sets;
  uint64_t before = 0;
  for (const Step& step : output.plan.of(id).steps) {
    visits += visit_step(output, step, before);
    sets += set_step(output, step, before);
    before += copies_of(step.dimensions) * (step.nested ? link_count(output.plan, step.record) : 1);
  }
  const std::string function = "VERITY_AUTOMAP_FUNCTION int ";
  return "/* " + output.model.records[id].words + " */\n" + function +
         name_for(output, "links", id) +
         "(const void* element, uint64_t first, size_t offset, verity_automap_visitor visit,\n    "
         "void* context) {\n  const " +
         type + "* const self = (const " + type + "*)element;\n  int stop = 0;\n" + visits +
         "  return stop;\n}\n" + function + name_for(output, "visit", id) + "(const " + type +
         "* element, verity_automap_visitor visit, void* context) {\n  return " +
         name_for(output, "links", id) + "(element, 0, 0, visit, context);\n}\n" + function +
         name_for(output, "set_link", id) + "(void* element, uint64_t link, void* target) {\n  " +
         type + "* const self = (" + type + "*)element;\n" + sets + "  return -1;\n}\n\n";
}

}  // namespace

std::string emit_links(const Output& output) {
  std::string text;
  for (const RecordId id : output.plan.order) {
    if (output.plan.of(id).has_links) text += functions(output, id);
  }
  if (text.empty()) return "";
  return "/* PREFIX_visit_TYPE calls visit for each pointer of an element, in the order of their "
         "numbers, until it returns something other\n"
         " * than 0, and returns that. PREFIX_set_link_TYPE sets the pointer with that number; -1: "
         "there is none. */\n" +
         text;
}

}  // namespace verity::automap
