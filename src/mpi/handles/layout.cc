// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/handles/layout.h"

#include <algorithm>
#include <string_view>

#include "mpi/handles/contents.h"
#include "mpi/process/library.h"

namespace verity::mpi {

namespace {

constexpr size_t kMostRuns = size_t{1} << 16;
constexpr unsigned kMostDepth = 32;
constexpr size_t kMostTypes = size_t{1} << 16;  // visited; one may be visited several times

bool measure(MPI_Datatype datatype, Layout* out) {
  MPI_Aint low = 0;
  MPI_Count size = 0;
  if (library().Type_get_extent(datatype, &low, &out->extent) != MPI_SUCCESS) return false;
  if (library().Type_size_x(datatype, &size) != MPI_SUCCESS || size < 0) return false;
  out->bytes = static_cast<size_t>(size);
  return true;
}

bool add_run(Layout* out, MPI_Aint offset, size_t length) {
  if (length == 0) return true;
  if (!out->runs.empty()) {
    Layout::Run& last = out->runs.back();
    if (last.offset + static_cast<MPI_Aint>(last.length) == offset) {
      last.length += length;
      return true;
    }
  }
  if (out->runs.size() == kMostRuns) return false;
  out->runs.push_back({offset, length});
  return true;
}

// `copies` of the child, the first one at `offset`.
bool add_block(Layout* out, const Layout& child, MPI_Aint offset, MPI_Aint copies) {
  if (copies < 0) return false;
  if (child.dense())
    return add_run(out, offset + child.runs[0].offset,
                   child.runs[0].length * static_cast<size_t>(copies));
  if (child.runs.empty()) return true;
  for (MPI_Aint i = 0; i < copies; ++i) {
    for (const Layout::Run& run : child.runs) {
      if (!add_run(out, offset + i * child.extent + run.offset, run.length)) return false;
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

bool lay_out_named(MPI_Datatype datatype, Layout* out) {
  if (has_filling(datatype)) return false;
  if (!measure(datatype, out)) return false;
  if (out->bytes == 0 || static_cast<MPI_Aint>(out->bytes) == out->extent)
    return add_run(out, 0, out->bytes);
  char name[MPI_MAX_OBJECT_NAME + 1] = {};
  int length = 0;
  constexpr size_t kIndex = sizeof(int);
  const bool pair = library().Type_get_name(datatype, name, &length) == MPI_SUCCESS &&
                    std::string_view(name).ends_with("_INT");
  if (!pair || out->bytes <= kIndex) return false;
  const size_t value = out->bytes - kIndex;
  return add_run(out, 0, value) &&
         add_run(out, static_cast<MPI_Aint>((value + kIndex - 1) / kIndex * kIndex), kIndex);
}

// The arguments of one constructor, by the names that the standard gives them.
class Constructor {
 public:
  Constructor(const Contents& contents, const std::vector<Layout>& children)
      : c_(contents), children_(children) {}

  bool run(int combiner, Layout* out) const {
    switch (combiner) {
      case MPI_COMBINER_DUP:
      case MPI_COMBINER_RESIZED: return add_block(out, child(), 0, 1);
      case MPI_COMBINER_CONTIGUOUS: return add_block(out, child(), 0, integer(0));
      case MPI_COMBINER_VECTOR: return strided(out, integer(2) * child().extent);
      case MPI_COMBINER_HVECTOR: return strided(out, c_.addresses[0]);
      case MPI_COMBINER_INDEXED:
        return blocks(out, [&](int i) { return integer(1 + integer(0) + i) * child().extent; });
      case MPI_COMBINER_HINDEXED:
        return blocks(out, [&](int i) { return c_.addresses[static_cast<size_t>(i)]; });
      case MPI_COMBINER_INDEXED_BLOCK:
        return equal_blocks(out, [&](int i) { return integer(2 + i) * child().extent; });
      case MPI_COMBINER_HINDEXED_BLOCK:
        return equal_blocks(out, [&](int i) { return c_.addresses[static_cast<size_t>(i)]; });
      case MPI_COMBINER_STRUCT: return structure(out);
      case MPI_COMBINER_SUBARRAY: return subarray(out);
      default: return false;
    }
  }

 private:
  [[nodiscard]] MPI_Aint integer(MPI_Aint i) const { return c_.integers[static_cast<size_t>(i)]; }
  [[nodiscard]] const Layout& child() const { return children_[0]; }

  bool strided(Layout* out, MPI_Aint stride) const {
    if (integer(1) == 0 || child().runs.empty()) return true;
    for (MPI_Aint i = 0; i < integer(0); ++i) {
      if (!add_block(out, child(), i * stride, integer(1))) return false;
    }
    return true;
  }
  template <typename Place>
  bool blocks(Layout* out, Place place) const {
    for (int i = 0; i < integer(0); ++i) {
      if (!add_block(out, child(), place(i), integer(1 + i))) return false;
    }
    return true;
  }
  template <typename Place>
  bool equal_blocks(Layout* out, Place place) const {
    for (int i = 0; i < integer(0); ++i) {
      if (!add_block(out, child(), place(i), integer(1))) return false;
    }
    return true;
  }
  bool structure(Layout* out) const {
    for (size_t i = 0; i < children_.size(); ++i) {
      if (!add_block(out, children_[i], c_.addresses[i], integer(static_cast<MPI_Aint>(i) + 1)))
        return false;
    }
    return true;
  }

  // Row by row of the dimension that varies fastest: the last one in C's order, the first one in
  // Fortran's.
  bool subarray(Layout* out) const {
    const MPI_Aint dimensions = integer(0);
    const bool c_order = integer(3 * dimensions + 1) == MPI_ORDER_C;
    // d: 0 for the fastest.
    const auto index = [&](MPI_Aint d) { return 1 + (c_order ? dimensions - 1 - d : d); };
    const auto size = [&](MPI_Aint d) { return integer(index(d)); };
    const auto part = [&](MPI_Aint d) { return integer(index(d) + dimensions); };
    const auto start = [&](MPI_Aint d) { return integer(index(d) + 2 * dimensions); };
    std::vector<MPI_Aint> at(static_cast<size_t>(dimensions), 0);
    while (true) {
      MPI_Aint place = 0;
      for (MPI_Aint d = dimensions - 1; d >= 0; --d)
        place = place * size(d) + start(d) + at[static_cast<size_t>(d)];
      if (!add_block(out, child(), place * child().extent, part(0))) return false;
      MPI_Aint d = 1;
      while (d < dimensions && ++at[static_cast<size_t>(d)] == part(d))
        at[static_cast<size_t>(d++)] = 0;
      if (d >= dimensions) return true;
    }
  }

  const Contents& c_;
  const std::vector<Layout>& children_;
};

// `left`: so many types more, at most.
bool lay_out_at(MPI_Datatype datatype, unsigned depth, size_t& left, Layout* out);

// The types of `contents`, each once; frees what has to be freed.
bool lay_out_children(const Contents& contents, unsigned depth, size_t& left,
                      std::vector<Layout>* out) {
  bool known = true;
  for (size_t i = 0; i < contents.types.size(); ++i) {
    MPI_Datatype type = contents.types[i];
    out->emplace_back();
    known = known && lay_out_at(type, depth, left, &out->back());
    if (must_be_freed(type)) library().Type_free(&type);
  }
  return known;
}

bool lay_out_at(MPI_Datatype datatype, unsigned depth, size_t& left, Layout* out) {
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
  std::vector<Layout> children;
  const bool known = lay_out_children(contents, depth + 1, left, &children);
  return known && measure(datatype, out) &&
         (children.empty() || Constructor(contents, children).run(envelope.combiner, out));
}

}  // namespace

Layout lay_out(MPI_Datatype datatype) {
  Layout layout;
  size_t left = kMostTypes;
  if (!lay_out_at(datatype, 0, left, &layout)) return {};
  size_t bytes = 0;
  for (const Layout::Run& run : layout.runs) {
    layout.low = bytes == 0 ? run.offset : std::min(layout.low, run.offset);
    layout.high = bytes == 0
                      ? run.offset + static_cast<MPI_Aint>(run.length)
                      : std::max(layout.high, run.offset + static_cast<MPI_Aint>(run.length));
    bytes += run.length;
  }
  layout.known = bytes == layout.bytes;  // the library counts them too
  return layout;
}

}  // namespace verity::mpi
