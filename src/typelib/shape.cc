// SPDX-License-Identifier: BSD-3-Clause
#include "typelib/shape.h"

#include <algorithm>
#include <functional>

#include "normalize/optimal.h"
#include "typelib/contents.h"

namespace verity::typelib {

namespace {

using normalize::Displacements;
using normalize::TypePath;

// One constructor's arguments, by the places that the standard gives them, around its child's
// shape.
class Constructor {
 public:
  Constructor(const Contents& contents, Shape child)
      : c_(contents), shape_(std::move(child)), extent_(extent_of(contents.types[0]).extent) {}

  // Whether it is one of them.
  bool surround(int combiner) {
    switch (combiner) {
      case MPI_COMBINER_DUP:
      case MPI_COMBINER_RESIZED: return true;
      case MPI_COMBINER_CONTIGUOUS: repeat(integer(0), extent_); return true;
      case MPI_COMBINER_VECTOR: strided(integer(2) * extent_); return true;
      case MPI_COMBINER_HVECTOR: strided(c_.addresses[0]); return true;
      case MPI_COMBINER_INDEXED:
        return blocks(list(1, integer(0)), scaled(list(1 + count(), integer(0))));
      case MPI_COMBINER_HINDEXED: return blocks(list(1, integer(0)), addresses());
      case MPI_COMBINER_INDEXED_BLOCK: equal_blocks(scaled(list(2, integer(0)))); return true;
      case MPI_COMBINER_HINDEXED_BLOCK: equal_blocks(addresses()); return true;
      case MPI_COMBINER_SUBARRAY: subarray(); return true;
      default: return false;
    }
  }

  [[nodiscard]] Shape take() { return std::move(shape_); }

 private:
  [[nodiscard]] int64_t integer(size_t i) const { return c_.integers[i]; }
  [[nodiscard]] size_t count() const { return static_cast<size_t>(integer(0)); }
  [[nodiscard]] Displacements list(size_t first, int64_t size) const {
    return {c_.integers.begin() + static_cast<int64_t>(first),
            c_.integers.begin() + static_cast<int64_t>(first) + size};
  }
  [[nodiscard]] Displacements addresses() const {
    return {c_.addresses.begin(), c_.addresses.end()};
  }
  [[nodiscard]] Displacements scaled(Displacements indices) const {
    for (int64_t& index : indices) index *= extent_;
    return indices;
  }

  void put_around(normalize::Node node) {
    if (node.count == 0) shape_.path.clear();
    if (!shape_.path.empty()) shape_.path.insert(shape_.path.begin(), std::move(node));
  }
  void repeat(int64_t copies, int64_t stride) {
    put_around(normalize::vector(static_cast<uint64_t>(copies), stride));
  }
  void strided(int64_t stride) {
    repeat(integer(1), extent_);
    repeat(integer(0), stride);
  }
  void equal_blocks(Displacements indices) {
    repeat(integer(1), extent_);
    put_around(normalize::indexed(std::move(indices)));
  }

  // Blocks of different lengths: each of their elements has an index.
  bool blocks(const Displacements& lengths, const Displacements& indices) {
    if (!lengths.empty() &&
        std::ranges::adjacent_find(lengths, std::not_equal_to<>()) == lengths.end()) {
      repeat(lengths[0], extent_);
      put_around(normalize::indexed(indices));
      return true;
    }
    uint64_t elements = 0;
    for (const int64_t length : lengths) elements += static_cast<uint64_t>(length);
    if (elements > kMaxStructElements) return false;
    Displacements all;
    for (size_t i = 0; i < lengths.size(); ++i) {
      for (int64_t k = 0; k < lengths[i]; ++k) all.push_back(indices[i] + k * extent_);
    }
    put_around(normalize::indexed(std::move(all)));
    return true;
  }

  // From the dimension that varies fastest: the last one in C's order, the first one in Fortran's.
  void subarray() {
    const size_t dimensions = count();
    const bool c_order = integer(3 * dimensions + 1) == MPI_ORDER_C;
    int64_t stride = extent_, first = 0;
    for (size_t d = 0; d < dimensions; ++d) {
      const size_t size = 1 + (c_order ? dimensions - 1 - d : d);
      repeat(integer(size + dimensions), stride);
      first += integer(size + 2 * dimensions) * stride;
      stride *= integer(size);
    }
    put_around(normalize::indexed({first}));
  }

  const Contents& c_;
  Shape shape_;
  int64_t extent_;
};

struct Member {
  Shape shape;
  int64_t blocks;
  MPI_Aint offset;
  Extent bounds;
};

// Members of one type: their elements in order, each with an index. False when they are too many.
bool join(const std::vector<Member>& members, Shape* shape) {
  const MPI_Datatype atom = members[0].shape.atom;
  const MPI_Aint unit = extent_of(atom).extent;
  Displacements all;
  for (const Member& member : members) {
    TypePath path = member.shape.path;
    path.insert(path.begin(),
                normalize::vector(static_cast<uint64_t>(member.blocks), member.bounds.extent));
    const uint64_t elements = element_count(path).value_or(UINT64_MAX);
    if (elements > kMaxStructElements - all.size()) return false;
    for (const int64_t displacement : expand(path, unit))
      all.push_back(member.offset + displacement);
  }
  *shape = {{normalize::indexed(std::move(all)), normalize::contiguous(1)}, atom};
  return true;
}

// A structure of the normalized members.
Shape structure(const std::vector<Member>& members, std::vector<Handle>* atoms) {
  std::vector<int> lengths;
  std::vector<MPI_Aint> offsets;
  std::vector<Handle> owned;
  std::vector<MPI_Datatype> types;
  for (const Member& member : members) {
    owned.push_back(build(member.shape, member.bounds));
    if (owned.back().get() == MPI_DATATYPE_NULL) return {};
    lengths.push_back(static_cast<int>(member.blocks));
    offsets.push_back(member.offset);
    types.push_back(owned.back().get());
  }
  Handle made;
  check(MPI_Type_create_struct(static_cast<int>(types.size()), lengths.data(), offsets.data(),
                               types.data(), made.out()));
  const MPI_Datatype atom = made.get();
  atoms->push_back(std::move(made));
  return {{normalize::contiguous(1)}, atom};
}

// A structure has a constant, and a length, a displacement and a type for each of its members.
uint64_t cost_of_structure(const std::vector<Member>& members) {
  uint64_t all = normalize::kStorageCost.indexed;
  for (const Member& member : members) {
    const uint64_t cost = cost_of(member.shape);
    if (__builtin_add_overflow(all, cost, &all) || __builtin_add_overflow(all, 3, &all))
      return UINT64_MAX;
  }
  return all;
}

// With an atom of null: not looked into.
Shape shape_of_struct(const Contents& contents, unsigned depth, std::vector<Handle>* atoms) {
  std::vector<Member> members;
  for (size_t i = 0; i < contents.types.size(); ++i) {
    Member member{shape_of(contents.types[i], depth + 1, atoms), contents.integers[i + 1],
                  contents.addresses[i], extent_of(contents.types[i])};
    if (member.blocks > 0 && !member.shape.path.empty()) members.push_back(std::move(member));
  }
  if (members.empty()) return {{}, MPI_BYTE};
  const auto same = [&](const Member& member) {
    return member.shape.atom == members[0].shape.atom;
  };
  Shape joined;
  // Of one type, but not always cheaper as one sequence: arrays by the same list of indices.
  if (std::ranges::all_of(members, same) && join(members, &joined) &&
      (members.size() == 1 || cost_of(joined) <= cost_of_structure(members)))
    return joined;
  return structure(members, atoms);
}

Shape whole(MPI_Datatype datatype, std::vector<Handle>* atoms) {
  Handle copy;
  check(MPI_Type_dup(datatype, copy.out()));
  const MPI_Datatype atom = copy.get();
  atoms->push_back(std::move(copy));
  return {{normalize::contiguous(1)}, atom};
}

}  // namespace

Shape shape_of(MPI_Datatype datatype, unsigned depth, std::vector<Handle>* atoms) {
  const Envelope envelope = envelope_of(datatype);
  if (envelope.predefined()) return {{normalize::contiguous(1)}, datatype};
  if (depth == kMaxDepth || !envelope.has_contents() || envelope.combiner == MPI_COMBINER_DARRAY)
    return whole(datatype, atoms);
  const Contents contents(datatype, envelope);
  if (envelope.combiner == MPI_COMBINER_STRUCT) {
    Shape shape = shape_of_struct(contents, depth, atoms);
    return shape.atom == MPI_DATATYPE_NULL ? whole(datatype, atoms) : shape;
  }
  if (contents.types.size() != 1) return whole(datatype, atoms);
  Constructor constructor(contents, shape_of(contents.types[0], depth + 1, atoms));
  return constructor.surround(envelope.combiner) ? constructor.take() : whole(datatype, atoms);
}

}  // namespace verity::typelib
