// SPDX-License-Identifier: BSD-3-Clause
//
// A typed buffer as the sequence of its data bytes: what MPI would pack, without packing it.
#ifndef VERITY_VALIDATE_BUFFER_H
#define VERITY_VALIDATE_BUFFER_H

#include <cstddef>
#include <cstdint>
#include <vector>

#include "util/bytes.h"

namespace verity::validate {

// Contiguous bytes of one copy of a datatype, in packing order.
struct Run {
  int64_t displacement = 0;  // bytes, from the copy's address
  uint64_t length = 0;       // bytes, not 0
};

// One copy of a datatype.
struct Layout {
  std::vector<Run> runs;
  int64_t extent = 0;  // bytes from one copy to the next
  uint64_t bytes = 0;  // sum of the runs' lengths
};

// `count` copies of a layout at `base`. Does not own the memory.
class Buffer {
 public:
  Buffer(void* base, Layout layout, uint64_t count);

  [[nodiscard]] uint64_t length() const noexcept { return length_; }
  // The `length` data bytes from `offset` on as pieces, which replace those in *pieces_p.
  // Precondition: offset + length <= this->length().
  void pieces(uint64_t offset, uint64_t length, std::vector<util::Piece>* pieces_p) const;
  void read(uint64_t offset, uint64_t length, uint8_t* out) const;
  void write(uint64_t offset, uint64_t length, const uint8_t* in) const;

 private:
  template <typename Visit>
  void visit(uint64_t offset, uint64_t length, Visit&& visit) const;

  uint8_t* base_;
  Layout layout_;
  std::vector<uint64_t> begins_;  // of each run, in data bytes of one copy
  uint64_t length_;
};

}  // namespace verity::validate

#endif
