// SPDX-License-Identifier: BSD-3-Clause
#include "unit/automap/case.h"

namespace verity::automap {
namespace {

using test::basic;
using test::ModelCase;
using test::pointer_to;
using test::record_shape;
using test::unsupported;

TEST(AutomapPlan, BlocksAreTheMembersInOrder) {
  ModelCase c;
  const RecordId a = c.add("a", 32);
  c.member(a, "i", 0, basic("MPI_INT"));
  c.member(a, "d", 8, basic("MPI_DOUBLE"), "", {3});
  const Plan plan = c.plan();
  ASSERT_TRUE(plan.of(a).mapped);
  ASSERT_EQ(plan.of(a).blocks.size(), 2u);
  EXPECT_EQ(plan.of(a).blocks[1].member, "d");
  EXPECT_EQ(plan.of(a).blocks[1].offset, 8u);
  EXPECT_EQ(plan.of(a).blocks[1].copies, 3u);
  EXPECT_EQ(plan.of(a).blocks[1].size, 24u);
}

TEST(AutomapPlan, ContainedRecordsComeFirstAndAnonymousOnesDissolve) {
  ModelCase c;
  const RecordId outer = c.add("outer", 40), inner = c.add("inner", 8), hidden = c.add("", 8);
  c.model.records[hidden].requested = false;
  c.member(outer, "in", 0, record_shape(inner, 8), "", {2, 2});
  c.member(outer, "", 32, record_shape(hidden, 8));
  c.member(inner, "x", 0, basic("MPI_DOUBLE"));
  c.member(hidden, "y", 4, basic("MPI_INT"));
  const Plan plan = c.plan();
  EXPECT_EQ(plan.order, (std::vector<RecordId>{inner, outer}));
  ASSERT_EQ(plan.of(outer).blocks.size(), 2u);
  EXPECT_EQ(plan.of(outer).blocks[0].copies, 4u);
  EXPECT_EQ(plan.of(outer).blocks[1].member, "y");
  EXPECT_EQ(plan.of(outer).blocks[1].offset, 36u);
}

TEST(AutomapPlan, RefusalsSayWhereAndWhatToDo) {
  ModelCase c;
  const RecordId bits = c.add("bits", 8);
  c.member(bits, "f", 0, basic("MPI_UNSIGNED")).bit_field = true;
  EXPECT_EQ(c.refusal(bits),
            "case.h:2: struct bits, member f: a bit-field has no address: make it a whole integer, "
            "or map the struct with the directive bytes");
  const RecordId flexible = c.add("flexible", 8);
  c.member(flexible, "x", 0, basic("MPI_INT"), "", {0});
  EXPECT_EQ(c.refusal(flexible),
            "case.h:4: struct flexible, member x: an array whose length is not part of its type "
            "(directive ignore leaves it out)");
  const RecordId wide = c.add("wide", 16);
  c.member(wide, "x", 0, unsupported("of type '__int128', for which MPI has no basic type", 16));
  EXPECT_EQ(c.refusal(wide),
            "case.h:6: struct wide, member x: of type '__int128', for which MPI has no basic type "
            "(directives: bytes, or ignore)");
  const RecordId hidden = c.add("hidden", 8);
  c.member(hidden, "x", 0, basic("MPI_INT")).accessible = false;
  EXPECT_NE(c.refusal(hidden).find("case.h:8: struct hidden, member x: it is not public"),
            std::string::npos);
  const RecordId derived = c.add("derived", 8);
  c.model.records[derived].problem = "it has a base class";
  EXPECT_EQ(c.refusal(derived), "case.h:9: struct derived: it has a base class");
  const RecordId empty = c.add("empty", 1);
  EXPECT_EQ(c.refusal(empty), "case.h:10: struct empty: it has no members to transfer");
  c.model.records[empty].size = 8;
  EXPECT_EQ(c.refusal(empty), "case.h:10: struct empty: its members are not known");
  const RecordId outer = c.add("outer", 8);
  c.member(outer, "b", 0, record_shape(bits, 8));
  EXPECT_EQ(c.refusal(outer),
            "case.h:12: struct outer, member b: struct bits is refused (case.h:2)");
}

TEST(AutomapPlan, BytesAndIgnore) {
  ModelCase c;
  const RecordId bits = c.add("bits", 8);
  c.member(bits, "f", 0, basic("MPI_UNSIGNED")).bit_field = true;
  c.model.records[bits].directives.push_back({"bytes", {}});
  EXPECT_EQ(c.refusal(bits), "");
  EXPECT_EQ(c.plan().of(bits).blocks[0].copies, 8u);
  const RecordId opaque = c.add("opaque", 32);
  c.member(opaque, "q", 0, unsupported("of type '__int128'", 16), "bytes");
  c.member(opaque, "f", 16, unsupported("a pointer to a function"), "ignore");
  EXPECT_EQ(c.refusal(opaque), "");
  EXPECT_EQ(c.plan().of(opaque).blocks.size(), 1u);
  const RecordId pointers = c.add("pointers", 8);
  c.member(pointers, "p", 0, pointer_to(basic("MPI_INT")));
  c.model.records[pointers].directives.push_back({"bytes", {}});
  EXPECT_NE(c.refusal(pointers).find("cannot be mapped as bytes: it has pointers"),
            std::string::npos);
  const RecordId left_out = c.add("left_out", 8);
  c.model.records[left_out].directives.push_back({"ignore", {}});
  EXPECT_EQ(c.refusal(left_out), "not considered");
}

TEST(AutomapPlan, BytesWithPointersThatAreNoMembers) {
  ModelCase c;
  const RecordId base = c.add("base", 8);
  c.member(base, "p", 0, pointer_to(basic("MPI_INT")));
  const auto reason = [&](uint64_t size, auto&& change) {
    const RecordId id = c.add("r" + std::to_string(size), size);
    c.member(id, "x", size - 4, basic("MPI_INT"));
    c.model.records[id].directives.push_back({"bytes", {}});
    change(c.model.records[id]);
    const std::string refusal = c.refusal(id), before = "cannot be mapped as bytes: ";
    const size_t found = refusal.find(before);
    return found == std::string::npos ? refusal : refusal.substr(found + before.size());
  };
  EXPECT_EQ(reason(16, [](Record&) {}), "");
  EXPECT_EQ(reason(20, [&](Record& r) { r.bases.push_back(base); }),
            "it has pointers, which mean nothing elsewhere");
  EXPECT_EQ(
      reason(24, [](Record& r) { r.has_hidden_pointer = true; }),
      "it has virtual functions or virtual base classes, whose pointers mean nothing elsewhere");
  // Four bytes beside the member, and eight.
  EXPECT_EQ(reason(8, [](Record& r) { r.has_unknown_bases = true; }), "");
  EXPECT_EQ(reason(12, [](Record& r) { r.has_unknown_bases = true; }),
            "it has base classes that cannot be looked into and may hold pointers");
  EXPECT_EQ(reason(28, [](Record& r) { r.members.clear(); }),
            "its members are not known and may be pointers");
  EXPECT_NE(reason(32, [](Record& r) { r.accessible = false; }).find("it is not public"),
            std::string::npos);
}

TEST(AutomapPlan, AMemberWithNothingToTransferIsLeftOut) {
  ModelCase c;
  const RecordId outer = c.add("outer", 16), hooks = c.add("hooks", 8);
  c.member(outer, "hooks", 0, record_shape(hooks, 8));
  c.member(outer, "i", 8, basic("MPI_INT"));
  c.member(hooks, "call", 0, unsupported("a pointer to a function"), "ignore");
  EXPECT_EQ(c.refusal(outer), "");
  EXPECT_EQ(c.plan().of(outer).blocks.size(), 1u);
  EXPECT_EQ(c.refusal(hooks), "case.h:2: struct hooks: it has no members to transfer");
}

TEST(AutomapPlan, PointersNeedDirectives) {
  ModelCase c;
  const RecordId node = c.add("node", 64);
  c.member(node, "n", 0, basic("MPI_INT"));
  Member& next = c.member(node, "next", 8, pointer_to(record_shape(node, 64)));
  EXPECT_EQ(c.refusal(node),
            "case.h:3: struct node, member next: a pointer: what does it point to? (directives: "
            "owned, reference, string, or ignore)");
  EXPECT_EQ(c.refusal(node, {.ignore_pointers = true, .only = {}}), "");
  next.directives.push_back({"owned, count = n", {}});
  ASSERT_EQ(c.refusal(node), "");
  const Step step = c.plan().of(node).steps.at(0);
  EXPECT_EQ(step.member, "next");
  EXPECT_EQ(step.count, "n");
  EXPECT_EQ(step.record, node);
  EXPECT_EQ(step.levels, 1u);
  EXPECT_TRUE(c.plan().of(node).has_links);
}

TEST(AutomapPlan, DirectivesThatDoNotFit) {
  const auto refused = [](Shape shape, const std::string& directive, const std::string& reason) {
    ModelCase c;
    const RecordId a = c.add("a", 64);
    c.member(a, "d", 0, basic("MPI_DOUBLE"));
    c.member(a, "x", 8, std::move(shape), directive);
    EXPECT_EQ(c.refusal(a), "case.h:3: struct a, member x: " + reason);
  };
  refused(basic("MPI_INT"), "owned", "owned, reference and string are for pointers to data");
  refused(pointer_to(basic("MPI_INT")), "string", "string is for pointers to char");
  refused(basic("MPI_INT"), "tag = d", "tag = is for unions");
  refused(basic("MPI_INT"), "when = 1", "when = is for the members of a union with a tag");
  refused(pointer_to(basic("MPI_INT")), "bytes",
          "a pointer's bytes mean nothing elsewhere: owned, reference, string or ignore");
  refused(pointer_to(basic("MPI_INT")), "owned, count = m",
          "the count 'm' is no integer member of struct a");
  refused(pointer_to(basic("MPI_INT")), "owned, count = d",
          "the count 'd' is no integer member of struct a");
  refused(pointer_to(unsupported("void")), "owned",
          "it points to void (directive ignore leaves it out)");
  refused(pointer_to(pointer_to(pointer_to(basic("MPI_INT")))), "owned",
          "a pointer to pointers to pointers (directive ignore leaves it out)");
  refused(basic("MPI_INT"), "wrong",
          "unknown directive 'wrong': expected owned, reference, string, ignore, bytes, count = "
          "MEMBER, tag = MEMBER "
          "or when = VALUE");
}

TEST(AutomapPlan, WhatALinkLeadsToIsMappedOrTheLinkIsRefused) {
  ModelCase c;
  const RecordId a = c.add("a", 8), b = c.add("b", 8), target = c.add("target", 8);
  c.model.records[target].requested = false;
  c.member(a, "p", 0, pointer_to(record_shape(b, 8)), "owned");
  c.member(b, "p", 0, pointer_to(record_shape(a, 8)), "owned");
  Member& last = c.member(b, "q", 8, pointer_to(record_shape(target, 8)), "reference");
  c.member(target, "f", 0, basic("MPI_INT"));
  EXPECT_EQ(c.refusal(a), "");
  EXPECT_TRUE(c.plan().of(target).mapped);
  EXPECT_EQ(last.name, "q");
  c.model.records[target].members[0].bit_field = true;
  EXPECT_EQ(c.refusal(b), "case.h:6: struct b, member q: struct target is refused (case.h:7)");
  EXPECT_EQ(c.refusal(a), "case.h:4: struct a, member p: struct b is refused (case.h:6)");
}

TEST(AutomapPlan, UnionsAreBytesAndTheirLinksFollowTheTag) {
  ModelCase c;
  const RecordId a = c.add("a", 24), u = c.add("u", 8, true);
  c.member(a, "kind", 0, basic("MPI_INT"));
  Member& value = c.member(a, "value", 8, record_shape(u, 8));
  c.member(u, "i", 0, basic("MPI_INT"), "when = 1");
  c.member(u, "p", 0, pointer_to(record_shape(a, 24)), "when = 2 | 3, owned");
  EXPECT_EQ(c.refusal(a),
            "case.h:4: struct a, member value: a union: which member is in use? (directives: tag = "
            "MEMBER, bytes, or ignore)");
  value.directives.push_back({"tag = kind", {}});
  ASSERT_EQ(c.refusal(a), "");
  const Plan plan = c.plan();
  ASSERT_EQ(plan.of(a).blocks.size(), 2u);
  EXPECT_EQ(plan.of(a).blocks[1].copies, 8u);
  EXPECT_EQ(plan.of(a).blocks[1].basic, *signature::find_basic("MPI_BYTE"));
  ASSERT_EQ(plan.of(a).steps.size(), 1u);
  EXPECT_EQ(plan.of(a).steps[0].member, "value.p");
  EXPECT_EQ(plan.of(a).steps[0].offset, 8u);
  ASSERT_EQ(plan.of(a).steps[0].conditions.size(), 1u);
  EXPECT_EQ(plan.of(a).steps[0].conditions[0].tag, "kind");
  EXPECT_EQ(plan.of(a).steps[0].conditions[0].values, (std::vector<std::string>{"2", "3"}));
  c.model.records[u].members[0].directives.clear();
  EXPECT_EQ(c.refusal(a),
            "case.h:5: struct a, member value.i: for which values of kind is it in use? (directive "
            "when = VALUE)");
}

TEST(AutomapPlan, Only) {
  ModelCase c;
  const RecordId a = c.add("a", 8), b = c.add("b", 8);
  c.member(a, "x", 0, basic("MPI_INT"));
  c.member(b, "x", 0, basic("MPI_INT"));
  const Settings settings{.only = {"struct b"}};
  EXPECT_EQ(c.plan(settings).order, std::vector<RecordId>{b});
  EXPECT_EQ(unknown_record(c.model, settings), "");
  EXPECT_EQ(unknown_record(c.model, {.only = {"b", "nothing"}}), "nothing");
}

}  // namespace
}  // namespace verity::automap
