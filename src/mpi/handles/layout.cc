// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/handles/layout.h"

#include <algorithm>
#include <functional>
#include <mutex>
#include <string_view>
#include <vector>

#include "mpi/handles/contents.h"
#include "mpi/process/library.h"

namespace verity::mpi {

namespace {

using normalize::Displacements;
using normalize::Pattern;
using normalize::Run;

constexpr size_t kMostRuns = size_t{1} << 20;  // of a list
constexpr unsigned kMostDepth = 32;
constexpr size_t kMostTypes = size_t{1} << 16;  // visited; one may be visited several times

// A datatype while it is decoded: its pattern has nodes around it for what its constructors repeat.
struct Shape {
  Pattern pattern;
  MPI_Aint extent = 0;
  size_t bytes = 0;

  [[nodiscard]] bool dense() const {
    return pattern.around.empty() && pattern.list.size() == 1 &&
           static_cast<MPI_Aint>(pattern.list[0].length) == extent;
  }
  void put_around(normalize::Node node) {
    if (node.count == 0) pattern = {};
    if (!pattern.empty()) pattern.around.insert(pattern.around.begin(), std::move(node));
  }
  void repeat(MPI_Aint copies, MPI_Aint stride) {
    put_around(normalize::vector(static_cast<uint64_t>(std::max<MPI_Aint>(copies, 0)), stride));
  }
};

bool measure(MPI_Datatype datatype, Shape* out) {
  MPI_Aint low = 0;
  MPI_Count size = 0;
  if (library().Type_get_extent(datatype, &low, &out->extent) != MPI_SUCCESS) return false;
  if (library().Type_size_x(datatype, &size) != MPI_SUCCESS || size < 0) return false;
  out->bytes = static_cast<size_t>(size);
  return true;
}

bool add_run(std::vector<Run>* list, MPI_Aint offset, size_t length) {
  if (length == 0) return true;
  if (!list->empty()) {
    Run& last = list->back();
    if (last.offset + static_cast<MPI_Aint>(last.length) == offset) {
      last.length += length;
      return true;
    }
  }
  if (list->size() == kMostRuns) return false;
  list->push_back({offset, length});
  return true;
}

// `copies` of the child, the first one at `offset`. Precondition: the child is a list alone.
bool add_block(std::vector<Run>* list, const Shape& child, MPI_Aint offset, MPI_Aint copies) {
  if (copies < 0) return false;
  if (child.dense())
    return add_run(list, offset + child.pattern.list[0].offset,
                   child.pattern.list[0].length * static_cast<size_t>(copies));
  if (child.pattern.empty()) return true;
  for (MPI_Aint i = 0; i < copies; ++i) {
    for (const Run& run : child.pattern.list) {
      if (!add_run(list, offset + i * child.extent + run.offset, run.length)) return false;
    }
  }
  return true;
}

// Predefined: one run, but for the pairs of a value and an index, which have a gap where a
// structure would. Not all of its bytes travel: MPICH copies values of 80 bits without what fills
// their 128 up.
bool has_filling([[maybe_unused]] MPI_Datatype datatype) noexcept {
#ifdef OPEN_MPI
  return false;
#else
  return datatype == MPI_LONG_DOUBLE || datatype == MPI_C_LONG_DOUBLE_COMPLEX ||
         datatype == MPI_CXX_LONG_DOUBLE_COMPLEX || datatype == MPI_LONG_DOUBLE_INT;
#endif
}

bool lay_out_named(MPI_Datatype datatype, Shape* out) {
  if (has_filling(datatype)) return false;
  if (!measure(datatype, out)) return false;
  if (out->bytes == 0 || static_cast<MPI_Aint>(out->bytes) == out->extent)
    return add_run(&out->pattern.list, 0, out->bytes);
  char name[MPI_MAX_OBJECT_NAME + 1] = {};
  int length = 0;
  constexpr size_t kIndex = sizeof(int);
  const bool pair = library().Type_get_name(datatype, name, &length) == MPI_SUCCESS &&
                    std::string_view(name).ends_with("_INT");
  if (!pair || out->bytes <= kIndex) return false;
  const size_t value = out->bytes - kIndex;
  return add_run(&out->pattern.list, 0, value) &&
         add_run(&out->pattern.list, static_cast<MPI_Aint>((value + kIndex - 1) / kIndex * kIndex),
                 kIndex);
}

// The arguments of one constructor, by the places that the standard gives them, around its
// children.
class Constructor {
 public:
  Constructor(const Contents& contents, std::vector<Shape> children)
      : c_(contents), children_(std::move(children)) {}

  // False: it is not one of them, or has too many pieces.
  bool run(int combiner) {
    switch (combiner) {
      case MPI_COMBINER_DUP:
      case MPI_COMBINER_RESIZED: return true;
      case MPI_COMBINER_CONTIGUOUS: child().repeat(integer(0), extent()); return true;
      case MPI_COMBINER_VECTOR: return strided(integer(2) * extent());
      case MPI_COMBINER_HVECTOR: return strided(c_.addresses[0]);
      case MPI_COMBINER_INDEXED: return blocks(list(1), scaled(list(1 + integer(0))));
      case MPI_COMBINER_HINDEXED: return blocks(list(1), addresses());
      case MPI_COMBINER_INDEXED_BLOCK: return equal_blocks(integer(1), scaled(list(2)));
      case MPI_COMBINER_HINDEXED_BLOCK: return equal_blocks(integer(1), addresses());
      case MPI_COMBINER_STRUCT: return structure();
      case MPI_COMBINER_SUBARRAY: return subarray();
      default: return false;
    }
  }

  [[nodiscard]] Pattern take() { return std::move(children_[0].pattern); }

 private:
  [[nodiscard]] MPI_Aint integer(MPI_Aint i) const { return c_.integers[static_cast<size_t>(i)]; }
  // The outcome is in the first one.
  [[nodiscard]] Shape& child() { return children_[0]; }
  [[nodiscard]] MPI_Aint extent() const { return children_[0].extent; }
  // As many integers as there are blocks.
  [[nodiscard]] Displacements list(MPI_Aint first) const {
    const auto begin = c_.integers.begin() + first;
    return {begin, begin + integer(0)};
  }
  [[nodiscard]] Displacements addresses() const {
    return {c_.addresses.begin(), c_.addresses.end()};
  }
  [[nodiscard]] Displacements scaled(Displacements indices) const {
    for (int64_t& index : indices) index *= extent();
    return indices;
  }

  bool strided(MPI_Aint stride) {
    child().repeat(integer(1), extent());
    child().repeat(integer(0), stride);
    return true;
  }
  bool equal_blocks(MPI_Aint length, Displacements indices) {
    if (indices.size() > kMostRuns) return false;
    child().repeat(length, extent());
    child().put_around(normalize::indexed(std::move(indices)));
    return true;
  }
  bool blocks(const Displacements& lengths, Displacements indices) {
    if (!lengths.empty() &&
        std::ranges::adjacent_find(lengths, std::not_equal_to<>()) == lengths.end())
      return equal_blocks(lengths[0], std::move(indices));
    if (!normalize::flatten(&child().pattern, kMostRuns)) return false;
    std::vector<Run> all;
    for (size_t i = 0; i < lengths.size(); ++i) {
      if (!add_block(&all, child(), indices[i], lengths[i])) return false;
    }
    child().pattern = {{}, std::move(all)};
    return true;
  }

  // Open MPI has a member without data count for the structure's extent, which the standard does
  // not, and yet packs several copies of some as though it had not.
  [[nodiscard]] bool knows_extent([[maybe_unused]] size_t member) const {
#ifdef OPEN_MPI
    return children_[member].bytes != 0 || integer(static_cast<MPI_Aint>(member) + 1) == 0;
#else
    return true;
#endif
  }

  // One member with data keeps its nodes; the runs of several become one list.
  bool structure() {
    std::vector<Run> all;
    Shape* only = nullptr;
    size_t with_data = 0;
    for (size_t i = 0; i < children_.size(); ++i) {
      if (!knows_extent(i)) return false;
      Shape& member = children_[i];
      member.repeat(integer(static_cast<MPI_Aint>(i) + 1), member.extent);
      member.put_around(normalize::indexed({c_.addresses[i]}));
      if (member.pattern.empty()) continue;
      ++with_data;
      only = &member;
    }
    if (with_data != 1) {
      for (Shape& member : children_) {
        if (!normalize::flatten(&member.pattern, kMostRuns)) return false;
        for (const Run& run : member.pattern.list) {
          if (!add_run(&all, run.offset, run.length)) return false;
        }
      }
      child().pattern = {{}, std::move(all)};
    } else if (only != &child()) {
      child().pattern = std::move(only->pattern);
    }
    return true;
  }

  // From the dimension that varies fastest: the last one in C's order, the first one in Fortran's.
  bool subarray() {
    const MPI_Aint dimensions = integer(0);
    const bool c_order = integer(3 * dimensions + 1) == MPI_ORDER_C;
    MPI_Aint stride = extent(), first = 0;
    for (MPI_Aint d = 0; d < dimensions; ++d) {
      const MPI_Aint size = 1 + (c_order ? dimensions - 1 - d : d);
      child().repeat(integer(size + dimensions), stride);
      first += integer(size + 2 * dimensions) * stride;
      stride *= integer(size);
    }
    child().put_around(normalize::indexed({first}));
    return true;
  }

  const Contents& c_;
  std::vector<Shape> children_;
};

// `left`: so many types more, at most.
bool lay_out_at(MPI_Datatype datatype, unsigned depth, size_t& left, Shape* out);

// The types of `contents`, each once; frees what has to be freed.
bool lay_out_children(const Contents& contents, unsigned depth, size_t& left,
                      std::vector<Shape>* out) {
  bool known = true;
  for (size_t i = 0; i < contents.types.size(); ++i) {
    MPI_Datatype type = contents.types[i];
    out->emplace_back();
    known = known && lay_out_at(type, depth, left, &out->back());
    if (must_be_freed(type)) library().Type_free(&type);
  }
  return known;
}

bool lay_out_at(MPI_Datatype datatype, unsigned depth, size_t& left, Shape* out) {
  TypeEnvelope envelope;
  if (depth == kMostDepth || left == 0 || !get_envelope(datatype, &envelope)) return false;
  --left;
  switch (envelope.combiner) {
    case MPI_COMBINER_NAMED:
    case MPI_COMBINER_F90_INTEGER:
    case MPI_COMBINER_F90_REAL:
    case MPI_COMBINER_F90_COMPLEX: return lay_out_named(datatype, out);
    default: break;
  }
  if (envelope.counts != 0 || static_cast<size_t>(envelope.types) > kMostRuns) return false;
  Contents contents;
  if (!get_contents(datatype, envelope, &contents)) return false;
  std::vector<Shape> children;
  if (!lay_out_children(contents, depth + 1, left, &children) || !measure(datatype, out))
    return false;
  if (children.empty()) return true;
  Constructor constructor(contents, std::move(children));
  if (!constructor.run(envelope.combiner)) return false;
  out->pattern = constructor.take();
  return true;
}

// The runs of datatypes that have been seen, by their canonical path.
std::shared_ptr<const normalize::Runs> runs_of(const Pattern& pattern) {
  static std::mutex mutex;
  static auto& cache = *new normalize::RunsCache;  // never destroyed
  std::optional<normalize::RunsKey> key = normalize::runs_key(pattern);
  if (!key) return nullptr;
  const std::lock_guard lock(mutex);
  return cache.find_or_make(std::move(*key));
}

}  // namespace

Layout lay_out(MPI_Datatype datatype) {
  Shape shape;
  size_t left = kMostTypes;
  if (!lay_out_at(datatype, 0, left, &shape)) return {};
  Layout layout;
  layout.extent = shape.extent;
  layout.bytes = shape.bytes;
  if (!shape.pattern.empty()) layout.runs = runs_of(shape.pattern);
  if (layout.runs != nullptr) {
    layout.low = layout.runs->low;
    layout.high = layout.runs->high;
  }
  // The library counts them too.
  layout.known = (layout.runs != nullptr ? layout.runs->bytes : 0) == layout.bytes;
  return layout;
}

}  // namespace verity::mpi
