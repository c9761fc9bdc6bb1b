// SPDX-License-Identifier: BSD-3-Clause
//
// End-to-end digest of a message's data (UCX_VERITY_TYPECHECK_DIGEST): XXH3 of the bytes in the
// order in which MPI packs them, from the sender's buffer when it calls and from the receiver's
// when they have landed. It shows what no transport can see: the MPI library's own packing and
// unpacking, and a buffer that is changed before its send is complete. (Where MPI receives into
// memory of its own and unpacks when UCP has completed the receive, that unpacking is not seen.)
//
// It travels as the last bytes of the record's description, whose length counts them: a peer that
// does not know it takes them for a description that is none, and goes without.
//
//   | digest (8 bytes) | XXH3 of the digest and of how many bytes the message has (8 bytes) |
#ifndef VERITY_MPI_DIGEST_DIGEST_H
#define VERITY_MPI_DIGEST_DIGEST_H

#include <cstddef>
#include <cstdint>
#include <optional>

#include "mpi/handles/layout.h"

namespace verity::mpi {

inline constexpr size_t kDigestSize = 16;

// False: so many copies begin where no memory is, as behind a null pointer. MPI is about to refuse
// the call.
[[nodiscard]] bool may_be_memory(const Layout& layout, const void* address,
                                 uint64_t copies) noexcept;
// False: their first or last byte cannot be read. MPI is about to refuse the call, or ends in it.
[[nodiscard]] bool can_be_read(const Layout& layout, const void* address, uint64_t copies) noexcept;

// Of the first `bytes` bytes of the message. Precondition: layout.known; it has that many.
[[nodiscard]] uint64_t digest_of(const Layout& layout, const void* address,
                                 uint64_t bytes) noexcept;
// The same of a message that MPI has packed or not yet unpacked.
[[nodiscard]] uint64_t digest_of_packed(const void* packed, uint64_t bytes) noexcept;

// Adds it to a signature of `length` bytes, behind which there are kDigestSize more. Returns the
// new length; the old one when the description has no room for it.
[[nodiscard]] size_t append_digest(uint8_t* signature, size_t length, uint64_t digest,
                                   uint64_t bytes) noexcept;

// That of a message of `bytes` bytes; nullopt: it came without one.
[[nodiscard]] std::optional<uint64_t> find_digest(const uint8_t* signature, size_t length,
                                                  uint64_t bytes) noexcept;

}  // namespace verity::mpi

#endif
