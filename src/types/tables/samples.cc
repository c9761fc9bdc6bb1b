// SPDX-License-Identifier: BSD-3-Clause
#include "types/tables/samples.h"

namespace verity::types {

namespace {

constexpr uint8_t kLangouCodes = 13;
constexpr uint8_t kGroppCodes = 5;

void add_homogeneous(std::vector<Sample>& samples) {
  for (uint8_t x = 1; x <= kLangouCodes; ++x) {
    for (unsigned n = 1; n <= 250; ++n) samples.push_back({{{x, n}}});
  }
}

void add_structs(std::vector<Sample>& samples, uint8_t x, uint8_t y) {
  for (const unsigned n : {10U, 20U, 30U, 40U}) {
    for (const unsigned m : {3U, 4U, 5U}) {
      samples.push_back({{{x, 1}, {y, n}}, m});
      samples.push_back({{{x, n}, {y, m}}, m});
    }
  }
}

}  // namespace

SampleSet langou_samples() {
  SampleSet set{.source = "Langou 2005, Table 1",
                .about =
                    "codes 1..13; {n x} for n = 1..250; for each ordered pair of different x "
                    "and y, n = 10, 20, 30, 40 and m = 3, 4, 5: m x {x, n y} and m x {n x, m y}",
                .samples = {}};
  add_homogeneous(set.samples);
  for (uint8_t x = 1; x <= kLangouCodes; ++x) {
    for (uint8_t y = 1; y <= kLangouCodes; ++y) {
      if (x != y) add_structs(set.samples, x, y);
    }
  }
  return set;
}

SampleSet gropp_samples() {
  SampleSet set{.source = "Gropp 2000",
                .about = "codes 1..5; k x {x, y, z} for all x, y and z, and k = 1..37",
                .samples = {}};
  for (uint8_t x = 1; x <= kGroppCodes; ++x) {
    for (uint8_t y = 1; y <= kGroppCodes; ++y) {
      for (uint8_t z = 1; z <= kGroppCodes; ++z) {
        for (unsigned k = 1; k <= 37; ++k) set.samples.push_back({{{x, 1}, {y, 1}, {z, 1}}, k});
      }
    }
  }
  return set;
}

Sequence expand(const Sample& sample) {
  Sequence sequence;
  for (unsigned i = 0; i < sample.times; ++i) {
    for (const Run& run : sample.block) sequence.insert(sequence.end(), run.n, run.code);
  }
  return sequence;
}

Value hash_flat(const Hash& hash, const Sequence& sequence) {
  Value value;
  for (const uint8_t code : sequence) {
    value = value.count == 0 ? hash.basic(code) : hash.concat(value, hash.basic(code));
  }
  return value;
}

Value hash_built(const Hash& hash, const Sample& sample) {
  Value block;
  for (const Run& run : sample.block) {
    const Value part = hash.repeat(hash.basic(run.code), run.n);
    block = block.count == 0 ? part : hash.concat(block, part);
  }
  return hash.repeat(block, sample.times);
}

}  // namespace verity::types
