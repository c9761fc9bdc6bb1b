// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/handles/types.h"

#include <cxxabi.h>

#include <cstring>

#include "mpi/process/library.h"
#include "mpi/process/this_process.h"
#include "signature/describe.h"

namespace verity::mpi {

namespace {

void fill(TypeInfo* info, MPI_Datatype datatype) {
  signature::Type type;
  info->permanent = is_predefined(datatype);
  info->checkable = decode_type(datatype, &type);
  info->description_length = 0;
  // One basic type is in the record itself.
  if (info->checkable && !type.homogeneous()) {
    info->description_length =
        static_cast<uint8_t>(signature::encode(type, info->description, sizeof(info->description)));
  }
  info->one = signature::make_record(type, 1, settings().level);
  info->type = std::move(type);
  if (settings().digest && info->checkable) info->layout = lay_out(datatype);
}

// False: MPI refuses it in the call to come, and would here, but calls MPI_COMM_WORLD's error
// handler then, by default to end the job. (MPICH's handles say in four bits what they are of,
// above these in two whether they are valid; Open MPI crashes.)
bool may_be_type(MPI_Datatype datatype) noexcept {
#ifdef OPEN_MPI
  return datatype != handles().type_null;
#else
  constexpr auto kOf = 0xfu << 26, kKind = 3u << 30;
  const auto bits = static_cast<unsigned>(datatype);
  return (bits & kKind) != 0 && (bits & kOf) == (unsigned{MPI_DATATYPE_NULL} & kOf);
#endif
}

// The error handler that MPI calls for what is no datatype need not be that of the call to come,
// which reports it: what it throws goes no further, unless its thread ends. Nor does a lack of
// memory.
template <typename Find>
auto dropping_exceptions(Find find) -> decltype(find()) {
  try {
    return find();
  } catch (const abi::__forced_unwind&) { throw; } catch (...) {
    return {};
  }
}

}  // namespace

signature::Record TypeInfo::record(uint64_t copies) const noexcept {
  // Of one basic type there is nothing to compute: the record of one copy is the record of any
  // number, but for the count.
  const bool only_counts =
      one.homogeneous() && copies != 0 && one.count <= UINT32_MAX && copies <= UINT32_MAX;
  if (!only_counts) return signature::make_record(type, copies, settings().level);
  signature::Record made = one;
  made.count *= copies;
  return made;
}

void TypeInfo::keep(Use use, uint64_t copies, const signature::Record& record) noexcept {
  if (!this_process.several_threads && checkable && signature::can_say(record))
    kept_[use] = {copies, record};
}

bool TypeInfo::is_like(const TypeInfo& other) const noexcept {
  const auto& a = layout;
  const auto& b = other.layout;
  return permanent == other.permanent && checkable == other.checkable &&
         one.hash == other.one.hash && one.count == other.one.count &&
         one.basic == other.one.basic && one.flags == other.one.flags &&
         description_length == other.description_length &&
         std::memcmp(description, other.description, description_length) == 0 &&
         a.known == b.known && a.runs == b.runs && a.extent == b.extent && a.bytes == b.bytes;
}

TypeInfo* first_sight_of_type(MPI_Datatype datatype) {
  if (!may_be_type(datatype)) return nullptr;
  return dropping_exceptions([datatype] {
    return TypeTable::find(datatype, [datatype](TypeInfo* info) { fill(info, datatype); });
  });
}

TypeRef ending_type(MPI_Datatype datatype) {
  if (!may_be_type(datatype)) return {};
  return dropping_exceptions([datatype] {
    return TypeTable::make_unshared([datatype](TypeInfo* info) {
#ifdef OPEN_MPI  // which does not say how a type was made once it is being freed: not checked
      static_cast<void>(datatype);
      info->checkable = false;
#else
      fill(info, datatype);
#endif
    });
  });
}

size_t write_signature(TypeInfo& type, MPI_Count count, uint64_t site, uint8_t family, uint8_t* out,
                       size_t room) noexcept {
  if (!type.checkable || count < 0) return 0;
  const signature::Record record = type.record(static_cast<uint64_t>(count));
  const size_t description =
      type.description_length <= room - sizeof(record) ? type.description_length : 0;
  signature::write_words(record, site, static_cast<uint32_t>(process_number()), family,
                         static_cast<uint8_t>(description), out);
  if (description != 0) std::memcpy(out + sizeof(record), type.description, description);
  return sizeof(record) + description;
}

void forget_type(MPI_Datatype datatype) noexcept { TypeTable::drop(datatype); }
void doubt_type(MPI_Datatype datatype) noexcept { TypeTable::doubt(datatype); }

}  // namespace verity::mpi
