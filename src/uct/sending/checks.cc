// SPDX-License-Identifier: BSD-3-Clause
#include "uct/sending/checks.h"

namespace verity::uct {

bool refuse_length(const char* operation, size_t length, size_t most) noexcept {
  ucs_error("Invalid %s length: %zu (expected: <= %zu)", operation, length, most);
  return false;
}

bool refuse_pieces(const char* operation, size_t count, size_t most) noexcept {
  ucs_error("iovcnt(%zu) should be limited by %zu in %s", count, most, operation);
  return false;
}

bool refuse_am_id(uint8_t id) noexcept {
  ucs_error("Invalid active message id %u (valid range: 0..%u)", id,
            static_cast<unsigned>(UCT_AM_ID_MAX - 1));
  return false;
}

bool refuse_alignment(uint64_t address, size_t size) noexcept {
  ucs_error("atomic operation of %zu bytes at 0x%lx: the address must be a multiple of %zu", size,
            address, size);
  return false;
}

bool refuse_key(const char* operation) noexcept {
  ucs_error("Invalid remote key in %s: a wrapped transport needs one", operation);
  return false;
}

}  // namespace verity::uct
