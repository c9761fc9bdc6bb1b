// SPDX-License-Identifier: BSD-3-Clause
// A datatype as its signature sees it: the sequence of its basic types, as a tree of repetitions.
// Displacements, gaps and strides play no part. Types are immutable and counted by reference:
// copying a Type copies a pointer, and any thread may.
//
//   MPI_INT                               leaf
//   MPI_Type_contiguous, vector, indexed  Type::repeat(child, number of children in all blocks)
//   MPI_Type_create_struct                Type::sequence({child, blocklength} ...)
//   MPI_Type_dup, resized, subarray ...   the child, or a repetition of it
//
// The builders normalise, so that silly nestings stay small: a repetition of a repetition is one,
// equal neighbours become one, a single child takes its parent's place, small sequences dissolve in
// the one around them, what has no elements vanishes. A type whose elements are all the same is
// thus always a leaf or one repetition of a leaf. The signature never depends on the form. Depth is
// bounded by memory alone: nothing here recurses.
#ifndef VERITY_SIGNATURE_TYPE_H
#define VERITY_SIGNATURE_TYPE_H

#include <atomic>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "signature/basic.h"

namespace verity::signature {

class Type;

class Type {
 public:
  // `copies` of `type`, as part of a sequence.
  struct Item;
  struct Node;

  // The type without elements.
  Type() noexcept;
  Type(const Type& other) noexcept;
  Type(Type&& other) noexcept : Type() { std::swap(node_, other.node_); }
  Type& operator=(Type other) noexcept {
    std::swap(node_, other.node_);
    return *this;
  }
  ~Type();

  // Builders. They allocate and so may throw std::bad_alloc.
  // Precondition: well_formed(basic).
  [[nodiscard]] static Type leaf(const BasicType& basic);
  [[nodiscard]] static Type repeat(const Type& child, uint64_t copies);
  [[nodiscard]] static Type sequence(std::span<const Item> items);

  // Basic types in one copy, and their bytes (MPI_Type_size); kTooMany when 64 bits do not hold it.
  [[nodiscard]] uint64_t count() const noexcept;
  [[nodiscard]] uint64_t bytes() const noexcept;
  // All elements are of one basic type (id, class and size): basic(). Otherwise, and without
  // elements, that is {}.
  [[nodiscard]] bool homogeneous() const noexcept { return basic().id != 0; }
  [[nodiscard]] const BasicType& basic() const noexcept;
  // Some element is of this class.
  [[nodiscard]] bool contains(Class cls) const noexcept;
  // Of `copies` copies: one power and one multiplication, whatever the counts. Does not allocate.
  [[nodiscard]] Signature signature(uint64_t copies, Level level) const noexcept;

  [[nodiscard]] const Node& node() const noexcept { return *node_; }

 private:
  explicit Type(const Node* node) noexcept : node_(node) {}

  static void release(const Node* node) noexcept;

  const Node* node_;  // never null, except where release() takes a part away
};

struct Type::Item {
  Type type;
  uint64_t copies;
};

// What a Type points to. Only for reading: type.cc makes it.
struct Type::Node {
  // A child with what comes before it in one copy of the parent, and at which it ends.
  struct Part {
    Type type;
    uint64_t copies = 0;        // 1 or more
    uint64_t count_before = 0;  // basic elements
    uint64_t bytes_before = 0;
    uint64_t hash_before[kLevels] = {};  // with count_before: the signature of what comes before
    uint64_t bag_before[kLevels] =
        {};  // the sum of their codes: commutative, distinguishes other content from other order
  };

  uint64_t count = 0;
  uint64_t bytes = 0;  // kTooMany: not held by 64 bits, as count
  Repeater repeater[kLevels];
  uint64_t bag[kLevels] = {};
  BasicType basic;       // of a homogeneous type
  uint16_t classes = 0;  // bit 1 << Class
  std::unique_ptr<Part[]> parts_of;
  size_t part_count = 0;
  mutable std::atomic<size_t> references{1};
  Node* next_dead = nullptr;  // release()'s list

  // Empty for a leaf and for the type without elements.
  [[nodiscard]] std::span<const Part> parts() const noexcept {
    return {parts_of.get(), part_count};
  }
  [[nodiscard]] bool leaf() const noexcept { return part_count == 0 && count == 1; }
};

inline uint64_t Type::count() const noexcept { return node_->count; }
inline uint64_t Type::bytes() const noexcept { return node_->bytes; }
inline const BasicType& Type::basic() const noexcept { return node_->basic; }
inline bool Type::contains(Class cls) const noexcept {
  return (node_->classes >> static_cast<unsigned>(cls) & 1) != 0;
}
inline Signature Type::signature(uint64_t copies, Level level) const noexcept {
  return node_->repeater[static_cast<unsigned>(level)].repeat(copies);
}

// a * b, or kTooMany.
[[nodiscard]] constexpr uint64_t multiply_counts(uint64_t a, uint64_t b) noexcept {
  uint64_t product;
  return __builtin_mul_overflow(a, b, &product) ? kTooMany : product;
}

// The questions about the first elements of a message: `copies` copies of `type`. All take O(depth
// * log fan-out) steps, whatever the counts; thread-safe; those that return no string do not
// allocate.

// Signature of the first `elements` elements (of all, when there are fewer).
[[nodiscard]] Signature prefix(const Type& type, uint64_t copies, uint64_t elements,
                               Level level) noexcept;
// The sum of their codes modulo kPrime: equal for the same elements in any order.
[[nodiscard]] uint64_t prefix_bag(const Type& type, uint64_t copies, uint64_t elements,
                                  Level level) noexcept;
// How many elements lie wholly in the first `bytes` bytes of the message's data.
[[nodiscard]] uint64_t whole_elements(const Type& type, uint64_t copies, uint64_t bytes) noexcept;
// The basic type of element `index`, from 0, of as many copies as it takes; {} when the type has no
// elements.
[[nodiscard]] BasicType element_at(const Type& type, uint64_t index) noexcept;
// Where that element is, in words that count from 1 and agree with describe(): "copy 3, field 2,
// element 4".
[[nodiscard]] std::string path_of(const Type& type, uint64_t index);

// The first of the first `elements` elements in which the two messages differ at that level;
// `elements` when none does. Both messages must have that many. By their signatures: O(log
// elements) prefixes.
[[nodiscard]] uint64_t first_difference(const Type& a, const Type& b, uint64_t elements,
                                        Level level) noexcept;

}  // namespace verity::signature

#endif
