// SPDX-License-Identifier: BSD-3-Clause
#include "signature/basic.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "unit/signature/random.h"

namespace verity::signature {
namespace {

// All types in the table in all sizes that a BasicType can have.
std::vector<BasicType> all_types() {
  std::vector<BasicType> all;
  for (unsigned id = 0; id < 256; ++id) {
    for (uint64_t size = 1; size <= kMaxBasicSize; ++size) {
      if (const auto type = make_basic(static_cast<uint8_t>(id), size)) all.push_back(*type);
    }
  }
  return all;
}

TEST(SignatureBasic, EachNameHasItsNumberAndBack) {
  std::set<std::string_view> names;
  for (unsigned id = 1; id < 256; ++id) {
    const auto type = make_basic(static_cast<uint8_t>(id), 4);
    if (!type) continue;
    const std::string_view name = name_of(type->id);
    EXPECT_TRUE(names.insert(name).second) << name << " is there twice";
    const auto found = find_basic(name, 4);
    ASSERT_TRUE(found) << name;
    EXPECT_EQ(*found, *type) << name;
    EXPECT_TRUE(well_formed(*type));
  }
  EXPECT_GE(names.size(), 60u);
}

TEST(SignatureBasic, WhatIsNotInTheTableIsRefused) {
  EXPECT_FALSE(make_basic(id_NONE, 4));
  EXPECT_FALSE(make_basic(200, 4));
  EXPECT_FALSE(make_basic(id_MPI_INT, 0));
  EXPECT_FALSE(make_basic(id_MPI_INT, kMaxBasicSize + 1));
  EXPECT_FALSE(make_basic(id_MPI_INT, 65540)) << "no size may be cut to 16 bits";
  EXPECT_FALSE(find_basic("MPI_DATATYPE_NULL"));
  EXPECT_FALSE(find_basic(""));
  EXPECT_FALSE(find_basic("MPI_Type_create_f90_real")) << "has no usual size";
  EXPECT_FALSE(well_formed({}));
  EXPECT_FALSE(well_formed({id_MPI_INT, static_cast<uint8_t>(Class::kFloat), 4}));
}

// The numbers on the wire and the codes that are hashed: changing any of them needs a new
// kRecordVersion.
TEST(SignatureBasic, NumbersAndCodesStay) {
  EXPECT_EQ(named("MPI_BYTE").id, 1);
  EXPECT_EQ(named("MPI_INT").id, 9);
  EXPECT_EQ(named("MPI_DOUBLE").id, 16);
  EXPECT_EQ(named("MPI_UINT64_T").id, 37);
  EXPECT_EQ(named("MPI_INTEGER").id, 60);
  EXPECT_EQ(named("MPI_LOGICAL16").id, 104);
  EXPECT_EQ(static_cast<int>(Class::kOpaque), 10);
  uint64_t digest = 0;
  for (const BasicType& type : all_types()) {
    for (const Level level : kBothLevels)
      digest = add_mod(mul_mod(digest, 1'000'003), code_of(type, level));
  }
  EXPECT_EQ(digest, 1940139276597295200ull);
}

TEST(SignatureBasic, CodesDifferWhereTypesDo) {
  std::map<uint64_t, std::tuple<unsigned, unsigned>> layouts;
  std::map<uint64_t, std::tuple<unsigned, unsigned>> names;
  for (const BasicType& type : all_types()) {
    const std::tuple<unsigned, unsigned> layout{type.cls, type.size};
    const std::tuple<unsigned, unsigned> name{type.id, type.size};
    const uint64_t layout_code = code_of(type, Level::kLayout);
    const uint64_t name_code = code_of(type, Level::kNames);
    ASSERT_LT(layout_code, kPrime);
    ASSERT_NE(layout_code, 0u);
    ASSERT_NE(name_code, 0u);
    EXPECT_EQ(layouts.emplace(layout_code, layout).first->second, layout);
    EXPECT_EQ(names.emplace(name_code, name).first->second, name);
  }
  EXPECT_EQ(names.size(), all_types().size());
  EXPECT_EQ(layouts.size(), (kClasses - 1) * kMaxBasicSize);
}

TEST(SignatureBasic, LayoutRules) {
  const auto agree = [](const char* a, const char* b) {
    return same(named(a), named(b), Level::kLayout);
  };
  EXPECT_TRUE(agree("MPI_INT", "MPI_INT32_T"));
  EXPECT_TRUE(agree("MPI_INT", "MPI_INTEGER"));
  EXPECT_TRUE(agree("MPI_LONG", "MPI_LONG_LONG"));
  EXPECT_TRUE(agree("MPI_AINT", "MPI_OFFSET"));
  EXPECT_TRUE(agree("MPI_COUNT", "MPI_INT64_T"));
  EXPECT_TRUE(agree("MPI_SIGNED_CHAR", "MPI_INT8_T"));
  EXPECT_TRUE(agree("MPI_CHAR", "MPI_CHARACTER"));
  EXPECT_TRUE(agree("MPI_DOUBLE", "MPI_DOUBLE_PRECISION"));
  EXPECT_TRUE(agree("MPI_COMPLEX", "MPI_C_COMPLEX"));
  EXPECT_TRUE(agree("MPI_C_BOOL", "MPI_CXX_BOOL"));
  EXPECT_FALSE(agree("MPI_CHAR", "MPI_SIGNED_CHAR"));
  EXPECT_FALSE(agree("MPI_CHAR", "MPI_INT8_T"));
  EXPECT_FALSE(agree("MPI_CHAR", "MPI_BYTE"));
  EXPECT_FALSE(agree("MPI_INT", "MPI_UNSIGNED"));
  EXPECT_FALSE(agree("MPI_INT", "MPI_FLOAT"));
  EXPECT_FALSE(agree("MPI_INT", "MPI_LONG"));
  EXPECT_FALSE(agree("MPI_LOGICAL", "MPI_INTEGER"));
  EXPECT_FALSE(agree("MPI_C_BOOL", "MPI_LOGICAL1"));
  EXPECT_FALSE(agree("MPI_DOUBLE", "MPI_COMPLEX"));
  EXPECT_FALSE(same(named("MPI_INT"), named("MPI_INT32_T"), Level::kNames));
  EXPECT_FALSE(same(named("MPI_INTEGER"), named("MPI_INTEGER", 8), Level::kLayout));
}

TEST(SignatureBasic, SynonymsAndWords) {
  EXPECT_EQ(named("MPI_LONG_LONG_INT"), named("MPI_LONG_LONG"));
  EXPECT_EQ(named("MPI_C_FLOAT_COMPLEX"), named("MPI_C_COMPLEX"));
  EXPECT_EQ(to_words(named("MPI_INT")), "MPI_INT");
  EXPECT_EQ(to_words(named("MPI_INTEGER", 8)), "MPI_INTEGER of 8 bytes");
  EXPECT_EQ(to_words(named("MPI_WCHAR", 1)), "MPI_WCHAR of 1 byte");
  EXPECT_EQ(to_words(*make_basic(id_F90_REAL, 8)), "MPI_Type_create_f90_real of 8 bytes");
  EXPECT_EQ(to_string(Class::kSigned), "signed integer");
  EXPECT_EQ(to_string(static_cast<Class>(99)), "unknown");
  EXPECT_EQ(name_of(0), "unknown");
}

}  // namespace
}  // namespace verity::signature
