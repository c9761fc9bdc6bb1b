// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "types/expression.h"

namespace verity::types {
namespace {

using signature::Level;
using signature::Type;

Type parsed(std::string_view text) {
  Type type;
  EXPECT_EQ(parse_type(text, &type), "") << text;
  return type;
}

Type leaf(std::string_view name) { return Type::leaf(*signature::find_basic(name)); }

void expect_equal(std::string_view text, const Type& wanted) {
  const Type type = parsed(text);
  EXPECT_EQ(type.bytes(), wanted.bytes()) << text;
  for (const Level level : {Level::kLayout, Level::kNames}) {
    EXPECT_EQ(type.signature(1, level), wanted.signature(1, level)) << text;
  }
}

TEST(TypesExpression, Names) {
  expect_equal("MPI_INT", leaf("MPI_INT"));
  expect_equal("  int  ", leaf("MPI_INT"));
  expect_equal("long double", leaf("MPI_LONG_DOUBLE"));
  expect_equal("int32_t", leaf("MPI_INT32_T"));
}

TEST(TypesExpression, CopiesAndStructs) {
  expect_equal("3 x int", Type::repeat(leaf("MPI_INT"), 3));
  expect_equal("2x3xint", Type::repeat(leaf("MPI_INT"), 6));
  expect_equal("0 x int", Type());
  const Type::Item items[] = {{leaf("MPI_INT"), 1}, {leaf("MPI_DOUBLE"), 3}};
  const Type pair = Type::sequence(items);
  expect_equal("{int, 3 x double}", pair);
  expect_equal("100 x { int,{3 x double} }", Type::repeat(pair, 100));
}

TEST(TypesExpression, WhatIsWrongAndWhere) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "at character 1: expected a number, '{' or the name of a basic type"},
      {"{int, }", "at character 7: expected a number, '{' or the name of a basic type"},
      {"{int; int}", "at character 5: expected ',' or '}'"},
      {"{int", "at character 5: expected ',' or '}'"},
      {"int}", "at character 4: expected the end"},
      {"3 int", "at character 3: expected 'x' after the number of copies"},
      {"2 x foo", "at character 5: no basic type of MPI is called 'foo'"},
      {"18446744073709551616 x int", "at character 1: the number does not fit 64 bits"},
      {"-1 x int", "at character 1: expected a number, '{' or the name of a basic type"},
  };
  for (const auto& [text, error] : cases) {
    Type type = leaf("MPI_CHAR");
    EXPECT_EQ(parse_type(text, &type), error) << text;
    EXPECT_EQ(type.bytes(), 1U) << "left as it was";
  }
}

TEST(TypesExpression, DepthIsBounded) {
  Type type;
  const std::string open(kMaxExpressionDepth - 1, '{'), close(kMaxExpressionDepth - 1, '}');
  EXPECT_EQ(parse_type(open + "int" + close, &type), "");
  EXPECT_NE(parse_type("{" + open + "int" + close + "}", &type), "");
  EXPECT_NE(parse_type(std::string(1'000'000, '{'), &type), "");
}

}  // namespace
}  // namespace verity::types
