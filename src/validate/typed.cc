// SPDX-License-Identifier: BSD-3-Clause
#include "validate/typed.h"

#include <algorithm>
#include <climits>
#include <limits>

#include "typelib/shape.h"

namespace verity::validate {

namespace {

using normalize::Kind;
using normalize::Node;
using typelib::check;

constexpr size_t kMostRuns = 1'000'000;
constexpr MPI_Count kPackAtOnce = MPI_Count{1} << 28;  // bytes of one MPI_Pack

struct Envelope {
  int integers = 0, addresses = 0, types = 0, combiner = 0;
};

Envelope envelope_of(MPI_Datatype datatype) {
  Envelope e;
  check(MPI_Type_get_envelope(datatype, &e.integers, &e.addresses, &e.types, &e.combiner));
  return e;
}

MPI_Count size_of(MPI_Datatype datatype) {
  MPI_Count size = 0;
  check(MPI_Type_size_x(datatype, &size));
  return size;
}

// Collects runs; those that follow each other become one.
class Runs {
 public:
  // False: too many, or a datatype that is not looked into.
  bool add(MPI_Datatype datatype, int64_t displacement, unsigned depth) {
    if (depth > typelib::kMaxDepth) return false;
    std::vector<typelib::Handle> owned;
    const typelib::Shape shape = typelib::shape_of(datatype, 0, &owned);
    return shape.path.empty() || add_node(shape, 0, displacement, depth);
  }

  [[nodiscard]] std::vector<Run> take() { return std::move(runs_); }

 private:
  bool add_node(const typelib::Shape& shape, size_t at, int64_t displacement, unsigned depth) {
    const Node& node = shape.path[at];
    if (node.kind == Kind::kContiguous)
      return add_atoms(shape.atom, node.count, displacement, depth);
    for (uint64_t copy = 0; copy < node.count; ++copy) {
      const int64_t step = node.kind == Kind::kVector ? static_cast<int64_t>(copy) * node.stride
                                                      : node.indices[copy];
      if (!add_node(shape, at + 1, displacement + step, depth)) return false;
    }
    return true;
  }

  bool add_atoms(MPI_Datatype atom, uint64_t count, int64_t displacement, unsigned depth) {
    const typelib::Extent bounds = typelib::extent_of(atom);
    const Envelope envelope = envelope_of(atom);
    const bool basic =
        envelope.combiner == MPI_COMBINER_NAMED || envelope.combiner == MPI_COMBINER_F90_INTEGER ||
        envelope.combiner == MPI_COMBINER_F90_REAL || envelope.combiner == MPI_COMBINER_F90_COMPLEX;
    // A pair of a value and an index may have a gap.
    if (basic)
      return size_of(atom) == bounds.extent && bounds.lower_bound == 0 &&
             append(displacement, count * static_cast<uint64_t>(bounds.extent));
    if (envelope.combiner != MPI_COMBINER_STRUCT) return false;
    for (uint64_t i = 0; i < count; ++i) {
      if (!add_structure(atom, envelope, displacement + static_cast<int64_t>(i) * bounds.extent,
                         depth))
        return false;
    }
    return true;
  }

  bool add_structure(MPI_Datatype datatype, const Envelope& envelope, int64_t displacement,
                     unsigned depth) {
    std::vector<int> integers(static_cast<size_t>(envelope.integers));
    std::vector<MPI_Aint> addresses(static_cast<size_t>(envelope.addresses));
    std::vector<MPI_Datatype> types(static_cast<size_t>(envelope.types));
    check(MPI_Type_get_contents(datatype, envelope.integers, envelope.addresses, envelope.types,
                                integers.data(), addresses.data(), types.data()));
    std::vector<typelib::Handle> owned;
    for (MPI_Datatype type : types) {
      if (envelope_of(type).combiner != MPI_COMBINER_NAMED) owned.emplace_back(type);
    }
    for (size_t i = 0; i < types.size(); ++i) {
      const int64_t extent = typelib::extent_of(types[i]).extent;
      for (int copy = 0; copy < integers[i + 1]; ++copy) {
        if (!add(types[i], displacement + addresses[i] + copy * extent, depth + 1)) return false;
      }
    }
    return true;
  }

  bool append(int64_t displacement, uint64_t length) {
    if (length == 0) return true;
    if (!runs_.empty() &&
        runs_.back().displacement + static_cast<int64_t>(runs_.back().length) == displacement) {
      runs_.back().length += length;
      return true;
    }
    if (runs_.size() == kMostRuns) return false;
    runs_.push_back({displacement, length});
    return true;
  }

  std::vector<Run> runs_;
};

}  // namespace

std::optional<Layout> layout_of(MPI_Datatype datatype) {
  Runs runs;
  if (!runs.add(datatype, 0, 0)) return std::nullopt;
  Layout layout;
  layout.runs = runs.take();
  layout.extent = typelib::extent_of(datatype).extent;
  layout.bytes = static_cast<uint64_t>(size_of(datatype));
  uint64_t sum = 0;
  for (const Run& run : layout.runs) sum += run.length;
  return sum == layout.bytes ? std::optional(std::move(layout)) : std::nullopt;
}

Typed::Typed(void* address, MPI_Count count, MPI_Datatype datatype, MPI_Comm comm)
    : address_(address), count_(count), comm_(comm) {
  if (std::optional<Layout> layout = layout_of(datatype)) {
    buffer_.emplace(address, std::move(*layout), static_cast<uint64_t>(count));
  } else {
    pack(datatype);
  }
}

// Calls part(first copy, copies, bytes) for parts that MPI_Pack takes at once.
template <typename Part>
void Typed::for_parts(Part&& part) const {
  const MPI_Count size = std::max<MPI_Count>(size_of(datatype_.get()), 1);
  const MPI_Count most = std::max<MPI_Count>(kPackAtOnce / size, 1);
  for (MPI_Count first = 0; first < count_; first += most) {
    const MPI_Count copies = std::min(most, count_ - first);
    part(first, static_cast<int>(copies), static_cast<int>(copies * size));
  }
}

void Typed::pack(MPI_Datatype datatype) {
  check(MPI_Type_dup(datatype, datatype_.out()));
  const auto size = static_cast<uint64_t>(size_of(datatype));
  packed_.resize(size * static_cast<uint64_t>(count_));
  const MPI_Aint extent = typelib::extent_of(datatype).extent;
  size_t place = 0;
  for_parts([&](MPI_Count first, int copies, int bytes) {
    int position = 0;
    check(MPI_Pack(static_cast<const char*>(address_) + first * extent, copies, datatype,
                   packed_.data() + place, bytes, &position, comm_));
    if (position != bytes) throw typelib::MpiError{MPI_ERR_TYPE};  // packed with something in front
    place += static_cast<size_t>(bytes);
  });
  const uint64_t length = packed_.size();
  Layout layout{{}, static_cast<int64_t>(length), length};
  if (length != 0) layout.runs.push_back({0, length});
  buffer_.emplace(packed_.data(), std::move(layout), 1);
}

void Typed::store() const {
  if (datatype_.get() == MPI_DATATYPE_NULL) return;
  const MPI_Aint extent = typelib::extent_of(datatype_.get()).extent;
  size_t place = 0;
  for_parts([&](MPI_Count first, int copies, int bytes) {
    int position = 0;
    check(MPI_Unpack(packed_.data() + place, bytes, &position,
                     static_cast<char*>(address_) + first * extent, copies, datatype_.get(),
                     comm_));
    place += static_cast<size_t>(bytes);
  });
}

}  // namespace verity::validate
