// SPDX-License-Identifier: BSD-3-Clause
//
// How make_plan() works: from the members of a record to its blocks and steps. plan.cc has the
// records, plan_members.cc the members.
#ifndef VERITY_AUTOMAP_PLAN_PLANNER_H
#define VERITY_AUTOMAP_PLAN_PLANNER_H

#include <string>
#include <vector>

#include "automap/plan/plan.h"

namespace verity::automap {

class Planner {
 public:
  Planner(const Model& model, const Settings& settings)
      : model_(model), settings_(settings), plan_{} {
    plan_.mappings.resize(model.records.size());
  }
  [[nodiscard]] Plan run();

 private:
  // Where the members that are looked at lie: in the record itself, in an anonymous one or in a
  // union of it.
  struct Scope {
    RecordId root;              // the record that is planned
    uint64_t offset = 0;        // of the scope in it
    std::string prefix;         // "u."
    bool within_bytes = false;  // a block of bytes already covers it
    std::vector<Condition> conditions;
  };

  // plan.cc
  void plan_record(RecordId id);
  void plan_bytes(RecordId id);
  void check_record(RecordId id);
  void check_targets();
  [[nodiscard]] bool is_wanted(const Record& record) const;
  [[nodiscard]] bool own_directive(RecordId id, Directive* directive_p);
  [[nodiscard]] std::string why_not(RecordId id) const;
  void refuse(RecordId id, const Place& place, const std::string& words);

  // plan_members.cc
  void add_members(const Scope& scope, const Record& record);
  void add_member(const Scope& scope, const Member& member);
  void add_basic(const Scope& scope, const Member& member);
  void add_bytes(const Scope& scope, const Member& member);
  [[nodiscard]] bool check_bytes(const Scope& scope, const Member& member);
  void add_choice(const Scope& scope, const Member& choice, const std::string& tag);
  void add_record(const Scope& scope, const Member& member, const Directive& directive);
  void add_union(const Scope& scope, const Member& member, const Directive& directive);
  void add_pointer(const Scope& scope, const Member& member, const Directive& directive);
  void add_block(const Scope& scope, const Member& member, Block block);
  void refuse_member(const Scope& scope, const Member& member, const std::string& reason);
  [[nodiscard]] std::string check_directive(const Member& member, const Directive& directive) const;
  [[nodiscard]] std::string check_target(const Shape& target, const Directive& directive,
                                         Step* step) const;
  [[nodiscard]] std::string check_count(const Scope& scope, const std::string& name) const;
  [[nodiscard]] const Member* find_integer(RecordId root, const std::string& name) const;
  [[nodiscard]] std::string name_at_begin(const Record& record) const;
  [[nodiscard]] std::string pointers_in(const Record& record) const;

  const Model& model_;
  const Settings& settings_;
  Plan plan_;
};

}  // namespace verity::automap

#endif
