// SPDX-License-Identifier: BSD-3-Clause
#include "validate/typed.h"

#include <algorithm>
#include <climits>
#include <limits>

#include "typelib/contents.h"
#include "typelib/shape.h"

namespace verity::validate {

namespace {

using normalize::Pattern;
using typelib::check;
using typelib::Envelope;

constexpr size_t kMostRuns = 1'000'000;
constexpr MPI_Count kMostBytes = MPI_Count{1} << 61;   // of a buffer: see plain_layout()
constexpr MPI_Count kPackAtOnce = MPI_Count{1} << 28;  // bytes of one MPI_Pack

MPI_Count size_of(MPI_Datatype datatype) {
  MPI_Count size = 0;
#if MPI_VERSION >= 4
  check(MPI_Type_size_c(datatype, &size));
#else
  check(MPI_Type_size_x(datatype, &size));  // deprecated by MPI 4.1
#endif
  return size;
}

std::optional<Pattern> pattern_of(MPI_Datatype datatype, unsigned depth);

// Members, one behind the other.
std::optional<Pattern> pattern_of_structure(MPI_Datatype datatype, const Envelope& envelope,
                                            unsigned depth) {
  const typelib::Contents contents(datatype, envelope);
  const std::vector<int>& integers = contents.integers;
  const std::vector<MPI_Datatype>& types = contents.types;
  Pattern all;
  for (size_t i = 0; i < types.size(); ++i) {
    if (integers[i + 1] <= 0) continue;
    std::optional<Pattern> member = pattern_of(types[i], depth + 1);
    if (!member) return std::nullopt;
    if (member->empty()) continue;
    member->around.insert(member->around.begin(),
                          normalize::vector(static_cast<uint64_t>(integers[i + 1]),
                                            typelib::extent_of(types[i]).extent));
    member->around.insert(member->around.begin(), normalize::indexed({contents.addresses[i]}));
    if (!normalize::flatten(&*member, kMostRuns - all.list.size())) return std::nullopt;
    all.list.insert(all.list.end(), member->list.begin(), member->list.end());
  }
  return all;
}

std::optional<Pattern> pattern_of_atom(MPI_Datatype atom, unsigned depth) {
  const Envelope envelope = typelib::envelope_of(atom);
  if (envelope.combiner == MPI_COMBINER_STRUCT) return pattern_of_structure(atom, envelope, depth);
  // A pair of a value and an index may have a gap.
  const typelib::Extent bounds = typelib::extent_of(atom);
  const MPI_Count size = size_of(atom);
  if (!envelope.predefined() || size != bounds.extent || bounds.lower_bound != 0)
    return std::nullopt;
  Pattern pattern;
  if (size != 0) pattern.list.push_back({0, static_cast<uint64_t>(size)});
  return pattern;
}

// Nothing: too many runs, or a datatype that is not looked into.
std::optional<Pattern> pattern_of(MPI_Datatype datatype, unsigned depth) {
  if (depth > typelib::kMaxDepth) return std::nullopt;
  std::vector<typelib::Handle> owned;
  const typelib::Shape shape = typelib::shape_of(datatype, 0, &owned);
  if (shape.path.empty()) return Pattern{};
  std::optional<Pattern> pattern = pattern_of_atom(shape.atom, depth);
  if (!pattern || pattern->empty()) return pattern;
  pattern->around.assign(shape.path.begin(), shape.path.end() - 1);
  pattern->around.push_back(
      normalize::vector(shape.path.back().count, typelib::extent_of(shape.atom).extent));
  return pattern;
}

}  // namespace

std::optional<Layout> layout_of(MPI_Datatype datatype) {
  const std::optional<Pattern> pattern = pattern_of(datatype, 0);
  if (!pattern) return std::nullopt;
  std::optional<Layout> layout = make_layout(*pattern, typelib::extent_of(datatype).extent);
  const bool is_whole = layout && layout->runs.bytes == static_cast<uint64_t>(size_of(datatype));
  return is_whole ? std::move(layout) : std::nullopt;
}

Typed::Typed(void* address, MPI_Count count, MPI_Datatype datatype, MPI_Comm comm)
    : address_(address), count_(count), comm_(comm) {
  MPI_Count bytes = 0;
  if (__builtin_mul_overflow(count, size_of(datatype), &bytes) || bytes >= kMostBytes)
    throw typelib::MpiError{MPI_ERR_COUNT};
  if (std::optional<Layout> layout = layout_of(datatype)) {
    buffer_.emplace(address, std::move(*layout), static_cast<uint64_t>(count));
  } else {
    pack(datatype);
  }
}

// Calls part(first copy, copies, bytes) for parts that MPI_Pack takes at once. Precondition: so is
// each copy.
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
  if (size_of(datatype) > INT_MAX) throw typelib::MpiError{MPI_ERR_COUNT};  // as MPI_Pack counts
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
  buffer_.emplace(packed_.data(), plain_layout(packed_.size()), 1);
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
