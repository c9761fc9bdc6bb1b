// SPDX-License-Identifier: BSD-3-Clause
//
// How often the signatures of a sample share a hash, beside what the papers printed.
#ifndef VERITY_TYPES_TABLES_CENSUS_H
#define VERITY_TYPES_TABLES_CENSUS_H

#include <optional>
#include <string>
#include <vector>

#include "types/tables/samples.h"

namespace verity::types {

// A row of a paper's table. More than one of our hashes may stand for it, where the paper does not
// name the field's polynomial.
struct PaperRow {
  std::string name;
  double collisions;  // percent
};

// What Langou 2005, Table 1 has for the hash of that name, where it is known to us.
[[nodiscard]] std::optional<PaperRow> langou_table1(const std::string& hash);

struct Census {
  Hash::Traits hash;
  std::size_t samples = 0;    // N, all of them different sequences
  std::size_t distinct = 0;   // values
  std::size_t repeated = 0;   // values that more than one sample has
  std::size_t ambiguous = 0;  // samples whose value depends on how the type was built
  std::optional<PaperRow> paper;

  // In percent, as defined where the papers' printed numbers fit: (N - distinct) / N.
  [[nodiscard]] double collisions() const;
  // repeated / distinct.
  [[nodiscard]] double duplicates() const;
  // What collisions() would be on average for a random function with as many bits.
  [[nodiscard]] double ideal() const;
};

[[nodiscard]] std::size_t count_distinct(const std::vector<Sequence>& sequences);

// One for each hash.
[[nodiscard]] std::vector<Census> take_census(const SampleSet& set,
                                              const std::vector<tables::HashPtr>& hashes);

// Two hashes whose order by collisions is not the paper's, as a line of text.
[[nodiscard]] std::vector<std::string> order_differences(const std::vector<Census>& rows);

}  // namespace verity::types

#endif
