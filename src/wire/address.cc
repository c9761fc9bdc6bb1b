// SPDX-License-Identifier: BSD-3-Clause
#include "wire/address.h"

#include <cstdio>
#include <cstring>

namespace verity::wire {

namespace {

constexpr size_t kName = 16;  // "255.255.255"

void write_name(const Release& release, char (&out)[kName]) noexcept {
  std::snprintf(out, sizeof(out), "%u.%u.%u", release.major, release.minor, release.patch);
}

}  // namespace

void read_address(const void* bytes, AddressTail* tail) noexcept {
  *tail = {};
  std::memcpy(tail, bytes, offsetof(AddressTail, release));
  if (tail->magic == kAddressMagic && tail->version >= kFirstWithRelease)
    std::memcpy(tail, bytes, sizeof(*tail));
}

void write_refusal(const AddressTail& theirs, const Release& ours,
                   char (&out)[kMaxRefusal]) noexcept {
  char own[kName];
  char other[kName];
  write_name(ours, own);
  if (theirs.version < kFirstWithRelease) {
    std::snprintf(out, sizeof(out),
                  "this side is ucx-verity %s (protocol version %u), the peer is older than 0.1.0 "
                  "(protocol version %u): they cannot exchange messages; use one release on all "
                  "hosts of the job (module load ucx-verity/%s)",
                  own, kVersion, theirs.version, own);
    return;
  }
  write_name(theirs.release, other);
  std::snprintf(out, sizeof(out),
                "this side is ucx-verity %s (protocol version %u), the peer is ucx-verity %s "
                "(protocol version %u): they cannot exchange messages; use one release on all "
                "hosts of the job (module load ucx-verity/%s, or ucx-verity/%s)",
                own, kVersion, other, theirs.version, own, other);
}

}  // namespace verity::wire
