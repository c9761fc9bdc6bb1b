// SPDX-License-Identifier: BSD-3-Clause
//
// Which outgoing active message of UCP is one of those that begin() named? They have no tag, other
// ones pass between them, and not all of these are seen: order and endpoints say nothing. But their
// bytes do, as the MPI library writes into each what it is and the address of its request. Those
// with the same bytes (a request was freed and made again before its message left) carry nothing
// until all of them are complete.
//
// One process's. Pure; not thread-safe: the caller's lock.
#ifndef VERITY_MPI_MATCHING_ACTIVE_SENDS_H
#define VERITY_MPI_MATCHING_ACTIVE_SENDS_H

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "mpi/matching/message.h"

namespace verity::mpi {

class ActiveSends {
 public:
  // Of one message, and most that are kept at once; then none carries anything any more.
  static constexpr size_t kMostBytes = 256;
  static constexpr size_t kMost = 1 << 16;

  // A send of these bytes begins. `length` 0: without a signature.
  void begin(std::string_view bytes, const uint8_t* signature, size_t length) noexcept;
  // The call returned. `request` is what its caller got, or nullptr when the send is complete.
  void end(const void* request) noexcept;
  // The request is complete, or will not show it.
  void complete(const void* request) noexcept;
  [[nodiscard]] bool any_pending() const noexcept { return !requests_.empty(); }
  [[nodiscard]] bool in_call() const noexcept { return in_call_; }

  // A message of these bytes is about to be transmitted. Copies its signature to `out` and returns
  // its length; 0: none, or not certain.
  [[nodiscard]] size_t match(std::string_view bytes, uint8_t* out, size_t room) noexcept;
  // Another message is: there is nothing to undo.
  void forget_match() noexcept { last_ = nullptr; }
  // The transport had no room for the message of the last match(). Returns whether it had a
  // signature.
  bool undo_match() noexcept;

 private:
  // The sends of the same bytes.
  struct Alike {
    size_t sends = 0;
    size_t length = 0;  // of the signature; 0: none
    bool transmitted = false;
    uint8_t signature[kMaxSignature];
  };
  using ByBytes = std::map<std::string, Alike, std::less<>>;

  void leave(ByBytes::iterator place) noexcept;
  void disable() noexcept;

  ByBytes alike_;
  std::map<const void*, ByBytes::iterator> requests_;
  ByBytes::iterator call_ = alike_.end();
  Alike* last_ = nullptr;
  bool in_call_ = false;
  bool disabled_ = false;
};

}  // namespace verity::mpi

#endif
