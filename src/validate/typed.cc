// SPDX-License-Identifier: BSD-3-Clause
#include "validate/typed.h"

#include <algorithm>
#include <climits>
#include <cstring>
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

constexpr uint64_t kLongDouble = sizeof(long double);
constexpr uint64_t kLongDoubleValue =
    std::numeric_limits<long double>::digits == 64 ? 10 : kLongDouble;

// The types that consist of long doubles, of each of which so many bytes count; empty for others.
Pattern pattern_of_long_doubles(MPI_Datatype atom, uint64_t bytes) {
  constexpr auto kNext = static_cast<int64_t>(kLongDouble);
  Pattern pattern;
  if (atom == MPI_LONG_DOUBLE) {
    pattern.list = {{0, bytes}};
  } else if (atom == MPI_LONG_DOUBLE_INT) {
    pattern.list = {{0, bytes}, {kNext, sizeof(int)}};
  } else if (atom == MPI_C_LONG_DOUBLE_COMPLEX || atom == MPI_CXX_LONG_DOUBLE_COMPLEX) {
    pattern.list = {{0, bytes}, {kNext, bytes}};
  }
  return pattern;
}

class Decoder {
 public:
  explicit Decoder(uint64_t long_double_bytes) : long_double_bytes_(long_double_bytes) {}

  // Nothing: too many runs, or a datatype that is not looked into.
  std::optional<Pattern> pattern_of(MPI_Datatype datatype, unsigned depth = 0);
  [[nodiscard]] bool has_long_doubles() const noexcept { return has_long_doubles_; }

 private:
  std::optional<Pattern> pattern_of_structure(MPI_Datatype datatype, const Envelope& envelope,
                                              unsigned depth);
  std::optional<Pattern> pattern_of_atom(MPI_Datatype atom, unsigned depth);

  uint64_t long_double_bytes_;
  bool has_long_doubles_ = false;
};

// Members, one behind the other.
std::optional<Pattern> Decoder::pattern_of_structure(MPI_Datatype datatype,
                                                     const Envelope& envelope, unsigned depth) {
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

std::optional<Pattern> Decoder::pattern_of_atom(MPI_Datatype atom, unsigned depth) {
  Pattern long_doubles = pattern_of_long_doubles(atom, long_double_bytes_);
  has_long_doubles_ |= !long_doubles.empty();
  if (!long_doubles.empty()) return long_doubles;
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

std::optional<Pattern> Decoder::pattern_of(MPI_Datatype datatype, unsigned depth) {
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

std::optional<TypedLayout> layout_of(MPI_Datatype datatype) {
  const MPI_Aint extent = typelib::extent_of(datatype).extent;
  Decoder whole(kLongDouble);
  const std::optional<Pattern> pattern = whole.pattern_of(datatype);
  if (!pattern) return std::nullopt;
  std::optional<Layout> layout = make_layout(*pattern, extent);
  const bool is_whole = layout && layout->runs.bytes == static_cast<uint64_t>(size_of(datatype));
  if (!is_whole) return std::nullopt;
  TypedLayout typed{std::move(*layout), {}};
  if (whole.has_long_doubles() && kLongDoubleValue != kLongDouble) {
    const std::optional<Pattern> values = Decoder(kLongDoubleValue).pattern_of(datatype);
    if (values) typed.values = make_layout(*values, extent);
    if (!typed.values) return std::nullopt;
  }
  return typed;
}

Typed::Typed(void* address, MPI_Count count, MPI_Datatype datatype, MPI_Comm comm)
    : address_(address), count_(count), comm_(comm) {
  MPI_Count bytes = 0;
  if (__builtin_mul_overflow(count, size_of(datatype), &bytes) || bytes >= kMostBytes)
    throw typelib::MpiError{MPI_ERR_COUNT};
  std::optional<TypedLayout> layout = layout_of(datatype);
  if (!layout) {
    pack(datatype);
  } else if (layout->values && bytes != 0) {
    pack_values(std::move(*layout));
  } else {
    buffer_.emplace(address, std::move(layout->bytes), static_cast<uint64_t>(count));
  }
}

// Calls copy(place, address, length) for the bytes of values at these places of the packed copy.
// The values are some of all bytes, in the same order.
template <typename Copy>
void Typed::for_values(Copy&& copy) const {
  normalize::RunsCursor all = filled_->begin(), values = values_->begin();
  for (uint64_t place = 0; place < packed_.size();) {
    const auto filling = static_cast<uint64_t>(reinterpret_cast<uintptr_t>(values.here()) -
                                               reinterpret_cast<uintptr_t>(all.here()));
    if (filling >= all.left()) {  // the next value lies elsewhere
      place += all.left();
      all.advance(all.left());
      continue;
    }
    all.advance(filling);
    place += filling;
    const uint64_t length = std::min(all.left(), values.left());
    copy(place, const_cast<uint8_t*>(values.here()), length);
    all.advance(length);
    values.advance(length);
    place += length;
  }
}

void Typed::pack_values(TypedLayout layout) {
  const auto count = static_cast<uint64_t>(count_);
  filled_.emplace(address_, std::move(layout.bytes), count);
  values_.emplace(address_, std::move(*layout.values), count);
  packed_.resize(filled_->length());
  for_values([this](uint64_t place, const uint8_t* from, uint64_t length) {
    std::memcpy(packed_.data() + place, from, length);
  });
  buffer_.emplace(packed_.data(), plain_layout(packed_.size()), 1);
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
  if (values_) {
    for_values([this](uint64_t place, uint8_t* to, uint64_t length) {
      std::memcpy(to, packed_.data() + place, length);
    });
  }
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
