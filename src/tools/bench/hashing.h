// SPDX-License-Identifier: BSD-3-Clause
//
// A model of what verification costs at least: raw, and the hash passes that are beside each other
// on no processor. What the wrapped transport takes beyond it is the plugin's own.
#ifndef VERITY_TOOLS_BENCH_HASHING_H
#define VERITY_TOOLS_BENCH_HASHING_H

#include <cstddef>

#include "tools/bench/result.h"

namespace verity::tools::bench {

// Nanoseconds that this CPU takes for the hash of `size` bytes, in frames' segments, with the
// kernel that the plugin chooses: the best of a few batches, a few milliseconds in all. 0 bytes
// take 0.
[[nodiscard]] double hash_ns(std::size_t size);

// What the result would be if the hash passes, of hash_ns each, were all that is added to its raw
// figure, in its unit. A message is hashed by its sender and then by its receiver: a time has both
// passes, of a message of several frames those of one frame besides those of all, as the receiver
// hashes one while the sender is at the next. Where both ranks send and receive, each has both. A
// rate has one, as they go on at the same time, but both on self. 0: there is no model.
[[nodiscard]] double with_hash(const Result& result);

}  // namespace verity::tools::bench

#endif
