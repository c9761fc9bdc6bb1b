// SPDX-License-Identifier: BSD-3-Clause
//
// Arguments that an interface's attributes do not allow. UCX's own transports refuse them with
// UCS_ERR_INVALID_PARAM and these words (UCT_CHECK_LENGTH and its like); here they would wait for
// room that there never is, or go under an id of this layer's.
#ifndef VERITY_UCT_SENDING_CHECKS_H
#define VERITY_UCT_SENDING_CHECKS_H

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "uct/compat/ucx.h"

namespace verity::uct {

[[gnu::cold]] bool refuse_length(const char* operation, size_t length, size_t most) noexcept;
[[gnu::cold]] bool refuse_pieces(const char* operation, size_t count, size_t most) noexcept;
[[gnu::cold]] bool refuse_am_id(uint8_t id) noexcept;
[[gnu::cold]] bool refuse_key(const char* operation) noexcept;
[[gnu::cold]] bool refuse_alignment(uint64_t address, size_t size) noexcept;

[[nodiscard]] inline bool is_length(const char* operation, size_t length, size_t most) noexcept {
  return length <= most || refuse_length(operation, length, most);
}
[[nodiscard]] inline bool are_pieces(const char* operation, size_t count, size_t most) noexcept {
  return count <= most || refuse_pieces(operation, count, most);
}
[[nodiscard]] inline bool is_am_id(uint8_t id) noexcept {
  return id < UCT_AM_ID_MAX || refuse_am_id(id);
}

// Whether there is a remote key at all. Programs have none for memory of no bytes, nor for raw
// transports that need none.
[[nodiscard]] inline bool has_key(uct_rkey_t rkey) noexcept {
  return rkey != UCT_INVALID_RKEY && rkey != 0;
}
[[nodiscard]] inline bool is_key(const char* operation, uct_rkey_t rkey) noexcept {
  return has_key(rkey) || refuse_key(operation);
}
// The peer refuses others, which would end the link.
[[nodiscard]] inline bool is_atomic(uint64_t address, size_t size, uct_rkey_t rkey) noexcept {
  return is_key("atomic", rkey) && (address % size == 0 || refuse_alignment(address, size));
}
[[nodiscard]] inline bool are_empty(const uct_iov_t* iov, size_t count) noexcept {
  return std::all_of(iov, iov + count,
                     [](const uct_iov_t& piece) { return piece.length * piece.count == 0; });
}

}  // namespace verity::uct

#endif
