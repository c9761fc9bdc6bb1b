// SPDX-License-Identifier: BSD-3-Clause
//
// The sets of type signatures on which hashes are compared.
#ifndef VERITY_TYPES_TABLES_SAMPLES_H
#define VERITY_TYPES_TABLES_SAMPLES_H

#include <string>
#include <vector>

#include "types/tables/hash.h"

namespace verity::types {

using tables::Hash;
using tables::Value;

// `n` elements of one basic type.
struct Run {
  uint8_t code;
  unsigned n;
};

// `times` copies of the runs, as a datatype would be built.
struct Sample {
  std::vector<Run> block;
  unsigned times = 1;
};

// Basic types by their codes, in order.
using Sequence = std::vector<uint8_t>;

struct SampleSet {
  std::string source;  // whose sample it stands for
  std::string about;   // how it is made
  std::vector<Sample> samples;
};

// 6994 signatures of 13 basic types. The paper gives this number and no parameters. 6994 is
// 13 * 250 + 2 * 13 * 12 * 12: of the structs with two fields that were tried, these come nearest
// to the paper's figures, and so say nothing for them that other samples would not.
[[nodiscard]] SampleSet langou_samples();
// 4625 of 5, as 4625 = 5^3 * 37. Here neither the paper's parameters nor its figures are known.
[[nodiscard]] SampleSet gropp_samples();

[[nodiscard]] Sequence expand(const Sample& sample);

// Element by element from the left; and from the parts, by repeat and concat. One value, if it
// does not matter how a type is built.
[[nodiscard]] Value hash_flat(const Hash& hash, const Sequence& sequence);
[[nodiscard]] Value hash_built(const Hash& hash, const Sample& sample);

}  // namespace verity::types

#endif
