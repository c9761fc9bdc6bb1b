// SPDX-License-Identifier: BSD-3-Clause
#include "automap/plan/basic_types.h"

namespace verity::automap {

std::optional<signature::BasicType> basic_of_typedef(std::string_view name, uint64_t size) {
  using namespace signature;
  struct Entry {
    std::string_view name;
    Id id;
  };
  constexpr Entry kEntries[] = {
      {"int8_t", id_MPI_INT8_T},     {"int16_t", id_MPI_INT16_T},   {"int32_t", id_MPI_INT32_T},
      {"int64_t", id_MPI_INT64_T},   {"uint8_t", id_MPI_UINT8_T},   {"uint16_t", id_MPI_UINT16_T},
      {"uint32_t", id_MPI_UINT32_T}, {"uint64_t", id_MPI_UINT64_T}, {"wchar_t", id_MPI_WCHAR},
      {"MPI_Aint", id_MPI_AINT},     {"MPI_Offset", id_MPI_OFFSET}, {"MPI_Count", id_MPI_COUNT},
  };
  for (const Entry& entry : kEntries) {
    const auto basic = find_basic(name_of(entry.id));
    if (entry.name == name && basic && basic->size == size) return basic;
  }
  return std::nullopt;
}

}  // namespace verity::automap
