// SPDX-License-Identifier: BSD-3-Clause
// Frames that pass every digest and are wrong in whatever the input makes wrong.
#ifndef VERITY_TEST_FUZZ_HOSTILE_FRAMES_H
#define VERITY_TEST_FUZZ_HOSTILE_FRAMES_H

#include <cstdint>
#include <vector>

#include "fuzz/targets.h"
#include "link/state/link.h"

namespace verity::fuzz {

struct HostileFrame {
  wire::Class c;
  std::vector<uint8_t> bytes;
  bool wrong = false;  // it must not be delivered
};

// A frame with a full header to the link `l` of the interface `to`, as if from the interface
// `from`.
HostileFrame hostile_frame(uint64_t from, uint64_t to, link::Link& l, Input& input);
HostileFrame hostile_compact_frame(link::Link& l, Input& input);

}  // namespace verity::fuzz

#endif
