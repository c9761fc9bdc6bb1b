// SPDX-License-Identifier: BSD-3-Clause
#include "automap/plan/plan.h"

#include <algorithm>
#include <climits>
#include <map>

#include "automap/plan/planner.h"

namespace verity::automap {

namespace {

bool has_name(const Record& record, const std::string& name) {
  return name == record.identifier || name == record.spelling || name == record.cxx_spelling ||
         "struct " + name == record.spelling;
}

}  // namespace

Plan make_plan(const Model& model, const Settings& settings) {
  return Planner(model, settings).run();
}

std::string unknown_record(const Model& model, const Settings& settings) {
  for (const std::string& name : settings.only) {
    if (!std::ranges::any_of(model.records, [&](const Record& record) {
          return record.requested && has_name(record, name);
        }))
      return name;
  }
  return "";
}

Plan Planner::run() {
  for (RecordId id = 0; id < model_.records.size(); ++id) {
    if (is_wanted(model_.records[id])) plan_record(id);
  }
  check_targets();
  std::erase_if(plan_.order, [&](RecordId id) { return !plan_.of(id).mapped; });
  return std::move(plan_);
}

// A union has no fixed type: it is mapped where a struct uses it.
bool Planner::is_wanted(const Record& record) const {
  if (!record.requested || record.is_union) return false;
  Directive directive;
  Place place;
  if (read_directives(record.directives, &directive, &place).empty() && directive.ignore)
    return false;
  return settings_.only.empty() ||
         std::ranges::any_of(settings_.only,
                             [&](const std::string& name) { return has_name(record, name); });
}

bool Planner::own_directive(RecordId id, Directive* directive_p) {
  const Record& record = model_.records[id];
  Place place;
  const std::string problem = read_directives(record.directives, directive_p, &place);
  if (!problem.empty()) {
    refuse(id, place, problem);
  } else if (directive_p->links() || !directive_p->tag.empty() || !directive_p->when.empty()) {
    refuse(id, record.directives.front().place, "only ignore and bytes apply to a whole struct");
  } else if (directive_p->ignore) {
    refuse(id, record.place, "its directive is ignore");
  }
  return plan_.of(id).refusals.empty();
}

void Planner::plan_record(RecordId id) {
  Mapping& mapping = plan_.mappings[id];
  if (mapping.considered) return;
  mapping.considered = true;
  const Record& record = model_.records[id];
  Directive directive;
  if (!own_directive(id, &directive)) return;
  check_record(id);
  if (mapping.refusals.empty()) {
    if (directive.bytes) {
      plan_bytes(id);
    } else if (!record.problem.empty()) {
      refuse(id, record.place, record.problem);
    } else if (record.members.empty() && record.size > 1) {
      refuse(id, record.place, "its members are not known");
    } else {
      add_members({.root = id, .prefix = "", .conditions = {}}, record);
    }
  }
  for (const Block& block : mapping.blocks) {
    mapping.has_values |= block.of == Block::Of::kBasic ||
                          (block.of == Block::Of::kRecord && plan_.of(block.record).has_values);
  }
  mapping.has_links = !mapping.steps.empty();
  mapping.empty = mapping.refusals.empty() && !mapping.has_values && !mapping.has_links;
  if (mapping.empty) refuse(id, record.place, "it has no members to transfer");
  mapping.mapped = mapping.refusals.empty();
  if (mapping.mapped) plan_.order.push_back(id);
}

void Planner::check_record(RecordId id) {
  const Record& record = model_.records[id];
  if (!record.complete) {
    refuse(id, record.place, "it is declared, but not defined, in the headers that were read");
  } else if (record.spelling.empty() && record.owner == kNoRecord) {
    refuse(id, record.place, "it has no name by which generated code could call it");
  }
  for (const RecordId other : plan_.order) {
    if (model_.records[other].identifier != record.identifier) continue;
    refuse(id, record.place,
           "its generated names would be those of " + model_.records[other].words + " (" +
               to_string(model_.records[other].place) + ")");
  }
}

void Planner::plan_bytes(RecordId id) {
  const Record& record = model_.records[id];
  const std::string why = pointers_in(record);
  if (!why.empty()) {
    refuse(id, record.place, "it cannot be mapped as bytes: " + why);
  } else if (!record.accessible) {
    refuse(id, record.place, "it is not public, so generated code cannot name it");
  } else if (record.size > INT_MAX) {
    refuse(id, record.place, "MPI counts no more than INT_MAX bytes in a block");
  } else {
    plan_.mappings[id].blocks.push_back({.member = "",
                                         .size = record.size,
                                         .copies = record.size,
                                         .basic = *signature::find_basic("MPI_BYTE"),
                                         .record = kNoRecord});
  }
}

// What a pointer leads to must be mapped too; a refusal there is one here, and so on.
void Planner::check_targets() {
  for (std::size_t next = 0; next < plan_.order.size(); ++next) {
    for (const Step& step : std::vector<Step>(plan_.of(plan_.order[next]).steps)) {
      if (step.record != kNoRecord) plan_record(step.record);
    }
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (const RecordId id : plan_.order) {
      Mapping& mapping = plan_.mappings[id];
      if (!mapping.mapped) continue;
      const auto refused = [&](RecordId other) {
        return other != kNoRecord && !plan_.of(other).mapped;
      };
      for (const Step& step : mapping.steps) {
        if (refused(step.record))
          refuse(id, step.place, "member " + step.member + ": " + why_not(step.record));
      }
      for (const Block& block : mapping.blocks) {
        if (refused(block.record))
          refuse(id, model_.records[id].place,
                 "member " + block.member + ": " + why_not(block.record));
      }
      mapping.mapped = mapping.refusals.empty();
      changed |= !mapping.mapped;
    }
  }
}

std::string Planner::why_not(RecordId id) const {
  const Record& record = model_.records[id];
  const Mapping& mapping = plan_.of(id);
  if (mapping.refusals.empty()) return record.words + " is not mapped";
  const Refusal& first = mapping.refusals.front();
  // One reason is enough: the rest of a chain is reported with the record that it begins at.
  return record.words + " is refused (" + to_string(first.place) + ")";
}

void Planner::refuse(RecordId id, const Place& place, const std::string& words) {
  const std::string& name = model_.records[id].words;
  plan_.mappings[id].refusals.push_back(
      {place, name + (words.starts_with("member ") ? ", " : ": ") + words});
}

}  // namespace verity::automap
