// SPDX-License-Identifier: BSD-3-Clause
#include "automap/emit/emit.h"

#include "types/expression.h"
#include "unit/automap/case.h"

namespace verity::automap {
namespace {

using test::basic;
using test::ModelCase;
using test::pointer_to;
using test::record_shape;

struct EmitCase : ModelCase {
  [[nodiscard]] std::string header() const {
    const Plan made = plan();
    return emit_header({.model = model,
                        .plan = made,
                        .types = types_of(made),
                        .prefix = "p",
                        .stem = "p_automap",
                        .generator = "test"});
  }
  [[nodiscard]] std::string mpi_header() const {
    const Plan made = plan();
    return emit_mpi_header({.model = model,
                            .plan = made,
                            .types = types_of(made),
                            .prefix = "p",
                            .stem = "p_automap",
                            .generator = "test"});
  }
};

void expect_in(const std::string& text, const std::string& wanted) {
  EXPECT_NE(text.find(wanted), std::string::npos) << wanted << "\nis not in\n" << text;
}
void expect_not_in(const std::string& text, const std::string& unwanted) {
  EXPECT_EQ(text.find(unwanted), std::string::npos) << unwanted << "\nis in\n" << text;
}

void expect_type(const signature::Type& type, std::string_view expression) {
  signature::Type wanted;
  ASSERT_EQ(types::parse_type(expression, &wanted), "");
  for (const auto level : {signature::Level::kLayout, signature::Level::kNames})
    EXPECT_EQ(type.signature(1, level), wanted.signature(1, level));
}

TEST(AutomapEmit, SignaturesAreThoseOfTheTypesWrittenByHand) {
  ModelCase c;
  const RecordId outer = c.add("outer", 64), inner = c.add("inner", 16);
  c.member(inner, "i", 0, basic("MPI_INT"));
  c.member(inner, "d", 8, basic("MPI_DOUBLE"));
  c.member(outer, "c", 0, basic("MPI_CHAR"), "", {2, 4});
  c.member(outer, "in", 8, record_shape(inner, 16), "", {3});
  c.member(outer, "p", 56, pointer_to(record_shape(outer, 64)), "owned");
  const Plan plan = c.plan();
  const std::vector<RecordTypes> types = types_of(plan);
  expect_type(types[outer].values, "{8 x char, 3 x {int, double}}");
  expect_type(types[outer].linked, "{8 x char, 3 x {int, double}, uint64_t}");
  expect_type(types[inner].linked, "{int, double}");
}

TEST(AutomapEmit, Assertions) {
  EmitCase c;
  const RecordId a = c.add("a", 16);
  c.member(a, "i", 0, basic("MPI_INT"));
  c.member(a, "f", 4, basic("MPI_FLOAT"), "", {3});
  const std::string text = c.header();
  expect_in(text, "#include \"case.h\"");
  expect_in(text, "VERITY_AUTOMAP_ASSERT(sizeof(struct a) == 16, ");
  expect_in(text, "VERITY_AUTOMAP_ASSERT(offsetof(struct a, f) == 4, ");
  expect_in(text, "VERITY_AUTOMAP_ASSERT(sizeof(((struct a*)0)->f) == 12, ");
  expect_in(text, "#define p_RECORDS(X) \\\n  X(a, struct a)\n#define p_LINKED_RECORDS(X)\n");
  expect_not_in(text, "-Winvalid-offsetof");
}

TEST(AutomapEmit, NamesForTypesWithoutOneOrWithTwo) {
  EmitCase c;
  const RecordId a = c.add("a", 16), in = c.add("a_in", 4), scoped = c.add("a_scoped", 4);
  c.model.records[in].spelling = "";
  c.model.records[in].owner = a;
  c.model.records[in].owner_member = "in[0]";
  c.model.records[scoped].spelling = "struct scoped";
  c.model.records[scoped].cxx_spelling = "a::scoped";
  c.member(in, "x", 0, basic("MPI_INT"));
  c.member(scoped, "x", 0, basic("MPI_INT"));
  c.member(a, "in", 0, record_shape(in, 4), "", {2});
  const std::string text = c.header();
  expect_in(text, "typedef __typeof__(((struct a*)0)->in[0]) p_type_a_in;\n");
  expect_in(text,
            "#ifdef __cplusplus\ntypedef a::scoped p_type_a_scoped;\n#else\ntypedef struct scoped "
            "p_type_a_scoped;\n#endif\n");
}

TEST(AutomapEmit, DatatypesAreBuiltFromThoseOfTheirMembers) {
  EmitCase c;
  const RecordId outer = c.add("outer", 40), inner = c.add("inner", 16);
  c.member(inner, "d", 8, basic("MPI_DOUBLE"));
  c.member(outer, "in", 0, record_shape(inner, 16), "", {2});
  c.member(outer, "p", 32, pointer_to(record_shape(outer, 40)), "reference");
  const std::string text = c.mpi_header();
  expect_in(text, "int p_mpi_outer(MPI_Datatype* newtype) {\n  const int lengths[] = {2};\n");
  expect_in(text, "status = p_mpi_inner(&types[0]);");
  expect_in(text, "verity_automap_free(&types[0]);");
  expect_in(text,
            "int p_mpi_linked_outer(MPI_Datatype* newtype) {\n  const int lengths[] = {2, 1};\n");
  expect_in(text, "{MPI_DATATYPE_NULL, MPI_UINT64_T};");
  expect_not_in(text, "p_mpi_linked_inner");
}

TEST(AutomapEmit, LinksAreNumberedThroughArraysAndMembers) {
  EmitCase c;
  const RecordId outer = c.add("outer", 64), inner = c.add("inner", 16);
  c.member(inner, "p", 0, pointer_to(basic("MPI_DOUBLE")), "owned, count = n");
  c.member(inner, "n", 8, basic("MPI_UNSIGNED"));
  c.member(outer, "child", 0, pointer_to(record_shape(outer, 64)), "owned", {2, 2});
  c.member(outer, "in", 32, record_shape(inner, 16), "", {2});
  const std::string text = c.header();
  expect_in(text, "(const void*)self->child[i / 2][i % 2]");
  expect_in(text,
            "p_links_inner(&self->in[i], first + 4 + i, offset + 32 + i * 16, visit, context)");
  expect_in(text, "verity_automap_count((int64_t)self->n), first, offset,");
  expect_in(text, "if (link < 4) {\n    const uint64_t i = link;\n");
  expect_in(text,
            "if (link >= 4 && link < 6) {\n    const uint64_t i = (link - 4);\n    return "
            "p_set_link_inner(&self->in[i], 0, target);");
  expect_in(text, "  p_number_inner,\n  p_number_outer,\n  p_number_MPI_DOUBLE,\n");
}

TEST(AutomapEmit, TheSchemaHashFollowsWhatAPeerMustAgreeWith) {
  EmitCase c;
  const RecordId a = c.add("a", 16);
  c.member(a, "i", 0, basic("MPI_INT"));
  c.member(a, "p", 8, pointer_to(record_shape(a, 16)), "owned");
  const auto hash = [&] {
    const std::string text = c.header();
    const std::size_t start = text.find("p_schema = {");
    return text.substr(start, text.find(';', start) - start);
  };
  const std::string first = hash();
  EXPECT_EQ(hash(), first);
  c.model.records[a].members[1].directives[0].text = "reference";
  EXPECT_NE(hash(), first);
  c.model.records[a].members[1].directives[0].text = "owned, count = i";
  EXPECT_NE(hash(), first);
  c.model.records[a].members[1].directives[0].text = "owned";
  c.model.records[a].members[0].shape = basic("MPI_UNSIGNED");
  EXPECT_NE(hash(), first);
}

}  // namespace
}  // namespace verity::automap
