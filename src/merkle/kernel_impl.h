// SPDX-License-Identifier: BSD-3-Clause
// The body of a kernel. Included once by each kernel_<isa>.cc, after XXH_VECTOR, VERITY_KERNEL and
// VERITY_KERNEL_NAME are defined. Everything in it is static, so no symbol but the table leaves.
#ifndef XXH_INLINE_ALL
#define XXH_INLINE_ALL
#endif
#include <xxhash.h>

#include "merkle/kernel.h"
#include "merkle/xxh3_stripes.h"

namespace verity::merkle {

// What each function of the table returns through. Code that has written to the upper halves of
// vector registers must clear them: until somebody does, every change between this code and SSE
// code costs tens of nanoseconds on Intel CPUs. The compiler does not always see to it: gcc 12
// leaves it out behind the call of a local function.
XXH_FORCE_INLINE Digest with_clean_registers(Digest digest) {
#if defined(VERITY_KERNEL_CLEAR_UPPER)
  VERITY_KERNEL_CLEAR_UPPER();
#endif
  return digest;
}

static Digest hash_long(const void* data, size_t length) {
  return with_clean_registers(digest_of(static_cast<const uint8_t*>(data), length, nullptr, false));
}

// One pass: each stripe is stored while it is in registers, at nearly the cost of the hash alone.
static Digest copy_and_hash_long(void* dst, const void* src, size_t length) {
  const auto* const in = static_cast<const uint8_t*>(src);
  return with_clean_registers(digest_of(in, length, static_cast<uint8_t*>(dst), true));
}

// Stripes that lie in one piece are hashed in place, others are put together here.
struct Seam {
  uint8_t bytes[2 * kStripe];  // the stripe taken last, then `have` bytes of the next one
  size_t have;
};

XXH_FORCE_INLINE void take_run(Stripes* state, Seam* seam, size_t* stripes, const uint8_t* in,
                               size_t length) {
  if (seam->have != 0) {
    const size_t missing = kStripe - seam->have;
    const size_t now = length < missing ? length : missing;
    memcpy(seam->bytes + kStripe + seam->have, in, now);
    seam->have += now;
    in += now;
    length -= now;
    if (seam->have < kStripe || *stripes == 0) { return; }
    stripes_take(state, seam->bytes + kStripe, 1);
    memcpy(seam->bytes, seam->bytes + kStripe, kStripe);
    --*stripes;
    seam->have = 0;
  }
  const size_t whole = length / kStripe < *stripes ? length / kStripe : *stripes;
  if (whole != 0) {
    stripes_take(state, in, whole);
    in += whole * kStripe;
    length -= whole * kStripe;
    memcpy(seam->bytes, in - kStripe, kStripe);
    *stripes -= whole;
  }
  memcpy(seam->bytes + kStripe, in, length);  // below one stripe, or the 1..64 bytes of the end
  seam->have = length;
}

static Digest hash_scattered(const util::Piece* piece, size_t offset, size_t length) {
  Stripes state;
  stripes_begin(&state);
  Seam seam;
  seam.have = 0;
  size_t stripes = (length - 1) / kStripe;
  for (size_t left = length; left != 0; ++piece, offset = 0) {
    const size_t here = piece->length - offset < left ? piece->length - offset : left;
    if (here != 0) {
      take_run(&state, &seam, &stripes, static_cast<const uint8_t*>(piece->data) + offset, here);
      left -= here;
    }
  }
  return with_clean_registers(stripes_end(&state, seam.bytes + seam.have, length));
}

const Kernel VERITY_KERNEL = {VERITY_KERNEL_NAME, hash_long, hash_scattered, copy_and_hash_long};

}  // namespace verity::merkle
