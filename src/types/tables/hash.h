// SPDX-License-Identifier: BSD-3-Clause
//
// Hashes of type signatures as they were published, behind one interface, for comparing them. What
// checks messages is signature/algebra.h. Sources:
//   Gropp 2000     W. D. Gropp, Runtime checking of datatype signatures in MPI
//   Langou 2005    J. Langou, G. Bosilca, G. Fagg, J. Dongarra, Hash functions for datatype
//                  signatures in MPI
#ifndef VERITY_TYPES_TABLES_HASH_H
#define VERITY_TYPES_TABLES_HASH_H

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace verity::types::tables {

// A hash and the number of basic types it covers. {0, 0} is the empty signature. Only `hash` is
// what the papers compare.
struct Value {
  uint64_t hash = 0;
  uint64_t count = 0;
  friend bool operator==(const Value&, const Value&) noexcept = default;
};

// How the time of an operation grows with the number of basic types.
enum class Growth { kConstant, kLinear };
[[nodiscard]] const char* growth_name(Growth growth) noexcept;

// One hash function; immutable, so any thread may use it.
class Hash {
 public:
  struct Traits {
    std::string name;
    unsigned bits = 0;
    std::string source;     // paper or standard
    bool algebraic = true;  // claims that only the sequence matters, not how it was built
    Growth concat = Growth::kConstant;  // what is claimed, to be compared with what is measured
    Growth repeat = Growth::kConstant;
  };

  explicit Hash(Traits traits) : traits_(std::move(traits)) {}
  virtual ~Hash() = default;
  Hash(const Hash&) = delete;
  Hash& operator=(const Hash&) = delete;

  [[nodiscard]] const Traits& traits() const noexcept { return traits_; }

  // Of one basic type. The code is from 1 to 255, or to 2^bits - 1 where that is less.
  [[nodiscard]] virtual Value basic(uint64_t code) const noexcept = 0;
  // Of the sequence of `a` followed by that of `b`.
  [[nodiscard]] virtual Value concat(Value a, Value b) const noexcept = 0;
  // Of `k` copies; {0, 0} for none. By k - 1 concatenations where the hash has nothing better.
  [[nodiscard]] virtual Value repeat(Value a, uint64_t k) const noexcept;

 private:
  Traits traits_;
};

using HashPtr = std::unique_ptr<const Hash>;

// All of them, the weakest first. The fields' tables make this cost a millisecond.
[[nodiscard]] std::vector<HashPtr> all_hashes();

}  // namespace verity::types::tables

#endif
