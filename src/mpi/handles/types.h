// SPDX-License-Identifier: BSD-3-Clause
// MPI datatypes and their signatures.
#ifndef VERITY_MPI_HANDLES_TYPES_H
#define VERITY_MPI_HANDLES_TYPES_H

#include <cstdint>

#include "mpi/handles/handle_table.h"
#include "mpi/handles/layout.h"
#include "mpi/process/counting.h"
#include "mpi/process/mpi_api.h"
#include "mpi/ucp/attach.h"
#include "signature/record.h"
#include "signature/type.h"

namespace verity::mpi {

// Room that a record leaves for the description.
inline constexpr size_t kMaxTypeDescription = kMaxSignature - sizeof(signature::Record);

struct TypeInfo : HandleInfo<MPI_Datatype> {
  signature::Type type;
  signature::Record one;   // of one copy
  bool checkable = false;  // it could be decoded
  uint8_t description_length = 0;
  uint8_t description[kMaxTypeDescription];
  Layout layout;  // for digests, where they are wanted
  TypeInfo* next_free = nullptr;

  // Bytes of that many copies; 0: none, or they cannot be digested.
  [[nodiscard]] uint64_t digestible(uint64_t copies) const noexcept {
    if (!layout.known || type.contains(signature::Class::kPacked)) return 0;
    const uint64_t bytes = signature::multiply_counts(layout.bytes, copies);
    return bytes == signature::kTooMany ? 0 : bytes;
  }

  // Of `copies` copies, without what the sender adds.
  [[nodiscard]] signature::Record record(uint64_t copies) const noexcept;
  // Programs repeat themselves: the last one of each use is kept, if signature::says() does for it
  // and several threads cannot ask at once.
  enum Use : uint8_t { kSent, kReceived };
  [[nodiscard]] const signature::Record* kept(Use use, uint64_t copies) const noexcept {
    return copies == kept_[use].copies ? &kept_[use].record : nullptr;
  }
  void keep(Use use, uint64_t copies, const signature::Record& record) noexcept;
  // Whether all that is sent and compared of both is the same.
  [[nodiscard]] bool is_like(const TypeInfo& other) const noexcept;
  void clear() noexcept {
    type = signature::Type();
    layout = {};
    for (Kept& kept : kept_) kept.copies = kNone;
  }

 private:
  static constexpr uint64_t kNone = ~uint64_t{0};
  struct Kept {
    uint64_t copies = kNone;
    signature::Record record;
  };
  Kept kept_[2];
};
using TypeTable = HandleTable<MPI_Datatype, TypeInfo>;
using TypeRef = TypeTable::Ref;

// Of a datatype that is in use; nullptr when that is not known (MPI_DATATYPE_NULL, while it is
// ending, no memory). Valid until forget_type(). Throws nothing but the end of its thread, where an
// error handler of the program brings that about.
[[nodiscard]] TypeInfo* first_sight_of_type(MPI_Datatype datatype);
[[nodiscard]] inline TypeInfo* find_type(MPI_Datatype datatype) {
  TypeInfo* known = TypeTable::recall(datatype);
  return known != nullptr ? known : first_sight_of_type(datatype);
}
// The same while it is ending: it may also be another one, with the handle of one that another
// thread frees.
[[nodiscard]] TypeRef ending_type(MPI_Datatype datatype);
// One that MPI defines, and that is never freed.
[[nodiscard]] bool is_predefined(MPI_Datatype datatype);
// Before MPI_Type_free.
void forget_type(MPI_Datatype datatype) noexcept;
// It may have been freed: the MPI library gave back a handle, its own or the program's.
void doubt_type(MPI_Datatype datatype) noexcept;

// Writes the signature of `count` copies to `out`, which holds kMaxSignature bytes, of at most
// `room` bytes; returns its length, 0 when the type is not checkable.
[[nodiscard]] size_t write_signature(TypeInfo& type, MPI_Count count, uint64_t site, uint8_t family,
                                     uint8_t* out, size_t room = kMaxSignature) noexcept;

// The sequence of basic types that a datatype stands for. False when it holds something that cannot
// be decoded. May throw std::bad_alloc.
[[nodiscard]] bool decode_type(MPI_Datatype datatype, signature::Type* type_p);

}  // namespace verity::mpi

#endif
