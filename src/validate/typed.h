// SPDX-License-Identifier: BSD-3-Clause
//
// An MPI buffer as the bytes that MPI would pack.
#ifndef VERITY_VALIDATE_TYPED_H
#define VERITY_VALIDATE_TYPED_H

#include <optional>

#include "typelib/handle.h"
#include "validate/buffer.h"

namespace verity::validate {

// Where one copy of a datatype has its bytes.
struct TypedLayout {
  Layout bytes;
  // Without the padding of long doubles, where there are any: on x86 six of sixteen bytes, which
  // MPICH does not transfer.
  std::optional<Layout> values;
};

// Nothing: not known, or a structure of more than a million pieces.
// Throws MpiError, std::bad_alloc.
[[nodiscard]] std::optional<TypedLayout> layout_of(MPI_Datatype datatype);

// A buffer that MPI describes: in place where its layout is known, else a packed copy of it, which
// takes as much memory again. In the copy of long doubles their padding is zero.
class Typed {
 public:
  // The memory at `address` and the communicator are used until the end. Throws MpiError (also
  // where there are too many bytes), std::bad_alloc.
  Typed(void* address, MPI_Count count, MPI_Datatype datatype, MPI_Comm comm);
  Typed(const Typed&) = delete;
  Typed& operator=(const Typed&) = delete;

  [[nodiscard]] const Buffer& buffer() const noexcept { return *buffer_; }
  // What was written to buffer() is in the user's memory afterwards.
  void store() const;

 private:
  void pack(MPI_Datatype datatype);
  template <typename Part>
  void for_parts(Part&& part) const;
  void pack_values(TypedLayout layout);
  template <typename Copy>
  void for_values(Copy&& copy) const;

  void* address_;
  MPI_Count count_;
  MPI_Comm comm_;
  typelib::Handle
      datatype_;  // ours, where a packed copy is to be unpacked: the user may free the original
  std::vector<uint8_t> packed_;
  std::optional<Buffer> filled_, values_;  // in the user's memory, where packed_ has no padding
  std::optional<Buffer> buffer_;
};

}  // namespace verity::validate

#endif
