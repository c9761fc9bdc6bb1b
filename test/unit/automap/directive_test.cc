// SPDX-License-Identifier: BSD-3-Clause
#include "automap/plan/directive.h"

#include "unit/automap/case.h"

namespace verity::automap {
namespace {

using test::basic;
using test::ModelCase;

Directive read(std::string_view text) {
  Directive directive;
  EXPECT_EQ(add_directive(text, &directive), "") << text;
  return directive;
}

std::string problem_of(std::string_view text) {
  Directive directive;
  return add_directive(text, &directive);
}

TEST(AutomapDirective, Words) {
  EXPECT_TRUE(read("owned").owned);
  EXPECT_TRUE(read(" reference ").reference);
  EXPECT_TRUE(read("string").string);
  EXPECT_TRUE(read("ignore").ignore);
  EXPECT_TRUE(read("bytes").bytes);
  const Directive counted = read("owned,count=n");
  EXPECT_TRUE(counted.owned);
  EXPECT_EQ(counted.count, "n");
  EXPECT_EQ(read("tag = kind").tag, "kind");
  EXPECT_EQ(read("when = A | 7 | ns::B | -1").when,
            (std::vector<std::string>{"A", "7", "ns::B", "-1"}));
}

TEST(AutomapDirective, Problems) {
  EXPECT_EQ(problem_of("ownde"),
            "unknown directive 'ownde': expected owned, reference, string, ignore, bytes, count = "
            "MEMBER, tag = MEMBER or when = VALUE");
  EXPECT_EQ(problem_of("").substr(0, 20), "unknown directive ''");
  EXPECT_EQ(problem_of("owned, ignore"),
            "only one of owned, reference, string, ignore and bytes can be true");
  EXPECT_EQ(problem_of("count = n"), "count = needs owned or reference");
  EXPECT_EQ(problem_of("owned, count = n + 1"), "count = needs a name or a number");
  EXPECT_EQ(problem_of("owned, count = a, count = b"), "count = is given twice");
  EXPECT_EQ(problem_of("tag = a | b"), "tag = needs one name");
}

TEST(AutomapDirective, Comments) {
  std::string text;
  EXPECT_TRUE(directive_in_comment("/*~ AM owned */", &text));
  EXPECT_EQ(text, "owned");
  EXPECT_TRUE(directive_in_comment("//~ AM tag = kind", &text));
  EXPECT_EQ(text, "tag = kind");
  EXPECT_TRUE(directive_in_comment("/*~AM*/", &text));
  EXPECT_EQ(text, "");
  EXPECT_FALSE(directive_in_comment("/* AM owned */", &text));
  EXPECT_FALSE(directive_in_comment("/*~ AMEN */", &text));
  EXPECT_FALSE(directive_in_comment("/**/", &text));
  EXPECT_FALSE(directive_in_comment("", &text));
}

TEST(AutomapDirective, FileGivesMembersTheirOwn) {
  ModelCase c;
  const RecordId a = c.add("a", 16), b = c.add("b", 8);
  c.member(a, "x", 0, basic("MPI_INT"));
  c.member(a, "y", 4, basic("MPI_INT"));
  c.member(b, "x", 0, basic("MPI_INT"));
  std::vector<OutsideDirective> all;
  ASSERT_EQ(parse_directive_file(
                "d", "# nothing\n\nstruct a.x: ignore # of one\n*.y : bytes\nb: ignore\n", &all),
            "");
  ASSERT_EQ(apply_outside(all, &c.model), "");
  EXPECT_EQ(c.model.records[a].members[0].directives[0].text, "ignore");
  EXPECT_EQ(c.model.records[a].members[0].directives[0].place.line, 3u);
  EXPECT_EQ(c.model.records[a].members[1].directives[0].text, "bytes");
  EXPECT_TRUE(c.model.records[b].members[0].directives.empty());
  EXPECT_EQ(c.model.records[b].directives[0].text, "ignore");
}

TEST(AutomapDirective, FileProblemsNameTheLine) {
  std::vector<OutsideDirective> all;
  EXPECT_EQ(parse_directive_file("d", "a.x ignore", &all),
            "d:1: expected 'RECORD.MEMBER: directive'");
  EXPECT_EQ(parse_directive_file("d", "\na.x: count = 3", &all),
            "d:2: count = needs owned or reference");
  ModelCase c;
  c.add("a", 8);
  ASSERT_EQ(parse_directive_file("d", "a.z: ignore", &all), "");
  EXPECT_EQ(apply_outside(all, &c.model), "d:1: no header declares a with a member z");
}

}  // namespace
}  // namespace verity::automap
