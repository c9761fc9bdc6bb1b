// SPDX-License-Identifier: BSD-3-Clause
//
// A typed buffer as the sequence of its data bytes: what MPI would pack, without packing it.
#ifndef VERITY_VALIDATE_BUFFER_H
#define VERITY_VALIDATE_BUFFER_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "normalize/runs.h"
#include "util/bytes.h"

namespace verity::validate {

// One copy of a datatype. Without bytes: the default.
struct Layout {
  normalize::Runs runs;
  int64_t extent = 0;  // bytes from one copy to the next
};

// Nothing: as normalize::make_runs().
[[nodiscard]] std::optional<Layout> make_layout(const normalize::Pattern& pattern, int64_t extent);
// So many bytes without a gap. Precondition: less than 2^61.
[[nodiscard]] Layout plain_layout(uint64_t bytes);

// `count` copies of a layout at `base`. Does not own the memory.
class Buffer {
 public:
  Buffer(void* base, Layout layout, uint64_t count);

  [[nodiscard]] uint64_t length() const noexcept { return length_; }
  // The `length` data bytes from `offset` on: where they lie, or gathered in *space_p.
  // Precondition: offset + length <= this->length().
  [[nodiscard]] const uint8_t* gather(uint64_t offset, uint64_t length,
                                      std::vector<uint8_t>* space_p) const;
  void read(uint64_t offset, uint64_t length, uint8_t* out) const;
  void write(uint64_t offset, uint64_t length, const uint8_t* in) const;
  // Precondition: length() is not 0.
  [[nodiscard]] normalize::RunsCursor begin() const noexcept { return cursor_at(0); }

 private:
  [[nodiscard]] normalize::RunsCursor cursor_at(uint64_t offset) const noexcept;

  uint8_t* base_;
  Layout layout_;
  uint64_t length_;
};

}  // namespace verity::validate

#endif
