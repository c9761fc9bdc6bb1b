// SPDX-License-Identifier: BSD-3-Clause
//
// Layouts written by hand: their displacements, their bounds, and what is refused.
#include <gtest/gtest.h>

#include "normalize/canonical.h"
#include "types/layout.h"

namespace verity::types {
namespace {

using normalize::Displacements;

struct Expected {
  const char* text;
  Displacements displacements;
  int64_t lower_bound;
  int64_t extent;
};

TEST(TypesLayout, DatatypesAreWhatMpiMakesOfThem) {
  const Expected all[] = {
      {"MPI_INT", {0}, 0, 4},
      {"contiguous(3, MPI_INT)", {0, 4, 8}, 0, 12},
      {"vector(2, 3, 4, MPI_SHORT)", {0, 2, 4, 8, 10, 12}, 0, 14},
      {"MPI_Type_vector(2, 1, -2, MPI_INT)", {0, -8}, -8, 12},
      {"MPI_Type_create_hvector(2, 2, 9, MPI_CHAR)", {0, 1, 9, 10}, 0, 11},
      {"indexed_block(2, <5, 0>, MPI_INT)", {20, 24, 0, 4}, 0, 28},
      {"hindexed_block(1, <7,3>, MPI_CHAR)", {7, 3}, 3, 5},
      {"indexed(<1,2,0>, <4,0,9>, MPI_INT)", {16, 0, 4}, 0, 20},
      {"hindexed(<1,1>, <0,6>, MPI_SHORT)", {0, 6}, 0, 8},
      {"subarray(<3,4>, <2,2>, <1,1>, MPI_INT)", {20, 24, 36, 40}, 0, 48},
      {"subarray(<4>, <2>, <1>, resized(4, 8, MPI_INT))", {8, 16}, 0, 32},
      {"subarray(<2,3>, <1,2>, <1,0>, resized(-4, 12, MPI_INT))", {36, 48}, 0, 72},
      {"contiguous(2, resized(0, 16, MPI_INT))", {0, 16}, 0, 32},
      {"contiguous(2, resized(-4, 12, MPI_INT))", {0, 12}, -4, 24},
      {"vector(2, 1, 2, dup(contiguous(2, MPI_CHAR)))", {0, 1, 4, 5}, 0, 6},
  };
  for (const Expected& expected : all) {
    SCOPED_TRACE(expected.text);
    Layout layout;
    ASSERT_EQ(parse_layout(expected.text, &layout), "");
    EXPECT_EQ(normalize::expand(layout.path, layout.basic.size), expected.displacements);
    EXPECT_EQ(layout.lower_bound, expected.lower_bound);
    EXPECT_EQ(layout.extent, expected.extent);
  }
}

TEST(TypesLayout, ListsOfDisplacements) {
  const auto basic = signature::find_basic("MPI_INT");
  for (const char* text : {"2 0 1", "<2,0,1>", " 2, 0 ,1\n", "< 2 0 1 >"}) {
    Layout layout;
    ASSERT_EQ(parse_displacements(text, *basic, &layout), "") << text;
    EXPECT_EQ(normalize::expand(layout.path, 4), (Displacements{8, 0, 4}));
    EXPECT_EQ(layout.extent, 12);
  }
}

TEST(TypesLayout, LargeCountsAreNotExpanded) {
  Layout layout;
  ASSERT_EQ(parse_layout("contiguous(1000000, vector(1000000, 1, 2, MPI_DOUBLE))", &layout), "");
  normalize::Canonical canonical;
  ASSERT_EQ(normalize::canonical(layout.path, 8, &canonical), "");
  EXPECT_EQ(canonical.elements, 1'000'000'000'000u);
}

TEST(TypesLayout, ErrorsNameThePlaceAndTheReason) {
  const std::pair<const char*, const char*> all[] = {
      {"", "at character 1: no basic type"},
      {"vector(2, 1, 2, MPI_INTT)", "at character 17: no basic type"},
      {"vector(0, 1, 2, MPI_INT)", "at character 8: a count below 1"},
      {"vector(2, 1, 2 MPI_INT)", "at character 16: expected ','"},
      {"contiguous(2, MPI_INT", "at character 22: expected ')'"},
      {"contiguous(2, MPI_INT) x", "at character 24: expected the end"},
      {"create_struct(2)", "at character 1: a struct has elements of several types"},
      {"subarray(<4>, <2>, <3>, MPI_INT)", "dimension 0 of the subarray is not within the array's"},
      {"indexed(<1>, <1,2>, MPI_INT)", "as many blocklengths as displacements"},
      {"indexed(<0>, <1>, MPI_INT)", "a type without elements"},
      {"contiguous(99999999999999999999, MPI_INT)", "a number beyond 2^61"},
      {"resized(-9223372036854775808, 8, MPI_INT)", "a number beyond 2^61"},
      {"contiguous(1000000000000, contiguous(1000000000000, MPI_INT))",
       "reaches beyond 2^61 bytes"},
      {"indexed(<900000000,1>, <0,1>, MPI_INT)", "more than 10000000 elements"},
  };
  for (const auto& [text, reason] : all) {
    Layout layout;
    const std::string problem = parse_layout(text, &layout);
    EXPECT_NE(problem.find(reason), std::string::npos) << text << ": " << problem;
  }
  std::string deep;
  for (int i = 0; i < 1000; ++i) deep += "dup(";
  Layout layout;
  EXPECT_NE(parse_layout(deep, &layout).find("too many types in each other"), std::string::npos);
}

}  // namespace
}  // namespace verity::types
