// SPDX-License-Identifier: BSD-3-Clause
// Random types beside the flat list of their elements, which is what all answers are compared with.
#ifndef VERITY_TEST_UNIT_SIGNATURE_RANDOM_H
#define VERITY_TEST_UNIT_SIGNATURE_RANDOM_H

#include <algorithm>
#include <vector>

#include "signature/type.h"
#include "sim/rng.h"

namespace verity::signature {

using Flat = std::vector<BasicType>;

struct Sample {
  Type type;
  Flat flat;
};

inline BasicType named(const char* name, uint64_t size = 0) {
  return find_basic(name, size).value();
}

inline Flat times(const Flat& flat, uint64_t copies) {
  Flat all;
  for (; copies != 0; --copies) all.insert(all.end(), flat.begin(), flat.end());
  return all;
}

// What random types are made of: few, so that neighbours are often equal, and with pairs that
// differ at one level only.
inline BasicType random_basic(sim::Rng& rng, bool bytes = false) {
  static const BasicType palette[] = {
      named("MPI_INT"),     named("MPI_DOUBLE"), named("MPI_INT32_T"),   named("MPI_CHAR"),
      named("MPI_INTEGER"), named("MPI_FLOAT"),  named("MPI_INTEGER", 8)};
  if (bytes && rng.below(4) == 0) return named("MPI_BYTE");
  return palette[rng.below(std::size(palette))];
}

// At most about `room` elements.
inline Sample random_sample(sim::Rng& rng, unsigned depth, size_t room, bool bytes = false) {
  if (depth == 0 || room < 2 || rng.below(6) == 0) {
    const BasicType basic = random_basic(rng, bytes);
    return {Type::leaf(basic), {basic}};
  }
  Sample sample;
  std::vector<Type::Item> items;
  for (uint64_t n = rng.between(rng.below(20) == 0 ? 0 : 1, rng.below(10) == 0 ? 25 : 4); n != 0;
       --n) {
    const Sample child = random_sample(rng, depth - 1, room / n / 2, bytes);
    const uint64_t most = child.flat.empty() ? 5 : room / n / child.flat.size();
    const uint64_t copies = rng.below(3) == 0 ? 1
                                              : rng.between(rng.below(20) == 0 ? 0 : 1,
                                                            std::min<uint64_t>(most, 6) + 1);
    items.push_back({child.type, copies});
    const Flat more = times(child.flat, copies);
    sample.flat.insert(sample.flat.end(), more.begin(), more.end());
  }
  sample.type =
      items.size() == 1 ? Type::repeat(items[0].type, items[0].copies) : Type::sequence(items);
  return sample;
}

// The list as a type of any form: cut in pieces, each of them cut again.
inline Type random_form(sim::Rng& rng, std::span<const BasicType> flat) {
  if (flat.size() == 1) return Type::leaf(flat[0]);
  std::vector<Type::Item> items;
  while (!flat.empty()) {
    const size_t piece = rng.between(1, items.empty() ? flat.size() - 1 : flat.size());
    items.push_back({random_form(rng, flat.first(piece)), 1});
    flat = flat.subspan(piece);
  }
  return Type::sequence(items);
}

// The first `n` elements by definition: one concatenation for each.
inline Signature flat_signature(std::span<const BasicType> flat, Level level) {
  Signature sum;
  for (const BasicType& element : flat) sum = concat(sum, basic(code_of(element, level)));
  return sum;
}

inline constexpr Level kBothLevels[] = {Level::kLayout, Level::kNames};

}  // namespace verity::signature

#endif
